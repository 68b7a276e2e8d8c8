// `for (int k = 0; k < m; k += 2) s += x[k];` in lines 10 and 11, whose counter
// moves by 8 and which has 4 loads for `x[k]`.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, unroll = 4 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s
// Mutations of the source, the machine code being the same. Without the source:
// RUN: sed 's|, kern.source_loops = .LOOPS.||' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=ALONE
// A step of 8: nothing is unrolled, and four loads are more than there should be.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 8 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=OTHER
// The author wrote four loads of steps of 8 (x[k] + x[k + 2] + ...): one iteration.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 8 : i64, unroll = 4 : i64, accesses = [array<i64: 11, 4, 4, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=BYHAND
// The same with steps of 2, of which the compiler counts four times as many: one
// iteration, too, or four of which three were saved.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 4, 4, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=SCALED
// The loads are in an inner loop of the source, which was unrolled whole.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 13 : i64, step = 2 : i64}, {file = "/k.cu", line = 11 : i64, column = 3 : i64, head_end = 11 : i64, end = 12 : i64, step = 1 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=INNER
// Loads of another size; stores instead of loads.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 8, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=INNER
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 4, 0, 1>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=INNER
// A step that is not known, a test in no loop's head, and in the heads of two.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=STEP
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 9 : i64, column = 3 : i64, head_end = 9 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=HEAD
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 4, 1, 0>]}, {file = "/k.cu", line = 10 : i64, column = 30 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=HEAD
// Two instantiations whose steps differ, of functions that are not this one.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 4, 1, 0>]}, {file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 4 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=STEP
// An attribute of another form is none.
// RUN: sed 's|LOOPS|1 : i64|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=ALONE

module attributes {kern.isa = "sass", kern.target = "sm_90a", kern.source_loops = [LOOPS]} {
// CHECK-LABEL: kernel four
// CHECK-NEXT: fact loop_unrolling factor=4 main={{.*}} loop=L0 @ 10
// ALONE: undecided loop_unrolling: the loops of the source are not known (the source, beside the machine code)
// OTHER: undecided loop_unrolling: `ISETP.LT.AND` at k.cu:10 ends a loop whose counter moves by 8 for a step of 8 in the source, with accesses of 4 iterations of the source (a body that has the accesses of as many iterations as the counter counts)
// SCALED: undecided loop_unrolling: {{.*}} counter moves by 8 for a step of 2 in the source, with accesses of 1 iterations of the source
// BYHAND-LABEL: kernel four
// BYHAND-NOT: fact loop_unrolling
// BYHAND: near-miss loop_unrolling: `#pragma unroll 4` asks for more than one iteration at a time
// INNER: undecided loop_unrolling: `ISETP.LT.AND` at k.cu:10 ends a loop whose counter moves by 8 for a step of 2 in the source, with no access in its body that could be counted
// STEP: undecided loop_unrolling: `ISETP.LT.AND` at k.cu:10 ends or begins a loop that may be unrolled: the head of the loop at line 10 does not step by one constant
// HEAD: undecided loop_unrolling: `ISETP.LT.AND` at k.cu:10 ends or begins a loop that may be unrolled: the test that ends the loop is in the head of no single loop of the source
kern.func entry visible @four(%in: i64, %out: i64, %n: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %m = kern.load "LDC" param b32 [%n : i64] -> i32
  %zero = kern.constant 0 : i32
  %step = kern.constant 8 : i32
  %bytes = kern.constant 16 : i64
  kern.br ^loop(%zero, %zero, %p : i32, i32, i64)
^loop(%i: i32, %s0: i32, %a: i64):
  %x0 = kern.load "LDG.E" global b32 [%a + 0 : i64] -> i32
    loc(fused<"sass">["k.cubin":16:0, "/k.cu":11:9])
  %s1 = kern.arith "FADD" add f32 (%s0, %x0) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":256:0, "/k.cu":11:7])
  %x1 = kern.load "LDG.E" global b32 [%a + 4 : i64] -> i32
    loc(fused<"sass">["k.cubin":32:0, "/k.cu":11:9])
  %s2 = kern.arith "FADD" add f32 (%s1, %x1) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":272:0, "/k.cu":11:7])
  %x2 = kern.load "LDG.E" global b32 [%a + 8 : i64] -> i32
    loc(fused<"sass">["k.cubin":48:0, "/k.cu":11:9])
  %s3 = kern.arith "FADD" add f32 (%s2, %x2) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":288:0, "/k.cu":11:7])
  %x3 = kern.load "LDG.E" global b32 [%a + 12 : i64] -> i32
    loc(fused<"sass">["k.cubin":64:0, "/k.cu":11:9])
  %s4 = kern.arith "FADD" add f32 (%s3, %x3) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":304:0, "/k.cu":11:7])
  %next = kern.arith "IADD3" add u32 (%i, %step) : (i32, i32) -> i32 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  %b = kern.arith "IADD3" add u64 (%a, %bytes) : (i64, i64) -> i64 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  %more = kern.compare "ISETP.LT.AND" lt s32 (%next, %m) : (i32, i32) -> i1 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  kern.cond_br %more, ^loop(%next, %s4, %b : i32, i32, i64), ^end loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
^end:
  kern.store "STG.E" global b32 [%q : i64], %s4 : i32
  kern.exit
}
}
