# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what a JSON report says of some properties, kernel by kernel.

  verdicts.py REPORT PROPERTY...

One line each: "PROPERTY attribute value ..." for a fact, "near miss PROPERTY
reason" and "undecided PROPERTY reason"; by kernel, property, then the order of
the report.
"""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    for kernel in sorted(report["kernels"], key=lambda kernel: kernel["name"]):
        print(kernel["name"])
        for name in sorted(sys.argv[2:]):
            for fact in kernel["facts"]:
                if fact["property"] == name:
                    print(" ", name, *(f"{key} {value}" for key, value in
                                       sorted(fact["attributes"].items())))
            for kind, key in (("near miss", "near_misses"),
                              ("undecided", "undecided")):
                for entry in kernel[key]:
                    if entry["property"] == name:
                        print(" ", kind, name, entry["reason"])


main()
