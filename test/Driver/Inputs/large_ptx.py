# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""large_ptx.py BYTES FILE: writes PTX of about BYTES bytes, half of it in one
straight-line kernel, half in a kernel of many blocks."""

import sys

size, path = int(sys.argv[1]), sys.argv[2]
registers = 4000
head = """.version 8.0
.target sm_80
.address_size 64
"""


def straight(limit):
    yield f""".visible .entry straight(.param .u64 p) {{
  .reg .b64 %rd<3>;
  .reg .f32 %f<{registers}>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.f32 %f0, [%rd2];
"""
    written, i = 0, 1
    for register in range(1, registers):
        yield f"  mov.f32 %f{register}, 0f00000000;\n"
    while written < limit:
        line = (f"  fma.rn.f32 %f{i % registers}, %f{(i * 7) % registers}, "
                f"%f{(i * 13) % registers}, %f{(i - 1) % registers};\n")
        written += len(line)
        i += 1
        yield line
    yield f"  st.global.f32 [%rd2], %f{(i - 1) % registers};\n  ret;\n}}\n"


def branchy(limit):
    yield """.visible .entry branchy(.param .u64 p) {
  .reg .pred %p<2>;
  .reg .b64 %rd<3>;
  .reg .b32 %r<100>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.u32 %r0, [%rd2];
"""
    for register in range(1, 100):
        yield f"  mov.u32 %r{register}, {register};\n"
    written, i = 0, 0
    while written < limit:
        text = (f"  setp.eq.s32 %p1, %r0, {i};\n  @%p1 bra $L{i};\n"
                f"  add.s32 %r{1 + i % 99}, %r{1 + (i + 1) % 99}, {i};\n"
                f"$L{i}:\n")
        written += len(text)
        i += 1
        yield text
    yield "  st.global.u32 [%rd2], %r1;\n  ret;\n}\n"


with open(path, "w", encoding="ascii") as file:
    file.write(head)
    file.writelines(straight(size // 2))
    file.writelines(branchy(size // 2))
