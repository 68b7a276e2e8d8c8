# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes what `nvdisasm -json` prints for a listing of instructions, so that
# tests read like machine code:
#
#   .function NAME
#     @!P0 IADD3 R1, R2, R3, RZ
#
# Lines that begin with // are comments, others one instruction each, 16 bytes
# apart. A second .function with a name that begins with $ is a subroutine at
# the end of the section before.
#
# usage: listing.py COMPUTE_CAPABILITY FILE    (90 for sm_90)

import json
import re
import sys

capability, path = int(sys.argv[1]), sys.argv[2]
functions, offset = [], 0
for line in open(path):
    line = line.strip()
    if not line or line.startswith("//"):
        continue
    if line.startswith(".function"):
        name = line.split()[1]
        offset = offset if name.startswith("$") else 0
        functions.append({"function-name": name, "start": offset, "length": 0,
                          "other-attributes": [], "sass-instructions": []})
        continue
    guard, opcode, operands = re.match(
        r"(@!?\w+)?\s*([\w.]+)\s*(.*)$", line).groups()
    instruction = {"opcode": opcode}
    if guard:
        instruction["predicate"] = guard
    if operands:
        instruction["operands"] = re.sub(r",\s+", ",", operands)
    functions[-1]["sass-instructions"].append(instruction)
    functions[-1]["length"] += 16
    offset += 16
header = {"SM": {"version": {"major": capability // 10,
                             "minor": capability % 10}},
          "Producer": "listing.py"}
json.dump([header, functions], sys.stdout)
