// RUN: d2k-opt %s --kern-inline-calls=max-ops=6 --verify-diagnostics | FileCheck %s

// @small fits (3 + 2), the second call would make 7.

kern.func device internal @small(%v: i32) -> i32 {
  %s = kern.arith "neg.s32" neg s32 (%v) : (i32) -> i32
  kern.return %s : i32
}

// CHECK-LABEL: kern.func entry visible @k(
// CHECK: kern.arith "neg.s32"
// CHECK: kern.call "call" @small
kern.func entry visible @k(%v: i32) {
  %a = kern.call "call" @small(%v) : (i32) -> i32
  // expected-remark @below {{call of @small stays: @k would have 7 operations, more than max-ops=6}}
  %b = kern.call "call" @small(%a) : (i32) -> i32
  kern.exit
}
