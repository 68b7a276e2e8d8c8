# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Adds up test results: lit's JSON (-o) and ctest's JUnit XML files given as
# arguments. Says why tests were skipped, then prints the closing line
# "N passed, N failed, N skipped" and exits 1 when a test failed or none ran.

import collections
import json
import re
import sys
import xml.etree.ElementTree

# lit's result codes.
PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def readLit(path):
    """Yields (name, verdict, output) of each test."""
    with open(path, encoding="utf-8") as stream:
        for test in json.load(stream)["tests"]:
            code = test["code"]
            verdict = "failed"
            if code in PASSED:
                verdict = "passed"
            elif code in SKIPPED:
                verdict = "skipped"
            yield test["name"], verdict, test.get("output", "")


def readJUnit(path):
    """Yields (name, verdict, output) of each test; counts GoogleTest's own
    cases where the output has their closing lines."""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = "core :: " + case.get("name")
        output = case.findtext("system-out") or ""
        status = case.get("status")
        if case.find("failure") is not None or status == "fail":
            yield name, "failed", output
            continue
        if status in ("notrun", "disabled"):
            yield name, "skipped", output
            continue
        passed = re.search(r"\[  PASSED  \] (\d+) test", output)
        skipped = re.search(r"\[  SKIPPED \] (\d+) test", output)
        for _ in range(int(passed.group(1)) if passed else 1):
            yield name, "passed", output
        for _ in range(int(skipped.group(1)) if skipped else 0):
            yield name, "skipped", output


def main(paths):
    count = collections.Counter()
    failed = []
    reasons = collections.Counter()
    for path in paths:
        read = readJUnit if path.endswith(".xml") else readLit
        for name, verdict, output in read(path):
            count[verdict] += 1
            if verdict == "failed":
                failed.append(name)
            if verdict == "skipped":
                missing = re.search(
                    r"unavailable features: (.*)", output
                )
                reasons[missing.group(1) if missing else "other"] += 1
    for reason, number in sorted(reasons.items()):
        print("    %d skipped, for want of: %s" % (number, reason))
    for name in failed:
        print("    failed: " + name)
    print(
        "%d passed, %d failed, %d skipped"
        % (count["passed"], count["failed"], count["skipped"])
    )
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
