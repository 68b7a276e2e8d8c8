# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""break_json.py FOLDER TASK.json RUBRIC.json: puts a value of the wrong kind
into every field of the two files, each in a project file of its own below
FOLDER, lints them all at once, and checks that each is refused at the JSON
path of its field, that the value is named, and that no control character
reaches the terminal."""

import copy
import json
import os
import re
import subprocess
import sys

# A value of each kind, and how a message names it.
VALUES = [
    (None, "null"),
    (True, "true"),
    (7, "number 7"),
    ("\x1b[31m\u202e", 'string "\\u001b[31m\\u202e"'),
    ([], "array"),
    ({}, "object"),
]
# Kinds that a field takes besides that of the sample's value.
ALSO = [
    (r"\.where\.\w+$", (bool, int, str, dict)),
    (r"\.where\.\w+\.in\[\d+\]$", (bool, int, str)),
    (r"(^|\.)(flops|bytes|inverse_sqrt_of)$|\.(shape|strides)\[\d+\]$",
     (int, str)),
    (r"\.shape$", (type(None),)),
    # Unread: whatever a generator or a model's configuration says.
    (r"\.(parameters|fields)\.\w+$", (type(None), bool, int, str, list, dict)),
    (r"\.parameters$", ()),
]


def fields(value, path=(), text=""):
    """(steps, JSON path) of everything below `value`."""
    if isinstance(value, dict):
        items = [(name, f"{text}.{name}" if text else name) for name in value]
    elif isinstance(value, list):
        items = [(i, f"{text}[{i}]") for i in range(len(value))]
    else:
        items = []
    for step, below in items:
        yield path + (step,), below
        yield from fields(value[step], path + (step,), below)


def kinds(sample, text):
    result = {type(sample)}
    if isinstance(sample, float):
        result.add(int)
    for pattern, more in ALSO:
        if re.search(pattern, text):
            result.update(more)
    return result


def broken(document):
    """(document, path, name of the value) for each field and wrong value."""
    for steps, text in fields(document):
        sample = document
        for step in steps:
            sample = sample[step]
        for value, name in VALUES:
            if type(value) in kinds(sample, text):
                continue
            changed = copy.deepcopy(document)
            at = changed
            for step in steps[:-1]:
                at = at[step]
            at[steps[-1]] = value
            yield changed, text, name


def main():
    folder, task_path, rubric_path = sys.argv[1:]
    for name in ("tasks", "guidance", "rubrics"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    expected = {}
    for kind, path in (("task", task_path), ("rubric", rubric_path)):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        for number, (changed, text, name) in enumerate(broken(document)):
            if kind == "task":
                relative = f"tasks/b{number}/task.json"
                os.makedirs(os.path.join(folder, "tasks", f"b{number}"))
            else:
                relative = f"rubrics/b{number}.json"
            with open(os.path.join(folder, relative), "w",
                      encoding="utf-8") as file:
                json.dump(changed, file)
            expected[relative] = (text, name)
    run = subprocess.run(["d2k-analyze", "lint"], capture_output=True,
                         env={**os.environ, "D2K_ROOT": folder})
    output = run.stdout.decode("utf-8")
    wrong = 0
    if run.returncode != 1 or run.stderr:
        print(f"lint exits with {run.returncode}: {run.stderr}")
        wrong += 1
    if re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", output):
        print("a control character reaches the terminal")
        wrong += 1
    lines = {}
    for line in output.splitlines():
        lines.setdefault(line.split(": ", 1)[0], []).append(line)
    for relative, (text, name) in expected.items():
        start = f"{relative}: {text}: "
        found = lines.get(relative, [])
        if not any(line.startswith(start) and line.endswith("found " + name)
                   for line in found):
            print(f"{relative}: no fault at {text} that ends in 'found {name}'",
                  *found, sep="\n    ")
            wrong += 1
    print(f"{len(expected)} broken files, {wrong} not refused as they should")
    sys.exit(wrong != 0)


main()
