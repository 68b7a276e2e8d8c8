# Evaluates the naive kernel again and again while processes of the evaluation
# are killed: the oracle and the workers must be replaced and the verdict stays
# correct; when d2k-run itself is killed, nothing may stay behind.
#
# usage: kill_processes.py ROUNDS LONGEST D2K_RUN EVAL-ARGUMENT...
# LONGEST: seconds after which a process is killed at the latest.

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
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


def runRound(number, longest, command, choice):
    """Returns what was killed and whether all went as it must."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        process = subprocess.Popen(
            command + ["--json", path, "--quiet"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        victim = "d2k-run" if number % 4 == 3 else "d2k-worker"
        killed = 0
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
        what = "%d x %s" % (killed, victim)
        if victim == "d2k-run" and killed:
            deadline = time.monotonic() + 20
            left = [pid for pid, name in descendants]
            while time.monotonic() < deadline:
                left = [pid for pid in left if isAlive(pid)]
                if not left:
                    return what, True, ""
                time.sleep(0.05)
            return what, False, "left behind: %s" % left
        if not os.path.exists(path):
            return what, False, error[-500:]
        with open(path) as stream:
            result = json.load(stream)
        return what, result["verdict"] == "correct", result["reason"]


def isAlive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def main():
    rounds = int(sys.argv[1])
    choice = random.Random(1)
    failed = 0
    for number in range(rounds):
        what, good, reason = runRound(number, float(sys.argv[2]), sys.argv[3:], choice)
        failed += not good
        print(
            "%s round %d, killed %s%s"
            % ("ok  " if good else "FAIL", number, what, reason and ": " + reason),
            flush=True,
        )
    print("%d passed, %d failed" % (rounds - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
