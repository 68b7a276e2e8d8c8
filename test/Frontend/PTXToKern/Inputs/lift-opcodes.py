# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Translates each PTX file of a folder to kern and passes the result through
# d2k-opt; prints what failed and the sums of --stats.
#
# usage: lift-opcodes.py D2K-TRANSLATE D2K-OPT FOLDER

import os
import re
import subprocess
import sys

translate, opt, folder = sys.argv[1:]
files = instructions = opaque = failed = 0
for name in sorted(os.listdir(folder)):
    if not name.endswith(".ptx"):
        continue
    files += 1
    lifted = subprocess.run(
        [translate, "--ptx-to-kern", "--stats", os.path.join(folder, name)],
        capture_output=True, text=True)
    counts = re.search(r"(\d+) opaque of (\d+) instructions", lifted.stderr)
    if lifted.returncode or not counts:
        failed += 1
        print("%s: failed: %s" % (name, lifted.stderr))
        continue
    opaque += int(counts.group(1))
    instructions += int(counts.group(2))
    again = subprocess.run([opt], input=lifted.stdout, capture_output=True,
                           text=True)
    if again.returncode or again.stdout != lifted.stdout:
        failed += 1
        print("%s: failed to come back: %s" % (name, again.stderr))
print("%d files, %d instructions, %d opaque, %d failed"
      % (files, instructions, opaque, failed))
