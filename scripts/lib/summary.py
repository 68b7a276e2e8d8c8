# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Adds up test results: the JUnit XML files of lit (--xunit-xml-output) and of
# ctest (--output-junit) given as arguments. Says why tests were skipped, then
# prints the closing line "N passed, N failed, N skipped" and exits 1 when a
# test failed or none ran.

import collections
import re
import sys
import xml.etree.ElementTree


def readLit(suite):
    """Yields (name, verdict, why it was skipped) of each test of lit."""
    for case in suite.iter("testcase"):
        name = "%s/%s" % (case.get("classname"), case.get("name"))
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            yield name, "failed", ""
        elif skipped is None:
            yield name, "passed", ""
        else:
            message = skipped.get("message", "")
            missing = re.match(r"Missing required feature\(s\): (.*)", message)
            if missing:
                yield name, "skipped", "for want of " + missing.group(1)
            elif message == "User interrupt":
                # lit's words for a GoogleTest case that skips itself.
                yield name, "skipped", "by the unit test itself: " + name
            else:
                yield name, "skipped", message


def readCtest(suite):
    """The same for ctest, whose tests are GoogleTest binaries: counts their
    cases where the output has the closing lines."""
    for case in suite.iter("testcase"):
        name = "core/" + case.get("name")
        output = case.findtext("system-out") or ""
        status = case.get("status")
        if case.find("failure") is not None or status == "fail":
            yield name, "failed", ""
            continue
        if status in ("notrun", "disabled"):
            yield name, "skipped", "not run: " + name
            continue
        passed = re.search(r"\[  PASSED  \] (\d+) test", output)
        skipped = re.search(r"\[  SKIPPED \] (\d+) test", output)
        for _ in range(int(passed.group(1)) if passed else 1):
            yield name, "passed", ""
        for _ in range(int(skipped.group(1)) if skipped else 0):
            yield name, "skipped", "by a unit test itself, in " + name


def main(paths):
    count = collections.Counter()
    failed = []
    reasons = collections.Counter()
    for path in paths:
        root = xml.etree.ElementTree.parse(path).getroot()
        # lit writes a list of suites, ctest a single one.
        read = readLit if root.tag == "testsuites" else readCtest
        for name, verdict, reason in read(root):
            count[verdict] += 1
            if verdict == "failed":
                failed.append(name)
            if verdict == "skipped":
                reasons[reason] += 1
    for reason, number in sorted(reasons.items()):
        print("    %d skipped, %s" % (number, reason))
    for name in failed:
        print("    failed: " + name)
    print(
        "%d passed, %d failed, %d skipped"
        % (count["passed"], count["failed"], count["skipped"])
    )
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
