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

// -----

// The remainder of a signed number that is not negative, as compilers write it:
// the correction for a negative one adds 0. Without its lower end it is none.

kern.func entry visible @remainder(%pn: i64 {kern.name = "n", kern.size = 4 : i64}) attributes {kern.maxntid = array<i64: 128, 1, 1>} {
  // expected-remark @+1 {{constant 31}}
  %c31 = kern.constant 31 : i32
  // expected-remark @+1 {{constant 30}}
  %c30 = kern.constant 30 : i32
  // expected-remark @+1 {{constant 4294967292}}
  %down = kern.constant -4 : i32
  // expected-remark @+1 {{range [0, 127]}}
  %tid = kern.special "mov.u32" "tid.x" : i32
  // expected-remark @+1 {{range [0, 0]}}
  %sign = kern.arith "shr.s32" shr s32 (%tid, %c31) : (i32, i32) -> i32
  // expected-remark @+1 {{range [0, 0]}}
  %more = kern.arith "shr.u32" shr u32 (%sign, %c30) : (i32, i32) -> i32
  // expected-remark @+1 {{range [0, 127]}}
  %up = kern.arith "add.s32" add s32 (%tid, %more) : (i32, i32) -> i32
  // expected-remark @+1 {{range [0, 124]}}
  %whole = kern.arith "and.b32" and b32 (%up, %down) : (i32, i32) -> i32
  // expected-remark @+1 {{range [0, 3]}}
  %rest = kern.arith "sub.s32" sub s32 (%tid, %whole) : (i32, i32) -> i32
  // expected-remark @+1 {{}}
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  // expected-remark @+1 {{}}
  %all = kern.arith "and.b32" and b32 (%n, %down) : (i32, i32) -> i32
  // expected-remark @+1 {{}}
  %any = kern.arith "sub.s32" sub s32 (%n, %all) : (i32, i32) -> i32
  // expected-remark @+1 {{}}
  kern.exit
}

// -----

// All bits but the sign: the smallest power of two above is one that a signed
// number of 64 bits does not have.

kern.func entry visible @widest(%pn: i64 {kern.name = "n", kern.size = 8 : i64}) {
  // expected-remark @+1 {{}}
  %n = kern.load "ld.param.u64" param u64 [%pn : i64] -> i64
  // expected-remark @+1 {{constant 9223372036854775807}}
  %most = kern.constant 9223372036854775807 : i64
  // expected-remark @+1 {{range [0, 9223372036854775807]}}
  %x = kern.arith "and.b64" and b64 (%n, %most) : (i64, i64) -> i64
  // expected-remark @+1 {{range [0, 9223372036854775807]}}
  %y = kern.arith "xor.b64" xor b64 (%x, %most) : (i64, i64) -> i64
  // expected-remark @+1 {{}}
  kern.exit
}

// -----

// Of a number below 128, a mask of higher bits keeps nothing.

kern.func entry visible @bits() attributes {kern.maxntid = array<i64: 128, 1, 1>} {
  // expected-remark @+1 {{constant 384}}
  %high = kern.constant 384 : i32
  // expected-remark @+1 {{constant 96}}
  %middle = kern.constant 96 : i32
  // expected-remark @+1 {{range [0, 127]}}
  %tid = kern.special "mov.u32" "tid.x" : i32
  // expected-remark @+1 {{range [0, 0]}}
  %none = kern.arith "and.b32" and b32 (%tid, %high) : (i32, i32) -> i32
  // expected-remark @+1 {{range [0, 96]}}
  %some = kern.arith "and.b32" and b32 (%tid, %middle) : (i32, i32) -> i32
  // expected-remark @+1 {{}}
  kern.exit
}
