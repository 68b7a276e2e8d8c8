// `for (int i = 0; i < 2; ++i)` at line 10 with its body at line 11, of which
// machine code has the two iterations and no loop.
// RUN: d2k-opt %s --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s

module attributes {kern.isa = "sass", kern.target = "sm_90a", kern.source_loops = [
  {file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 1 : i64, accesses = [array<i64: 11, 4, 1, 0>]},
  {file = "/k.cu", line = 20 : i64, column = 3 : i64, head_end = 20 : i64, end = 25 : i64, accesses = [array<i64: 24, 4, 1, 0>]},
  {file = "/k.cu", line = 22 : i64, column = 3 : i64, head_end = 22 : i64, end = 24 : i64, step = 1 : i64, accesses = [array<i64: 23, 4, 1, 0>]}]} {
// CHECK-LABEL: kernel a_whole
// CHECK: undecided loop_unrolling: `LDG.E` at k.cu:11 is from the body of the loop at line 10, of which no test is left: it was unrolled whole, or runs once, and how many iterations it had is not in the machine code
// CHECK-NOT: loop_unrolling
kern.func entry visible @a_whole(%in: i64, %out: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %x = kern.load "LDG.E" global b32 [%p + 0 : i64] -> i32
    loc(fused<"sass">["k.cubin":16:0, "/k.cu":11:9])
  %y = kern.load "LDG.E" global b32 [%p + 4 : i64] -> i32
    loc(fused<"sass">["k.cubin":32:0, "/k.cu":11:9])
  %s = kern.arith "FADD" add f32 (%x, %y) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":48:0, "/k.cu":11:7])
  kern.store "STG.E" global b32 [%q : i64], %s : i32
  kern.exit
}

// The same kernel without the loop's lines.
// CHECK-LABEL: kernel b_beside
// CHECK-NOT: loop_unrolling
kern.func entry visible @b_beside(%in: i64, %out: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %x = kern.load "LDG.E" global b32 [%p + 0 : i64] -> i32
    loc(fused<"sass">["k.cubin":16:0, "/k.cu":13:9])
  kern.store "STG.E" global b32 [%q : i64], %x : i32
  kern.exit
}

// An endless loop at line 20 that data leaves in its body: the machine code has
// a loop for it, though no test of the head; the one inside, at line 22, is
// gone.
// CHECK-LABEL: kernel c_inner
// CHECK-NOT: loop at line 20
// CHECK: `LDG.E` at k.cu:23 is from the body of the loop at line 22, of which no test is left
// CHECK-NOT: loop at line 20
kern.func entry visible @c_inner(%in: i64, %out: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %zero = kern.constant 0 : i32
  %bytes = kern.constant 8 : i64
  kern.br ^loop(%p : i64)
^loop(%a: i64):
  %x = kern.load "LDG.E" global b32 [%a + 0 : i64] -> i32
    loc(fused<"sass">["k.cubin":16:0, "/k.cu":23:9])
  %y = kern.load "LDG.E" global b32 [%a + 4 : i64] -> i32
    loc(fused<"sass">["k.cubin":32:0, "/k.cu":23:9])
  %s = kern.arith "IADD3" add u32 (%x, %y) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":48:0, "/k.cu":23:7])
  %b = kern.arith "IADD3" add u64 (%a, %bytes) : (i64, i64) -> i64
    loc(fused<"sass">["k.cubin":64:0, "/k.cu":25:7])
  %more = kern.compare "ISETP.NE.AND" ne u32 (%s, %zero) : (i32, i32) -> i1
    loc(fused<"sass">["k.cubin":80:0, "/k.cu":25:7])
  kern.cond_br %more, ^loop(%b : i64), ^end
    loc(fused<"sass">["k.cubin":96:0, "/k.cu":25:7])
^end:
  kern.store "STG.E" global b32 [%q : i64], %s : i32
  kern.exit
}
}
