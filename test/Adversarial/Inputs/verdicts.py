#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Evaluates submissions that cheat or break, and compares the verdicts with
# those that they must get. A submission is a .cu file with the lines
#
#   // exploit: A1 what it tries (the numbers are those of docs/ThreatModel.md)
#   // verdict: incorrect invalid_measurement     (any of these)
#   // arguments: --workload one_token            (optional)
#
# One that includes "honest.cuh" gets the task's exemplars/naive.cu under that
# name, with the entry renamed to `honest`.
#
# usage: verdicts.py D2K_RUN TASK TASK_FOLDER SUBMISSIONS [--json FILE]
#                    [--only NAME]... [-- OPTION...]
# Options after -- are given to each `d2k-run eval`. Prints a line a
# submission and `N passed, N failed` last; exit code 1 when one failed.

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time


def readHeader(text, name):
    found = re.search(r"^// %s: (.*)$" % name, text, re.MULTILINE)
    return found.group(1) if found else ""


def makeSubmission(folder, path, text, taskFolder):
    """The folder with the submission's files."""
    with open(os.path.join(folder, os.path.basename(path)), "w") as stream:
        stream.write(text)
    if '#include "honest.cuh"' not in text:
        return
    with open(os.path.join(taskFolder, "exemplars", "naive.cu")) as stream:
        naive = stream.read()
    task = os.path.basename(taskFolder)
    entry = r'extern "C" int\s+d2k_%s\(' % re.escape(task)
    if len(re.findall(entry, naive)) != 1:
        sys.exit("error: exemplars/naive.cu: expected one entry of " + task)
    with open(os.path.join(folder, "honest.cuh"), "w") as stream:
        stream.write(re.sub(entry, "static int honest(", naive))


def evaluate(options, path):
    """The record of one submission."""
    with open(path) as stream:
        text = stream.read()
    expected = readHeader(text, "verdict").split()
    if not expected:
        sys.exit("error: %s has no line `// verdict:`" % path)
    record = {
        "name": os.path.basename(path)[: -len(".cu")],
        "exploit": readHeader(text, "exploit"),
        "expected": expected,
    }
    arguments = readHeader(text, "arguments").split()
    # The options for all have a workload, unless the submission names one.
    common = list(options.options)
    if "--workload" in arguments and "--workload" in common:
        at = common.index("--workload")
        del common[at : at + 2]
    with tempfile.TemporaryDirectory() as folder:
        submission = os.path.join(folder, "submission")
        os.mkdir(submission)
        makeSubmission(submission, path, text, options.taskFolder)
        result = os.path.join(folder, "result.json")
        start = time.monotonic()
        process = subprocess.run(
            [options.run, "eval", options.task, submission, "--json", result]
            + ["--quiet", "--no-score"]
            + common
            + arguments,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        record["seconds"] = round(time.monotonic() - start, 2)
        record["exit_code"] = process.returncode
        if os.path.exists(result):
            with open(result) as stream:
                document = json.load(stream)
            record["verdict"] = document.get("verdict", "none")
            record["reason"] = document.get("reason") or ""
            record["speedup"] = document.get("speedup")
        else:
            record["verdict"] = "none"
            record["reason"] = process.stderr.decode(errors="replace")[-300:]
    record["passed"] = record["verdict"] in expected
    return record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("task")
    parser.add_argument("taskFolder")
    parser.add_argument("submissions")
    parser.add_argument("--json")
    parser.add_argument("--only", action="append", default=[])
    arguments = sys.argv[1:]
    extra = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, extra = arguments[:at], arguments[at + 1 :]
    options = parser.parse_args(arguments)
    options.options = extra
    options.taskFolder = os.path.normpath(options.taskFolder)
    records = []
    for name in sorted(os.listdir(options.submissions)):
        stem = name[: -len(".cu")]
        if not name.endswith(".cu") or (options.only and stem not in options.only):
            continue
        record = evaluate(options, os.path.join(options.submissions, name))
        records.append(record)
        print(
            "%s %s: %s (%s), %.1f s: %s"
            % (
                "ok  " if record["passed"] else "FAIL",
                stem,
                record["verdict"],
                "expected " + " or ".join(record["expected"]),
                record["seconds"],
                " ".join(str(record["reason"]).split()),
            ),
            flush=True,
        )
    failed = sum(not record["passed"] for record in records)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump(records, stream, indent=2)
            stream.write("\n")
    print("%d passed, %d failed" % (len(records) - failed, failed))
    return 1 if failed or not records else 0


if __name__ == "__main__":
    sys.exit(main())
