// RUN: d2k-opt %s --test-constants -verify-diagnostics -o /dev/null

kern.func entry visible @f(%x: i64 {kern.name = "x", kern.size = 8 : i64})
    attributes {kern.maxntid = array<i64: 128, 1, 1>} {
  // expected-remark @+1 {{constant 31}}
  %c31 = kern.constant 31 : i32
  // expected-remark @+1 {{constant 4}}
  %c4 = kern.constant 4 : i32
  // Below maxntid.
  // expected-remark @+1 {{range [0, 127]}}
  %tid = kern.special "mov.u32" "tid.x" : i32
  // expected-remark @+1 {{range [0, 31]}}
  %lane = kern.arith "and.b32" and b32 (%tid, %c31) : (i32, i32) -> i32
  // expected-remark @+1 {{range [0, 496]}}
  %bytes = kern.arith "shl.b32" shl b32 (%lane, %c4) : (i32, i32) -> i32
  // 31 + 4 * 31
  // expected-remark @+1 {{constant 155}}
  %sum = kern.arith "mad.lo.u32" mad_lo u32 (%c31, %c4, %c31) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{constant 0}}
  %false = kern.compare "setp.lt.u32" lt u32 (%c31, %c4) : (i32, i32) -> i1
  // expected-remark @+1 {{}}
  kern.cond_br %false, ^bb1, ^bb2(%c4 : i32)
^bb1:
  // expected-remark @+1 {{dead}}
  kern.br ^bb2(%c31 : i32)
^bb2(%phi: i32):
  // Only the executable edge counts: 4 + 31.
  // expected-remark @+1 {{constant 35}}
  %after = kern.arith "add.u32" add u32 (%phi, %c31) : (i32, i32) -> i32
  // A guard that is constantly off leaves the old value.
  // expected-remark @+1 {{dead constant 4}}
  %kept = kern.load "ld.global.b32" global b32 [%x : i64] if %false else (%c4 : i32) -> i32
  // expected-remark @+1 {{}}
  kern.exit
}
