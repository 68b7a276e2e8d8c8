# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares small hand-written readings by the rules of sass_oracle.
#
# usage: oracle_rules.py FOLDER-OF-SASS-ORACLE

import sys

sys.path.insert(0, sys.argv[1])
import sass_oracle  # noqa: E402


def show(what, differences):
    print("%s: %d differences" % (what, len(differences)))


def compareBranch(guard):
    """nvdisasm draws two edges, we one."""
    registers = {("f", 0): (guard + " BRA 0x40", set(), set())}
    theirs = {"f": {(0, 0): {0x10, 0x40}, (0x10, 0x30): {0x40},
                    (0x40, 0x40): set()}}
    ours = {"f": {(0, 0): {0x10}, (0x10, 0x30): {0x40}, (0x40, 0x40): set()}}
    sass_oracle.removeNeverTaken(theirs, registers)
    return sass_oracle.compareBlocks(theirs, ours)[1]


def compareReads(text, theirs, ours):
    return sass_oracle.compareRegisters(
        {("f", 0): (text, theirs, set())}, {("f", 0): (text, ours, set())})[1]


show("never taken", compareBranch("@!PT"))
show("taken", compareBranch("@!P0"))
show("copy", compareReads(
    "LDGSTS.E.BYPASS.128 [R9+UR0+0x40], desc[UR1][R2.64]",
    {"R9", "R2", "R3"}, {"R9", "R2", "R3", "UR0", "UR1", "UR2"}))
show("copy of one uniform register", compareReads(
    "LDGSTS.E.BYPASS.128 [R9+0x40], desc[UR4][R2.64]",
    {"R9", "R2", "R3"}, {"R9", "R2", "R3", "UR4", "UR5"}))
show("load", compareReads(
    "LDG.E R0, desc[UR4][R2.64+UR8]",
    {"R2", "R3"}, {"R2", "R3", "UR4", "UR5", "UR8"}))
