#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles, checks and evaluates tasks on all GPUs of a machine at once, for
# scripts/gpu-tasks, which says what is checked. A task on several GPUs has them
# to itself; the others take turns on one GPU each. Checks of a task begin when
# its own libraries are compiled; evaluations begin after all checks, so that no
# compiler runs beside them. After every job the results are written, so that
# one which is killed loses that job only.

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

# Exemplars whose code runs on one architecture only.
EXEMPLAR_ARCH = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}
# Exemplars beside the naive kernel are checked on so many workloads: a decoy is
# as slow as what is behind it.
EXEMPLAR_WORKLOADS = 4

SCHEMA = "d2k.gpu-tasks/1"
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)
JUDGE_MS = re.compile(r"judge (\d+) ms$", re.M)


class Task:
    """One task's files, and what its task.json says about running it."""

    def __init__(self, root, name, arch):
        self.name = name
        self.folder = os.path.join(root, "tasks", name)
        path = os.path.join(self.folder, "task.json")
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
        self.libraries = document.get("baseline_libraries", [])
        self.needsSeveral = "nccl" in self.libraries
        self.exemplars = sorted(
            file[:-3] for file in os.listdir(os.path.join(self.folder, "exemplars"))
            if file.endswith(".cu") and file != "naive.cu"
            and EXEMPLAR_ARCH.get(file[:-3], arch) == arch)
        listing = subprocess.run(
            ["bash", "-c", '. scripts/lib/tasks.sh; faulty_kernels "$1" | while read -r s f; do '
             'echo "$s $f $(faulty_library "$s" "$f")"; done', "bash", name],
            cwd=root, env=dict(os.environ, D2K_ROOT=root), check=True, text=True,
            stdout=subprocess.PIPE).stdout
        # (source, fault, library); fault 0 is a kernel without one.
        self.faulty = [tuple(line.split(" ")) for line in listing.splitlines()]


