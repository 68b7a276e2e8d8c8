# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: check_links.py CHECKOUT
# Checks relative links and mentioned scripts of the hand-written pages.

import glob
import os
import re
import sys


def main(root):
    pages = [
        page
        for pattern in ("*.md", "docs/**/*.md", "guidance/*.md")
        for page in glob.glob(os.path.join(root, pattern), recursive=True)
    ]
    assert pages, "no pages in " + root
    faults = 0
    for page in sorted(pages):
        with open(page, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
        fenced = False
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            wanted = [
                os.path.join(root, path)
                for path in re.findall(r"\b(scripts/[a-z][a-z-]*[a-z])\b", line)
            ]
            if not fenced:
                text = re.sub(r"`[^`]*`", "", line)
                wanted += [
                    os.path.join(os.path.dirname(page), path)
                    for path in re.findall(r"\]\(([^)#:\s]+)[^):]*\)", text)
                ]
            for path in wanted:
                if not os.path.exists(path):
                    faults += 1
                    print(
                        "%s:%d: there is no %s"
                        % (
                            os.path.relpath(page, root),
                            number,
                            os.path.relpath(path, root),
                        )
                    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
