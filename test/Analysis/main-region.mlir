// RUN: d2k-opt %s --test-main-region -split-input-file -verify-diagnostics -o /dev/null

// A dot product in a loop; the loop before it, which only counts, is not it.
// expected-remark @+1 {{main loops L1}}
kern.func entry visible @dot(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %pn: i64 {kern.name = "n", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  kern.br ^count(%c0 : i32)
^count(%j: i32):
  %j1 = kern.arith "add.u32" add u32 (%j, %c1) : (i32, i32) -> i32
  %p = kern.compare "setp.lt.u32" lt u32 (%j1, %n) : (i32, i32) -> i1
  kern.cond_br %p, ^count(%j1 : i32), ^loop(%c0, %c0 : i32, i32)
^loop(%i: i32, %s: i32):
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  %t = kern.arith "fma.rn.f32" fma f32 (%a, %a, %s) : (i32, i32, i32) -> i32
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %q = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %q, ^loop(%i1, %t : i32, i32), ^end
^end:
  kern.store "st.global.f32" global f32 [%x : i64], %t : i32
  kern.exit
}

// -----

// No loop: the body.
// expected-remark @+1 {{main body}}
kern.func entry visible @straight(%px: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  kern.store "st.global.f32" global f32 [%x : i64], %a : i32
  kern.exit
}

// -----

// A loop that moves data without a product: not decided.
// expected-remark @+1 {{main unknown: no product of inputs reaches an output}}
kern.func entry visible @copy(%px: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %c0 = kern.constant 0 : i32
  kern.br ^loop
^loop:
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  kern.store "st.global.f32" global f32 [%x : i64], %a : i32
  %p = kern.compare "setp.ne.u32" ne u32 (%a, %c0) : (i32, i32) -> i1
  kern.cond_br %p, ^loop, ^end
^end:
  kern.exit
}
