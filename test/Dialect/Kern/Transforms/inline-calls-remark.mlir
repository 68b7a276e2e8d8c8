// A call that stays is named by its place alone: printing the operation would
// number every value of the caller, once a call.
// RUN: d2k-opt %s --kern-inline-calls=max-ops=2 2>&1 | FileCheck %s

// CHECK-COUNT-2: remark: call of @small stays:
// CHECK-NOT: see current operation
kern.func device internal @small(%v: i32) -> i32 {
  %s = kern.arith "neg.s32" neg s32 (%v) : (i32) -> i32
  kern.return %s : i32
}

kern.func entry visible @k(%v: i32) {
  %a = kern.call "call" @small(%v) : (i32) -> i32
  %b = kern.call "call" @small(%a) : (i32) -> i32
  kern.exit
}
