// One iteration at a time: no fact; a near miss where the author asks for more.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, unroll = 4 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=ASKED
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, unroll = 0 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=ALL
// `#pragma nounroll`
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 2 : i64, unroll = 1 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s

module attributes {kern.isa = "sass", kern.target = "sm_90a", kern.source_loops = [LOOPS]} {
// CHECK-LABEL: kernel one
// CHECK-NOT: loop_unrolling
// ASKED: near-miss loop_unrolling: `#pragma unroll 4` asks for more than one iteration at a time, and the loop that ends at k.cu:10 does one: its trip count or what it calls is in the way
// ALL: near-miss loop_unrolling: `#pragma unroll` asks for more than one iteration at a time, and the loop that ends at k.cu:10 does one
kern.func entry visible @one(%in: i64, %out: i64, %n: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %m = kern.load "LDC" param b32 [%n : i64] -> i32
  %zero = kern.constant 0 : i32
  %step = kern.constant 2 : i32
  %bytes = kern.constant 4 : i64
  kern.br ^loop(%zero, %zero, %p : i32, i32, i64)
^loop(%i: i32, %s0: i32, %a: i64):
  %x0 = kern.load "LDG.E" global b32 [%a + 0 : i64] -> i32
    loc(fused<"sass">["k.cubin":16:0, "/k.cu":11:9])
  %s1 = kern.arith "FADD" add f32 (%s0, %x0) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":256:0, "/k.cu":11:7])
  %next = kern.arith "IADD3" add u32 (%i, %step) : (i32, i32) -> i32 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  %b = kern.arith "IADD3" add u64 (%a, %bytes) : (i64, i64) -> i64 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  %more = kern.compare "ISETP.LT.AND" lt s32 (%next, %m) : (i32, i32) -> i1 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  kern.cond_br %more, ^loop(%next, %s1, %b : i32, i32, i64), ^end loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
^end:
  kern.store "STG.E" global b32 [%q : i64], %s1 : i32
  kern.exit
}

// No loop at all.
// CHECK-LABEL: kernel without
// CHECK-NOT: loop_unrolling
kern.func entry visible @without(%in: i64) {
  kern.exit
}
}
