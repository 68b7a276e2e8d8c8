#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fuzz_seeds.py ROOT TARGET FOLDER: writes the first inputs of a fuzz target.

Seeds are what the tests read: every PTX file (the parts of one that
split-file or -split-input-file takes apart are seeds of their own), or every
task, rubric and schema, or every listing of machine code as nvdisasm's JSON and,
where there is an nvcc, cubins of two of the smallest kernels of the tasks. Large PTX is
left out: small inputs teach a fuzzer more a second."""

import hashlib
import os
import re
import shutil
import subprocess
import sys

LARGEST_PTX = 16 << 10
# Kernels that are compiled for seeds.
COMPILED = 2
SPLIT = re.compile(r"^(?://|#) ?(?:--- .*|-----+)$\n?", re.MULTILINE)


def find(root, folders, suffix):
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith(suffix):
                    yield os.path.join(path, name)


def readListings(root):
    """What `nvdisasm -json` would print for each listing of the tests."""
    tests = os.path.join(root, "test", "Frontend", "SASSToKern")
    for path in find(root, [tests], ".test"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for capability in re.findall(r"listing\.py (\d+) %s", text)[:1]:
            yield subprocess.run(
                [sys.executable, os.path.join(tests, "Inputs", "listing.py"),
                 capability, path], stdout=subprocess.PIPE, check=True).stdout
    for path in find(root, [os.path.join("test", "Frontend", "SASS")], ".json"):
        with open(path, "rb") as file:
            yield file.read()


def compileKernels(root, folder):
    """Cubins with line tables of the naive kernels, for two targets."""
    nvcc = shutil.which("nvcc") or os.path.join(
        os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
    if not os.access(nvcc, os.X_OK):
        return
    output = os.path.join(folder, "kernel.cubin")
    for path in [*find(root, ["tasks"], "naive.cu")][:COMPILED]:
        for target in ("sm_80", "sm_90a"):
            done = subprocess.run(
                [nvcc, "-cubin", "-lineinfo", "-std=c++20", "-arch=" + target,
                 "-I", os.path.join(root, "include"), "-o", output, path],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                with open(output, "rb") as file:
                    yield file.read()
                os.remove(output)


def write(folder, data):
    name = hashlib.sha1(data).hexdigest()[:16]
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


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
            write(folder, data)
    if target == "sass-fuzzer":
        for data in [*readListings(root), *compileKernels(root, folder)]:
            write(folder, data)


if __name__ == "__main__":
    main()
