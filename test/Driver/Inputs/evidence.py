# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: evidence.py REPORT.json SOURCE PROPERTY...
# Fails unless every place of every fact in the report is a line of SOURCE with
# its text, and has PTX and machine instruction where both tiers saw the fact;
# and unless each PROPERTY has a fact.

import json
import sys

report, source, *properties = sys.argv[1:]
with open(report, encoding="utf-8") as file:
    kernels = json.load(file)["kernels"]
# Facts about the kernel as a whole are at its head, which is no instruction.
OF_KERNEL = {"cluster_launch", "launch_bounds", "register_count", "occupancy"}
# Each tier names its own places: where it sees a region begin, which ptxas
# moves, accesses that ptxas splits, instructions that it puts on the line of a
# call. Both tiers have some.
OF_ONE_TIER = {"warp_specialization", "async_mma_overlap", "async_pipeline",
               "smem_bank_conflict"}
faults = []
seen = set()
for kernel in kernels:
    for fact in kernel["facts"]:
        seen.add(fact["property"])
        for place in fact["where"]:
            name = "%s at %s:%d" % (fact["property"], place["file"],
                                    place["line"])
            if "kind" in place or not place["file"].endswith(source):
                faults.append(name + ": is no line of the source")
            if not place["snippet"]:
                faults.append(name + ": has no text")
            if fact["property"] in OF_KERNEL:
                continue
            if fact["property"] in OF_ONE_TIER:
                if not place.get("instruction") and \
                        not place.get("sass_instruction"):
                    faults.append(name + ": has no instruction")
                continue
            if "ptx" in fact["tiers"] and not place.get("instruction"):
                faults.append(name + ": has no PTX instruction")
            if "sass" in fact["tiers"] and (
                    "sass_offset" not in place or
                    not place.get("sass_instruction")):
                faults.append(name + ": has no machine instruction")
        for tier, key in (("ptx", "instruction"), ("sass", "sass_instruction")):
            if fact["property"] not in OF_KERNEL and tier in fact["tiers"] and \
                    not any(place.get(key) for place in fact["where"]):
                faults.append("%s: has no instruction of %s" % (
                    fact["property"], tier))
faults += ["no fact " + name for name in properties if name not in seen]
print("\n".join(faults) or "every place is whole")
sys.exit(bool(faults))
