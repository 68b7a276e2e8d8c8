# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes a kernel of N loops in a row.
#
# usage: huge-function.py N

import sys

loops = int(sys.argv[1])
print(".version 8.0\n.target sm_80\n.address_size 64")
print(".visible .entry k() {")
print(".reg .pred %%p<%d>;" % loops)
print(".reg .b32 %%r<%d>;" % (4 * loops))
print(".reg .b32 %v<64>;")
print(".reg .b64 %d<2>;")
for i in range(64):
    print("mov.u32 %%v%d, %%tid.x;" % i)
for i in range(loops):
    counter, total = 4 * i, 4 * i + 1
    print("mov.u32 %%r%d, 0;" % counter)
    print("mov.u32 %%r%d, 0;" % total)
    print("$loop%d:" % i)
    print("add.s32 %%r%d, %%r%d, 1;" % (counter, counter))
    print("mad.lo.s32 %%r%d, %%r%d, %%r%d, %%r%d;"
          % (total, counter, counter, total))
    print("setp.lt.s32 %%p%d, %%r%d, 8;" % (i, total))
    print("@%%p%d bra $loop%d;" % (i, i))
for i in range(64):
    print("st.global.u32 [%%d1], %%v%d;" % i)
print("ret;\n}")
