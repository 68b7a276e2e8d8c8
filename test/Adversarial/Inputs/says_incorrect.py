#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Stands for d2k-run in verdicts.test: writes the verdict `incorrect`, after it
# has seen that the submission is whole.

import json
import os
import sys

folder = sys.argv[3]
names = os.listdir(folder)
for name in names:
    with open(os.path.join(folder, name)) as stream:
        text = stream.read()
    if '#include "honest.cuh"' in text and "honest.cuh" not in names:
        sys.exit("honest.cuh is missing")
with open(sys.argv[sys.argv.index("--json") + 1], "w") as stream:
    json.dump({"verdict": "incorrect", "reason": "as told"}, stream)
