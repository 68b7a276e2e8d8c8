# Evaluates a correct kernel again and again while processes of the evaluation
# are killed: the oracle and the workers must be replaced and the verdict stays
# correct; when d2k-run itself is killed, nothing may stay behind.
#
# The last line is `N passed, N failed`, one before it says what was killed.

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time


def readStatus(pid):
    """The name and the parent of a process."""
    fields = {}
    with open("/proc/%d/status" % pid) as stream:
        for line in stream:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    return fields["Name"], int(fields["PPid"])


def findDescendants(root):
    children = {}
    names = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            name, parent = readStatus(int(entry))
        except OSError:
            continue
        names[int(entry)] = name
        children.setdefault(parent, []).append(int(entry))
    found = []
    pending = [root]
    while pending:
        for pid in children.get(pending.pop(), []):
            found.append((pid, names[pid]))
            pending.append(pid)
    return found


def isAlive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def waitForEnd(pids):
    """Those of them that are still there after 20 s."""
    deadline = time.monotonic() + 20
    while True:
        pids = [pid for pid in pids if isAlive(pid)]
        if not pids or time.monotonic() > deadline:
            return pids
        time.sleep(0.05)


def runRound(number, longest, command, environment, choice):
    """Returns the victim's name, how many were killed, and what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        process = subprocess.Popen(
            command + ["--json", path, "--quiet"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
        )
        victim = "d2k-run" if number % 4 == 3 else "d2k-worker"
        killed = 0
        descendants = []
        # At most two: a third loss of one workload counts as its own doing.
        for _ in range(1 if victim == "d2k-run" else choice.randint(1, 2)):
            time.sleep(choice.uniform(0.05, longest))
            descendants = findDescendants(process.pid)
            if victim == "d2k-run":
                if process.poll() is None:
                    process.kill()
                    killed += 1
                continue
            workers = [pid for pid, name in descendants if name == victim]
            if workers and process.poll() is None:
                try:
                    os.kill(choice.choice(workers), signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
        error = process.communicate(timeout=300)[1].decode()
        if victim == "d2k-run" and killed:
            left = waitForEnd([pid for pid, name in descendants])
            return victim, killed, "left behind: %s" % left if left else ""
        if not os.path.exists(path):
            return victim, killed, "no result: " + error[-500:]
        with open(path) as stream:
            result = json.load(stream)
        if result["verdict"] == "correct":
            return victim, killed, ""
        return victim, killed, "%s: %s" % (result["verdict"], result["reason"])


class Totals:
    def __init__(self):
        self.lock = threading.Lock()
        self.begun = self.passed = self.failed = 0
        self.killed = {"d2k-run": 0, "d2k-worker": 0}


def runStream(stream, options, totals, start):
    choice = random.Random(options.seed * 1000 + stream)
    command = list(options.command)
    environment = dict(os.environ)
    folder = None
    if options.devices:
        command += ["--devices", str(stream % options.devices)]
    if options.streams > max(options.devices, 1):
        # The lock that keeps evaluations of one device apart is in the cache.
        folder = tempfile.TemporaryDirectory()
        environment["D2K_CACHE"] = folder.name
    while True:
        with totals.lock:
            number = totals.begun
            late = time.monotonic() - start > options.seconds
            if number >= options.rounds or late:
                return
            totals.begun += 1
        begun = time.monotonic()
        try:
            victim, killed, wrong = runRound(
                number, options.longest, command, environment, choice
            )
        except subprocess.TimeoutExpired:
            victim, killed, wrong = "d2k-run", 0, "no end within 300 s"
        with totals.lock:
            totals.killed[victim] += killed
            totals.failed += bool(wrong)
            totals.passed += not wrong
            print(
                "%s round %d, %.1f s, killed %d x %s%s"
                % (
                    "FAIL" if wrong else "ok  ",
                    number,
                    time.monotonic() - begun,
                    killed,
                    victim,
                    ": " + wrong if wrong else "",
                ),
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description="Kills processes of evaluations.")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument(
        "--longest",
        type=float,
        required=True,
        help="seconds after which a process is killed at the latest",
    )
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="begin no round after these"
    )
    parser.add_argument("--streams", type=int, default=1, help="rounds at once")
    parser.add_argument(
        "--devices", type=int, default=0, help="give each stream one of these"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.command[:1] == ["--"]:
        options.command = options.command[1:]
    totals = Totals()
    start = time.monotonic()
    streams = [
        threading.Thread(target=runStream, args=(i, options, totals, start))
        for i in range(options.streams)
    ]
    for stream in streams:
        stream.start()
    for stream in streams:
        stream.join()
    print(
        "killed %d x d2k-worker and %d x d2k-run in %.0f s"
        % (
            totals.killed["d2k-worker"],
            totals.killed["d2k-run"],
            time.monotonic() - start,
        )
    )
    print("%d passed, %d failed" % (totals.passed, totals.failed))
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
