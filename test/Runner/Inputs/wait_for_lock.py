# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: wait_for_lock.py LOCK COMMAND...

Holds LOCK while COMMAND starts, until it says on the standard error that it
waits; then lets it go. Prints what COMMAND says on both streams.
"""

import fcntl
import subprocess
import sys

with open(sys.argv[1], "w", encoding="utf-8") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    child = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    for line in child.stderr:
        print(line, end="")
        if "waiting" in line:
            break
# The lock is free here.
output, errors = child.communicate()
print(errors, output, sep="")
sys.exit(child.returncode)
