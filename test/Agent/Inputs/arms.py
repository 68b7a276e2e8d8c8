# usage: arms.py D2K-RUN SOURCE FOLDER
# The first request of each arm, for every task that has guidance: arms differ
# in guidance and in nothing else, and no first message has what an agent may
# not learn.

import json
import os
import shutil
import subprocess
import sys

from runs import readEvents, require

run, source, folder = sys.argv[1:]
ARMS = ["none", "L1", "L1+L2", "all", "placebo"]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
script = os.path.join(folder, "silent.json")
with open(script, "w") as stream:
    json.dump({"responses": []}, stream)


def strings(value):
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)


def start(task, arm):
    out = os.path.join(folder, task + "-" + arm)
    command = [run, "agent", task, "--model", "scripted:" + script]
    command += ["--out", out, "--guidance", arm, "--arch", "sm_90a", "--quiet"]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "D2K_ROOT": source}
    )
    # Nothing was submitted: evaluated, and not correct.
    require(done.returncode == 1, "%s: %s" % (command, done.stderr))
    events = readEvents(out)
    require(events[0]["type"] == "start", "a start")
    return events[0]["data"], open(os.path.join(out, "transcript.jsonl")).read()


tasks = sorted(
    name[:-3]
    for name in os.listdir(os.path.join(source, "guidance"))
    if name.endswith(".md")
)
for task in tasks:
    with open(os.path.join(source, "guidance", task + ".md")) as stream:
        guidance = stream.read()
    with open(os.path.join(source, "rubrics", task + ".json")) as stream:
        rubric = json.load(stream)
    with open(os.path.join(source, "tasks", task, "task.json")) as stream:
        heldOut = json.load(stream)["held_out"]
    with open(os.path.join(source, "tasks", task, "baseline.cu")) as stream:
        # Not the entry's signature, which everybody is told.
        baseline = [
            line.strip()
            for line in stream
            if len(line.strip()) > 40
            and not line.startswith("//")
            and "_args *args" not in line
        ]
    starts = {}
    for arm in ARMS:
        starts[arm], text = start(task, arm)
        decoded = json.dumps(json.loads(text.splitlines()[0]))
        for workload in heldOut:
            require(workload["id"] not in text, workload["id"])
        for prop in rubric["properties"]:
            for sentence in (prop["title"], prop.get("hint", "")):
                require(
                    len(sentence) < 20
                    or sentence in guidance
                    or sentence not in text,
                    "rubric: " + sentence,
                )
        for line in baseline:
            require(
                json.dumps(line)[1:-1] not in decoded, "baseline: " + line
            )
    plain = starts["none"]
    for arm, data in starts.items():
        for name in sorted(set(data) | set(plain)):
            if name not in ("arm", "first_message"):
                require(data[name] == plain[name], arm + ": " + name)
        require(
            data["first_message"].startswith(plain["first_message"]),
            arm + ": the task comes first",
        )
        added = data["first_message"][len(plain["first_message"]) :].strip()
        for line in guidance.splitlines():
            if not line.startswith("## L"):
                continue
            level = int(line[4])
            shown = {"none": 0, "L1": 1, "L1+L2": 2, "all": 3, "placebo": 0}
            require(
                (line in added.splitlines()) == (level <= shown[arm]),
                "%s: %s" % (arm, line),
            )
        if arm == "all":
            require(added == guidance.strip(), "all guidance")
        if arm == "placebo":
            size = len(added.encode())
            wanted = len(guidance.encode())
            require(
                0.97 * wanted <= size <= wanted + 1,
                "placebo has %d of %d bytes" % (size, wanted),
            )
print("ok, %d tasks" % len(tasks))
