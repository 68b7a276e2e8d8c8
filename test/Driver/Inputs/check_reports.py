# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_reports.py BASE REPORT...: succeeds when each REPORT conforms to
docs/schemas/analysis.schema.json. d2k-analyze itself checks them: it refuses a
--baseline that does not conform, with the JSON path. BASE is any small PTX."""

import subprocess
import sys

base, reports = sys.argv[1], sys.argv[2:]
faults = 0
for report in reports:
    run = subprocess.run(["d2k-analyze", base, "--baseline", report],
                         capture_output=True, text=True)
    if run.returncode:
        faults += 1
        print(f"{report}: exit code {run.returncode}\n{run.stderr}")
print(f"{len(reports) - faults} of {len(reports)} reports conform")
sys.exit(faults != 0)