class Run:
    def __init__(self, options):
        self.options = options
        self.root = os.path.abspath(options.root)
        self.build = os.path.abspath(options.build)
        self.tasks = [Task(self.root, name, options.arch) for name in options.tasks]
        self.lock = threading.Lock()
        self.start = time.monotonic()
        self.results = {}
        self.environment = {}
        if options.resume and os.path.exists(self.getJsonPath()):
            with open(self.getJsonPath(), encoding="utf-8") as stream:
                self.results = json.load(stream)["tasks"]

    def getJsonPath(self):
        return self.options.json or os.path.join(self.build, "results.json")

    def say(self, text):
        with self.lock:
            print("==> %4.0f s %s" % (time.monotonic() - self.start, text), flush=True)

    # Compiling.

    def compileLibrary(self, task, source, output, flags):
        """nvcc's words, or nothing when it succeeded."""
        path = os.path.join(self.build, output)
        if self.options.resume and os.path.exists(path):
            return ""
        # Not -arch: with -shared, nvcc 13.0 then compiles for the architecture
        # without its suffix too.
        target = self.options.arch[3:]
        command = [self.options.nvcc, "-O3", "-std=c++20", "-lineinfo",
                   "-gencode=arch=compute_%s,code=sm_%s" % (target, target),
                   "-Xcompiler", "-fPIC", "-shared",
                   "-I" + os.path.join(self.root, "include"),
                   "-I" + os.path.join(task.folder, "exemplars"), source, "-o", path + ".new"]
        done = subprocess.run(command + flags, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            return done.stdout or "nvcc ended with status %d" % done.returncode
        os.replace(path + ".new", path)
        return ""

    def compileAll(self, pool):
        """For each task the futures of its libraries."""
        futures = {}
        for task in self.tasks:
            jobs = [("reference.cu", task.name + "-reference.so", []),
                    ("baseline.cu", task.name + "-baseline.so",
                     ["-l" + library for library in task.libraries]),
                    ("exemplars/naive.cu", task.name + "-naive.so", [])]
            jobs = [(os.path.join(task.folder, source), output, flags)
                    for source, output, flags in jobs]
            jobs += [(source, library, ["-DD2K_FAULT=" + fault])
                     for source, fault, library in task.faulty]
            jobs += [(os.path.join(task.folder, "exemplars", name + ".cu"),
                      "%s-exemplar-%s.so" % (task.name, name), ["-w"])
                     for name in task.exemplars]
            futures[task.name] = [
                (job[0], pool.submit(self.compileLibrary, task, *job)) for job in jobs]
        return futures

    # Running.

    def execute(self, command, devices):
        """(status, output, seconds); the status is 124 after the limit."""
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES=",".join(devices))
        begin = time.monotonic()
        try:
            done = subprocess.run(command, text=True, errors="replace", env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=self.options.limit)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as expired:
            output = expired.stdout or b""
            if isinstance(output, bytes):
                output = output.decode(errors="replace")
            status = 124
            output += "\nstopped after %d s\n" % self.options.limit
        return status, output, time.monotonic() - begin

    def check(self, task, kind, command, devices):
        """One program that ends with `N passed, N failed`."""
        status, output, seconds = self.execute(command, devices)
        output = output.replace(self.root + os.sep, "")
        with open(os.path.join(self.build, "%s-%s.log" % (task.name, kind)), "w",
                  encoding="utf-8") as log:
            log.write(output)
        counts = COUNTS.findall(output)
        passed, failed = map(int, counts[-1]) if counts else (0, 0)
        lines = output.splitlines()
        if not counts:
            # It did not come to the end: what it had done, and one failure more.
            passed = sum(line.startswith("ok  ") for line in lines)
            failed = sum(line.startswith("FAIL ") for line in lines)
        if status != 0 and failed == 0 or not counts:
            failed += 1
        entry = {"passed": passed, "failed": failed, "status": status,
                 "seconds": round(seconds, 1)}
        if kind == "judge":
            # Of the kernels that pass: what judging all trials takes.
            times = [int(ms) for line in lines for ms in JUDGE_MS.findall(line)]
            kernels = 1 + len([1 for line in lines if line.startswith("ok  ")
                               and "-baseline.so: error" in line][:1])
            entry["judge_seconds"] = round(sum(times) / 1000 / kernels, 1)
        failures = [line for line in lines if line.startswith("FAIL ")]
        if not counts:
            failures += lines[-3:]
        if failures:
            entry["failures"] = failures[:20]
        self.say("%s: %s: %d passed, %d failed, %.0f s" %
                 (task.name, kind, passed, failed, seconds))
        if failures:
            self.say("\n".join(["%s: %s:" % (task.name, kind)] + failures[:20]))
        return entry

    def keep(self, task, key, value):
        with self.lock:
            self.results.setdefault(task.name, {})[key] = value
            document = dict(self.environment, schema=SCHEMA, tasks=self.results)
            path = self.getJsonPath()
            with open(path + ".new", "w", encoding="utf-8") as stream:
                json.dump(document, stream, indent=1, sort_keys=True)
                stream.write("\n")
            os.replace(path + ".new", path)

    def checkTask(self, task, futures, devices):
        program = os.path.join(self.build, "cmake", "bin")
        said = [(source, future.result()) for source, future in futures[task.name]]
        errors = ["%s: %s" % (source, words) for source, words in said if words]
        if errors:
            self.say("%s: does not compile:\n%s" % (task.name, "\n".join(errors)))
            self.keep(task, "reference", {"passed": 0, "failed": 1, "failures": errors})
            return
        # Last of all `judge`, after which --resume takes the task as checked.
        library = lambda kind: os.path.join(self.build, "%s-%s.so" % (task.name, kind))
        self.keep(task, "reference", self.check(
            task, "reference",
            [os.path.join(program, "d2k-reference-check"), task.name, library("reference")], devices))
        if task.exemplars:
            self.keep(task, "exemplars", self.check(
                task, "exemplars",
                [os.path.join(program, "d2k-task-check"), "--smallest", str(EXEMPLAR_WORKLOADS),
                 os.path.join(task.folder, "task.json"), library("reference")] +
                ["pass:" + library("exemplar-" + name) for name in task.exemplars], devices))
        kernels = [("control:" if fault == "0" else "fail:") + os.path.join(self.build, name)
                   for _, fault, name in task.faulty]
        if not task.needsSeveral or len(devices) > 1:
            kernels.append("pass:" + library("baseline"))
        kernels.append("pass:" + library("naive"))
        self.keep(task, "judge", self.check(
            task, "judge",
            [os.path.join(program, "d2k-task-check"), os.path.join(task.folder, "task.json"),
             library("reference")] + kernels, devices))

    def evaluateTask(self, task, devices):
        submissions = ["naive"]
        if task.name == "gemm_bf16":
            submissions += ["wgmma" if self.options.arch == "sm_90a" else "mma_sync"]
        entry = {}
        flags = ["--devices", "0,1"] if task.needsSeveral else []
        for name in submissions:
            path = os.path.join(self.build, "eval-%s-%s.json" % (task.name, name))
            if os.path.exists(path):
                os.remove(path)
            status, output, seconds = self.execute(
                [os.path.join(self.build, "cmake", "bin", "d2k-run"), "eval", task.name,
                 os.path.join(task.folder, "exemplars", name + ".cu"), "--quiet", "--no-score",
                 "--gpu-seconds", str(self.options.gpuSeconds), "--json", path] + flags, devices)
            self.say("d2k-run eval %s %s: exit code %d, %.0f s\n%s" %
                     (task.name, name, status, seconds, output))
            entry[name] = {"status": status, "seconds": round(seconds, 1)}
            if os.path.exists(path):
                with open(path, encoding="utf-8") as stream:
                    entry[name]["workloads"] = {
                        w["id"]: self.getFigures(w) for w in json.load(stream)["workloads"]}
        self.keep(task, "evaluate", entry)
        names = [os.path.join(self.build, "eval-%s-%s.json" % (task.name, name))
                 for name in entry]
        names = [name for name in names if os.path.exists(name)]
        if names:
            subprocess.run([sys.executable, os.path.join(self.root, "scripts/lib/measured.py"),
                            os.path.join(self.root, "tasks")] + names, check=False)

    @staticmethod
    def getFigures(workload):
        timing = workload.get("timing") or {}
        figures = {"verdict": workload.get("verdict"), "timing": timing.get("state")}
        for key in ("cold", "baseline_cold"):
            if timing.get(key):
                figures[key + "_us"] = round(timing[key]["median_ns"] / 1000, 3)
        if timing.get("floor"):
            figures["floor_us"] = round(timing["floor"]["ns"] / 1000, 3)
        return figures

    def isLate(self):
        return self.options.seconds and time.monotonic() - self.start > self.options.seconds

    def compileForEvaluation(self, task):
        """What d2k-run keeps of a task, so that no evaluation waits for nvcc."""
        self.execute([os.path.join(self.build, "cmake", "bin", "d2k-run"), "eval", task.name,
                      os.path.join(task.folder, "exemplars", "naive.cu"), "--compile-only",
                      "--quiet"], self.options.devices[:1])

    def runJobs(self, jobs, devices):
        """jobs: (task, key, function of the devices), one lane a group of devices."""
        queue = list(jobs)
        left = []

        def work(lane):
            while True:
                with self.lock:
                    if not queue:
                        return
                    task, key, function = queue.pop(0)
                    if self.isLate():
                        left.append((task, key))
                        continue
                try:
                    function(lane)
                except Exception as error:  # One job's fault is not the others'.
                    self.say("%s: %s: %s" % (task.name, key, error))
                    self.keep(task, key, {"passed": 0, "failed": 1, "failures": [str(error)]})

        threads = [threading.Thread(target=work, args=(lane,)) for lane in devices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return left

    def readEnvironment(self):
        def ask(command):
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
            return done.stdout.strip()

        gpu = ask(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
        names = gpu.splitlines()
        release = re.search(r"release ([\d.]+)", ask([self.options.nvcc, "--version"]))
        self.environment = {
            "date": datetime.date.today().isoformat(), "arch": self.options.arch,
            "device": names[0].split(", ")[0] if names else "",
            "driver": names[0].split(", ")[-1] if names else "",
            "devices": len(self.options.devices), "toolkit": release[1] if release else ""}

    def run(self):
        pool = ThreadPoolExecutor(os.cpu_count())
        futures = self.compileAll(pool) if self.options.check else {}
        tools = subprocess.Popen(
            ["cmake", "--build", os.path.join(self.build, "cmake"), "--parallel",
             str(os.cpu_count()), "--target", "d2k-task-check", "d2k-reference-check", "d2k-run",
             "d2k-worker"], stdout=open(os.path.join(self.build, "build.log"), "w"),
            stderr=subprocess.STDOUT)
        if tools.wait() != 0:
            pool.shutdown(cancel_futures=True)
            sys.exit("error: the tools do not build; see %s/build.log" % self.build)
        if self.options.buildOnly:
            errors = ["%s: %s" % (source, future.result()) for name in futures
                      for source, future in futures[name] if future.result()]
            if errors:
                sys.exit("\n".join(errors))
            return 0
        self.readEnvironment()
        self.say("tools are built")
        isDone = lambda task, key: self.options.resume and key in self.results.get(task.name, {})
        devices = self.options.devices
        single = [[device] for device in devices]
        left = []
        skipped = 0
        if self.options.evaluate:
            for task in self.tasks:
                if not isDone(task, "evaluate"):
                    pool.submit(self.compileForEvaluation, task)
        if self.options.check:
            jobs = [(task, "judge", lambda lane, task=task: self.checkTask(task, futures, lane))
                    for task in self.tasks if not isDone(task, "judge")]
            left += self.runJobs([job for job in jobs if not job[0].needsSeveral], single)
            left += self.runJobs([job for job in jobs if job[0].needsSeveral], [devices])
            if len(devices) < 2:
                skipped += sum(task.needsSeveral for task in self.tasks)
        pool.shutdown()
        if self.options.evaluate:
            jobs = [(task, "evaluate", lambda lane, task=task: self.evaluateTask(task, lane))
                    for task in self.tasks if not isDone(task, "evaluate")]
            left += self.runJobs([job for job in jobs if not job[0].needsSeveral], single)
            several = [job for job in jobs if job[0].needsSeveral]
            if len(devices) > 1:
                left += self.runJobs(several, [devices])
            else:
                skipped += len(several)
        passed = failed = 0
        for task in self.tasks:
            for key, entry in self.results.get(task.name, {}).items():
                if key == "evaluate":
                    for figures in entry.values():
                        passed += figures["status"] == 0
                        failed += figures["status"] != 0
                else:
                    passed += entry["passed"]
                    failed += entry["failed"]
        for task, key in left:
            print("not begun: %s: %s" % (task.name, key))
        print("%d passed, %d failed, %d skipped" % (passed, failed, skipped + len(left)))
        return failed != 0


parser = argparse.ArgumentParser(description="Checks and evaluates tasks on GPUs.")
parser.add_argument("--root", required=True)
parser.add_argument("--build", required=True)
parser.add_argument("--nvcc", required=True)
parser.add_argument("--arch", required=True)
parser.add_argument("--devices", type=lambda text: text.split(","), default=["0"])
parser.add_argument("--check", action="store_true")
parser.add_argument("--evaluate", action="store_true")
parser.add_argument("--build-only", dest="buildOnly", action="store_true")
parser.add_argument("--json")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--seconds", type=float)
parser.add_argument("--limit", type=float, default=300)
parser.add_argument("--gpu-seconds", dest="gpuSeconds", type=float, default=20)
parser.add_argument("tasks", nargs="+")
sys.exit(Run(parser.parse_args()).run())
