# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""loop_nest.py N: a kernel of N loops, each inside the one before."""

import sys

count = int(sys.argv[1])
print(".version 8.0\n.target sm_80\n.address_size 64")
print(".visible .entry k(.param .b32 q) {\n.reg .b32 %r<2>;\n.reg .pred %p;\nld.param.u32 %r1, [q];")
for i in range(count):
    print(f"L{i}:\nadd.s32 %r1, %r1, 1;")
for i in reversed(range(count)):
    print(f"setp.lt.s32 %p, %r1, {i};\n@%p bra L{i};")
print("ret;\n}")
