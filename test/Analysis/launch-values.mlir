// What a launch decides. The same kernel under a launch that takes the side of
// the product, under one that does not, and under one that says nothing.
// RUN: d2k-opt %s --split-input-file -o /dev/null 2>&1 \
// RUN:   '--test-launch-values=launch=param:2:0:4=5,param:3:0:4=0x3f800000,block.x=256' \
// RUN:   | FileCheck %s --check-prefix=ON
// RUN: d2k-opt %s --split-input-file -o /dev/null 2>&1 \
// RUN:   '--test-launch-values=launch=param:2:0:4=4,param:3:0:4=0x80000000,block.x=64' \
// RUN:   | FileCheck %s --check-prefix=OFF
// RUN: d2k-opt %s --split-input-file -o /dev/null --test-launch-values 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPEN

// OPEN: remark: nothing
// OPEN-NOT: decided
// OPEN-NOT: dead

// With mode 5, what is passed around the product is left out.
// ON: remark: argument 3 is 5
// ON-NOT: decided
// OFF: remark: argument 3 is 4 and blockDim.x is 64 and argument 4 is -0
// OFF-NOT: decided
kern.func entry visible @conditions(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %po: i64 {kern.name = "o", kern.size = 8 : i64}, %pm: i64 {kern.name = "mode", kern.size = 4 : i64}, %pz: i64 {kern.name = "z", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %o = kern.load "ld.param.u64" param u64 [%po : i64] -> i64
  // The number itself is not decided: it stays symbolic.
  %mode = kern.load "ld.param.u32" param u32 [%pm : i64] -> i32
  // A zero factor is, of either sign: 2^31.
  // OFF: [[#@LINE+1]]:{{.*}}remark: decided 2147483648
  %z = kern.load "ld.param.f32" param f32 [%pz : i64] -> i32
  %c5 = kern.constant 5 : i32
  %c128 = kern.constant 128 : i32
  %tid = kern.special "mov.u32" "tid.x" : i32
  %v = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  // ON: [[#@LINE+2]]:{{.*}}remark: decided 1
  // OFF: [[#@LINE+1]]:{{.*}}remark: decided 0
  %on = kern.compare "setp.eq.s32" eq s32 (%mode, %c5) : (i32, i32) -> i1
  kern.cond_br %on, ^product, ^after(%v : i32)
^product:
  // OFF: [[#@LINE+1]]:{{.*}}remark: dead
  %p = kern.arith "mul.f32" mul f32 (%v, %v) : (i32, i32) -> i32
  // OFF: [[#@LINE+1]]:{{.*}}remark: dead
  kern.br ^after(%p : i32)
^after(%w: i32):
  // There are 256 threads or 64.
  // ON-NOT: decided
  // OFF: [[#@LINE+1]]:{{.*}}remark: decided 0
  %high = kern.compare "setp.ge.u32" ge u32 (%tid, %c128) : (i32, i32) -> i1
  // OFF: [[#@LINE+1]]:{{.*}}remark: dead
  %g = kern.load "ld.global.f32" global f32 [%x : i64] if %high else (%w : i32) -> i32
  %s = kern.arith "fma.rn.f32" fma f32 (%z, %w, %g) : (i32, i32, i32) -> i32
  kern.store "st.global.f32" global f32 [%o : i64], %s : i32
  kern.exit
}

// -----

// A loop that does not run once, and a choice between data and something else.
// ON: remark: argument 3 is 5
// OFF: remark: argument 3 is 4
kern.func entry visible @loops(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %po: i64 {kern.name = "o", kern.size = 8 : i64}, %pk: i64 {kern.name = "k", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %o = kern.load "ld.param.u64" param u64 [%po : i64] -> i64
  %k = kern.load "ld.param.u32" param u32 [%pk : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c3 = kern.constant 3 : i32
  %c4 = kern.constant 4 : i32
  %v = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  // k / 8 iterations: none.
  %trips = kern.arith "shr.u32" shr u32 (%k, %c3) : (i32, i32) -> i32
  kern.br ^head(%c0, %v : i32, i32)
^head(%i: i32, %s: i32):
  // ON: [[#@LINE+2]]:{{.*}}remark: decided 0
  // OFF: [[#@LINE+1]]:{{.*}}remark: decided 0
  %more = kern.compare "setp.lt.u32" lt u32 (%i, %trips) : (i32, i32) -> i1
  kern.cond_br %more, ^body, ^done
^body:
  // ON: [[#@LINE+2]]:{{.*}}remark: dead
  // OFF: [[#@LINE+1]]:{{.*}}remark: dead
  %sum = kern.arith "add.f32" add f32 (%s, %v) : (i32, i32) -> i32
  %next = kern.arith "add.s32" add s32 (%i, %c1) : (i32, i32) -> i32
  kern.br ^head(%next, %sum : i32, i32)
^done:
  // ON: [[#@LINE+2]]:{{.*}}remark: decided 0
  // OFF: [[#@LINE+1]]:{{.*}}remark: decided 1
  %four = kern.compare "setp.eq.s32" eq s32 (%k, %c4) : (i32, i32) -> i1
  %r = kern.select "selp.b32" b32 %four : i1, %c0, %s : i32, i32 -> i32
  kern.store "st.global.f32" global f32 [%o : i64], %r : i32
  kern.exit
}

// -----

// A pointer that is not null, and its alignment: both launches pass another
// pointer, of which nothing is known here.
// ON: remark: nothing
// ON-NOT: decided
// OFF: remark: nothing
// OFF-NOT: decided
kern.func entry visible @pointers(%px: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %c0 = kern.constant 0 : i64
  %some = kern.compare "setp.ne.u64" ne u64 (%x, %c0) : (i64, i64) -> i1
  %v = kern.constant 1 : i32
  kern.store "st.global.f32" global f32 [%x : i64], %v : i32 if %some
  kern.exit
}
