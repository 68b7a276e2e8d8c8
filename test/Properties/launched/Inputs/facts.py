# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The facts, near misses and undecided claims of each kernel in a report (JSON on
# the standard input), one a line, kernels by name.
import json
import sys

report = json.load(sys.stdin)
chosen = set(sys.argv[1:])
for kernel in report["kernels"]:
    name = kernel["demangled"].split("(")[0].removeprefix("void ")
    entries = [
        (kind, entry)
        for kind, key in (
            ("fact", "facts"),
            ("near miss", "near_misses"),
            ("undecided", "undecided"),
        )
        for entry in kernel.get(key, [])
    ]
    for kind, entry in entries:
        if chosen and entry["property"] not in chosen:
            continue
        what = " ".join(f"{k}={v}" for k, v in sorted(entry.get("attributes", {}).items()))
        what = what or entry.get("reason", "")
        under = entry.get("workloads")
        if under:
            what += " under " + " ".join(under)
        print(f"{name} {kind} {entry['property']} {what}".rstrip())
