# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exit_code.py CODE COMMAND...: succeeds when COMMAND exits with CODE.

lit's `not` only tells zero from the rest; the exit codes are an interface."""

import subprocess
import sys

expected = int(sys.argv[1])
actual = subprocess.run(sys.argv[2:]).returncode
if actual != expected:
    print(f"exit code {actual}, expected {expected}", file=sys.stderr)
    sys.exit(1)
