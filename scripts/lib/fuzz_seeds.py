#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fuzz_seeds.py ROOT TARGET FOLDER: writes the first inputs of a fuzz target.

Seeds are what the tests read: every PTX file (the parts of one that
split-file or -split-input-file takes apart are seeds of their own), or every
task, rubric and schema; other targets have checked-in seeds only. Large PTX is
left out: small inputs teach a fuzzer more a second."""

import hashlib
import os
import re
import sys

LARGEST_PTX = 16 << 10
SPLIT = re.compile(r"^(?://|#) ?(?:--- .*|-----+)$\n?", re.MULTILINE)


def find(root, folders, suffix):
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith(suffix):
                    yield os.path.join(path, name)


def main():
    root, target, folder = sys.argv[1:]
    if target in ("ptx-fuzzer", "lift-fuzzer"):
        paths = find(root, ["test"], (".ptx", ".test"))
        wanted, largest = ".version", LARGEST_PTX
    elif target in ("json-fuzzer", "task-fuzzer"):
        paths = find(root, ["tasks", "rubrics", "docs/schemas"], ".json")
        wanted, largest = "{", 1 << 20
    else:
        paths, wanted, largest = [], "", 0
    os.makedirs(folder, exist_ok=True)
    for path in paths:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            parts = SPLIT.split(file.read())
        for part in parts:
            data = part.encode("utf-8", "surrogateescape")
            if wanted not in part or len(data) > largest:
                continue
            name = hashlib.sha1(data).hexdigest()[:16]
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
