// What looks unrolled and is not, or not as far as it looks.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 1 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s
// The counter of the compiler counts iterations of four at a time: its step is
// none of the source's.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 10 : i64, column = 3 : i64, head_end = 10 : i64, end = 12 : i64, step = 16 : i64, accesses = [array<i64: 11, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=COUNTS
// The loop of the source is elsewhere.
// RUN: sed 's|LOOPS|{file = "/k.cu", line = 20 : i64, column = 3 : i64, head_end = 20 : i64, end = 22 : i64, step = 1 : i64, accesses = [array<i64: 21, 4, 1, 0>]}|' %s | d2k-opt --test-properties=only=loop_unrolling -o /dev/null | FileCheck %s --check-prefix=LINES
// LINES-LABEL: kernel a_parts
// LINES-NEXT: undecided loop_unrolling: {{.*}} may be unrolled: the test that ends the loop is in the head of no single loop of the source (a line table (-lineinfo) that puts it into the head of one loop)

module attributes {kern.isa = "sass", kern.target = "sm_90a", kern.source_loops = [LOOPS]} {
// Four loads of one expression that are not four iterations: the counter moves
// by the source's step.
// CHECK-LABEL: kernel a_parts
// CHECK-NEXT: undecided loop_unrolling: {{.*}} counter moves by 1 for a step of 1 in the source, with accesses of 4 iterations
kern.func entry visible @a_parts(%in: i64, %out: i64, %n: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %m = kern.load "LDC" param b32 [%n : i64] -> i32
  %zero = kern.constant 0 : i32
  %step = kern.constant 1 : i32
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

// The counter moves by four and one load is left: it may have been four.
// CHECK-LABEL: kernel b_wider
// CHECK-NEXT: undecided loop_unrolling: {{.*}} counter moves by 4 for a step of 1 in the source, with accesses of 1 iterations
kern.func entry visible @b_wider(%in: i64, %out: i64, %n: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %m = kern.load "LDC" param b32 [%n : i64] -> i32
  %zero = kern.constant 0 : i32
  %step = kern.constant 4 : i32
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

// COUNTS-LABEL: kernel c_counts
// COUNTS-NEXT: fact loop_unrolling factor=4
// CHECK-LABEL: kernel c_counts
// CHECK-NEXT: fact loop_unrolling factor=4
kern.func entry visible @c_counts(%in: i64, %out: i64, %n: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %m = kern.load "LDC" param b32 [%n : i64] -> i32
  %zero = kern.constant 0 : i32
  %step = kern.constant 4 : i32
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

// Three of the four loads do not run in every iteration: one is on one side of a
// branch, two are guarded.
// CHECK-LABEL: kernel d_sometimes
// CHECK-NEXT: undecided loop_unrolling: {{.*}} counter moves by 4 for a step of 1 in the source, with accesses of 1 iterations
kern.func entry visible @d_sometimes(%in: i64, %out: i64, %n: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %m = kern.load "LDC" param b32 [%n : i64] -> i32
  %zero = kern.constant 0 : i32
  %step = kern.constant 4 : i32
  %bytes = kern.constant 16 : i64
  kern.br ^loop(%zero, %zero, %p : i32, i32, i64)
^loop(%i: i32, %s0: i32, %a: i64):
  %x0 = kern.load "LDG.E" global b32 [%a + 0 : i64] -> i32
    loc(fused<"sass">["k.cubin":16:0, "/k.cu":11:9])
  %c = kern.compare "ISETP.LT.AND" lt s32 (%x0, %m) : (i32, i32) -> i1
  kern.cond_br %c, ^side, ^join(%x0 : i32)
^side:
  %x1 = kern.load "LDG.E" global b32 [%a + 4 : i64] -> i32
    loc(fused<"sass">["k.cubin":32:0, "/k.cu":11:9])
  kern.br ^join(%x1 : i32)
^join(%x: i32):
  %s1 = kern.arith "FADD" add f32 (%s0, %x) : (i32, i32) -> i32
    loc(fused<"sass">["k.cubin":256:0, "/k.cu":11:7])
  %x2 = kern.load "LDG.E" global b32 [%a + 8 : i64] if %c else (%x : i32) -> i32
    loc(fused<"sass">["k.cubin":48:0, "/k.cu":11:9])
  %x3 = kern.load "LDG.E" global b32 [%a + 12 : i64] if %c else (%x2 : i32) -> i32
    loc(fused<"sass">["k.cubin":64:0, "/k.cu":11:9])
  %s2 = kern.arith "FADD" add f32 (%s1, %x3) : (i32, i32) -> i32
  %next = kern.arith "IADD3" add u32 (%i, %step) : (i32, i32) -> i32 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  %b = kern.arith "IADD3" add u64 (%a, %bytes) : (i64, i64) -> i64 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  %more = kern.compare "ISETP.LT.AND" lt s32 (%next, %m) : (i32, i32) -> i1 loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
  kern.cond_br %more, ^loop(%next, %s2, %b : i32, i32, i64), ^end loc(fused<"sass">["k.cubin":512:0, "/k.cu":10:21])
^end:
  kern.store "STG.E" global b32 [%q : i64], %s2 : i32
  kern.exit
}
}
