# usage: kill_runs.py KILLS SCRIPT FOLDER COMMAND...
# Starts `COMMAND... --out RUN` again and again and kills it after a random
# time, KILLS times; then lets it end. What the transcript had when it was
# killed stays at its beginning, and in the end the run is that of somebody who
# was not disturbed.

import os
import random
import shutil
import signal
import subprocess
import sys
import time

from runs import outline, readEvents, require

kills = int(sys.argv[1])
script, folder = sys.argv[2:4]
command = sys.argv[4:] + ["--model", "scripted:" + script]
seed = int(os.environ.get("D2K_KILL_SEED", "1"))
draw = random.Random(seed)
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)


def start(name):
    return subprocess.Popen(
        command + ["--out", os.path.join(folder, name)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


quiet = start("quiet")
require(quiet.wait() == 0, "the run that nobody disturbs")
expected = outline(readEvents(os.path.join(folder, "quiet")))

done = 0
runs = 0
while done < kills:
    runs += 1
    name = "run%d" % runs
    path = os.path.join(folder, name, "transcript.jsonl")
    longest = 2.0
    before = b""
    while True:
        process = start(name)
        try:
            if done < kills:
                process.wait(draw.uniform(0, longest))
            else:
                process.wait()
            require(process.returncode == 0, "ended with %d" % process.returncode)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            done += 1
        after = open(path, "rb").read() if os.path.exists(path) else b""
        # A line without its end is cut at the next start.
        whole = before[: before.rfind(b"\n") + 1]
        require(after.startswith(whole), "kill %d changed what was written" % done)
        # Whoever makes no progress is left in peace for longer.
        longest = 2.0 if len(after) > len(whole) + 300 else longest * 1.5
        before = after
        if process.returncode == 0:
            break
    got = outline(readEvents(os.path.join(folder, name)))
    require(got == expected, "%s differs from the run without kills" % name)
    require(
        not os.path.exists(os.path.join(folder, name, "tmp")),
        "temporary files are left",
    )
print("ok, %d kills in %d runs" % (done, runs))
