// RUN: d2k-opt %s --test-provenance -verify-diagnostics -o /dev/null

kern.object internal shared @tile size 4096 align 16 of b8

kern.func entry visible @f(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %py: i64 {kern.name = "y", kern.size = 8 : i64}) {
  // A parameter is no load of an input.
  // expected-remark @+1 {{terms none reach control}}
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  // expected-remark @+1 {{terms none reach control}}
  %y = kern.load "ld.param.u64" param u64 [%py : i64] -> i64
  %c0 = kern.constant 0 : i32
  %s = kern.address_of @tile : i32
  // expected-remark @+1 {{terms 1 reach must}}
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  // Through shared memory.
  kern.store "st.shared.f32" shared f32 [%s : i32], %a : i32
  // expected-remark @+1 {{terms 1 reach must}}
  %b = kern.load "ld.shared.f32" shared f32 [%s : i32] -> i32
  // A matrix product of the two.
  // expected-remark @+1 {{terms mma_sync reach must}}
  %d:4 = kern.mma "mma" mma_sync 16 x 8 x 16 f32 (bf16 %a, %a, %a, %a) (bf16 %b, %b) (f32 %c0, %c0, %c0, %c0) : (i32, i32, i32, i32), (i32, i32), (i32, i32, i32, i32) -> i32, i32, i32, i32
  // With zeros there is nothing.
  // expected-remark @+1 {{terms none reach none}}
  %z:4 = kern.mma "mma" mma_sync 16 x 8 x 16 f32 (bf16 %c0, %c0, %c0, %c0) (bf16 %b, %b) (f32 %c0, %c0, %c0, %c0) : (i32, i32, i32, i32), (i32, i32), (i32, i32, i32, i32) -> i32, i32, i32, i32
  // expected-remark @+1 {{terms mul*mma_sync reach must}}
  %scaled = kern.arith "mul.f32" mul f32 (%d#0, %a) : (i32, i32) -> i32
  // A residual is another term, and no rival product.
  // expected-remark @+1 {{terms 1 + mul*mma_sync reach must}}
  %sum = kern.arith "add.f32" add f32 (%scaled, %b) : (i32, i32) -> i32
  // Used by nobody.
  // expected-remark @+1 {{terms mul reach none}}
  %unused = kern.arith "mul.f32" mul f32 (%a, %b) : (i32, i32) -> i32
  // expected-remark @+1 {{output 1 + mul*mma_sync}}
  kern.store "st.global.f32" global f32 [%y : i64], %sum : i32
  kern.exit
}
