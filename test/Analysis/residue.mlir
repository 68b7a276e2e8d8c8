// RUN: d2k-opt %s --test-residue -verify-diagnostics -o /dev/null

kern.func entry visible @f(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %py: i64 {kern.name = "y", kern.size = 8 : i64}, %pn: i64 {kern.name = "n", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %y = kern.load "ld.param.u64" param u64 [%py : i64] -> i64
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %a = kern.load "ld.global.b32" global b32 [%x : i64] -> i32
  %b = kern.load "ld.global.b32" global b32 [%x + 4 : i64] -> i32
  // A product leaves nothing, nor does one that is scaled; a bias stays.
  // expected-remark @+1 {{none}}
  %d:4 = kern.mma "mma" mma_sync 16 x 8 x 16 f32 (bf16 %a, %a, %a, %a) (bf16 %b, %b) (f32 %c0, %c0, %c0, %c0) : (i32, i32, i32, i32), (i32, i32), (i32, i32, i32, i32) -> i32, i32, i32, i32
  // expected-remark @+1 {{none}}
  %scaled = kern.arith "mul.f32" mul f32 (%d#0, %a) : (i32, i32) -> i32
  // expected-remark @+1 {{few}}
  %biased = kern.arith "add.f32" add f32 (%scaled, %b) : (i32, i32) -> i32
  // An accumulator that starts at a loaded number keeps it.
  // expected-remark @+1 {{few}}
  %e:4 = kern.mma "mma" mma_sync 16 x 8 x 16 f32 (bf16 %a, %a, %a, %a) (bf16 %b, %b) (f32 %a, %c0, %c0, %c0) : (i32, i32, i32, i32), (i32, i32), (i32, i32, i32, i32) -> i32, i32, i32, i32
  // 2 to the power of zero is not zero, but depends on no input either.
  // expected-remark @+1 {{none}}
  %one = kern.math "ex2.approx.f32" ex2 f32 (%d#0) : (i32) -> i32
  // expected-remark @+1 {{few}}
  %kept = kern.arith "mul.f32" mul f32 (%one, %a) : (i32, i32) -> i32
  kern.br ^loop(%c0, %c0, %c0, %c0, %x : i32, i32, i32, i32, i64)
^loop(%i: i32, %s: i32, %t: i32, %acc: i32, %p: i64):
  %u = kern.load "ld.global.b32" global b32 [%p : i64] -> i32
  %v = kern.load "ld.global.b32" global b32 [%p + 4096 : i64] -> i32
  // The sum of one operand.
  // expected-remark @+1 {{fold}}
  %s1 = kern.arith "add.f32" add f32 (%s, %u) : (i32, i32) -> i32
  // expected-remark @+1 {{few}}
  %uv = kern.arith "max.f32" max f32 (%u, %v) : (i32, i32) -> i32
  // The sum of what is made from both.
  // expected-remark @+1 {{mixed}}
  %t1 = kern.arith "add.f32" add f32 (%t, %uv) : (i32, i32) -> i32
  // What is loaded is scaled by a product: zero.
  // expected-remark @+1 {{none}}
  %acc1 = kern.arith "fma.rn.f32" fma f32 (%u, %d#1, %acc) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{none}}
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %c4 = kern.constant 4 : i64
  // expected-remark @+1 {{none}}
  %p1 = kern.arith "add.s64" add s64 (%p, %c4) : (i64, i64) -> i64
  %more = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %more, ^loop(%i1, %s1, %t1, %acc1, %p1 : i32, i32, i32, i32, i64), ^done
^done:
  // expected-remark @+1 {{output few}}
  kern.store "st.global.f32" global f32 [%y : i64], %biased : i32
  // expected-remark @+1 {{output fold}}
  kern.store "st.global.f32" global f32 [%y + 4 : i64], %s1 : i32
  // expected-remark @+1 {{output mixed}}
  kern.store "st.global.f32" global f32 [%y + 8 : i64], %t1 : i32
  // expected-remark @+1 {{output none}}
  kern.store "st.global.f32" global f32 [%y + 12 : i64], %acc1 : i32
  kern.exit
}
