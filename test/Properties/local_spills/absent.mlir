// No local memory; and a place that is constant, but within the array.
// RUN: d2k-opt %s --test-properties=only=local_spills -o /dev/null | FileCheck %s

module attributes {kern.isa = "sass", kern.target = "sm_80"} {
// CHECK-LABEL: kernel a_none complete
// CHECK-NOT: local_spills
kern.func entry visible @a_none() {
  kern.exit
}
// Byte 252 is the last word of the array.
// CHECK-LABEL: kernel b_array complete
// CHECK-NOT: local_spills
kern.object external local @b_array$local align 16
kern.func entry visible @b_array(%out: i64 {kern.name = "out", kern.size = 8 : i64}) {
  %p = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %frame = kern.address_of @b_array$local : i32
  %two = kern.constant 2 : i32
  %mask = kern.constant 63 : i32
  %v = kern.load "LDG.E" global b32 [%p : i64] -> i32
  %i = kern.arith "LOP3.LUT" and b32 (%v, %mask) : (i32, i32) -> i32
  %o = kern.arith "SHF.L.U32" shl b32 (%i, %two) : (i32, i32) -> i32
  %at = kern.arith "IADD3" add s32 (%frame, %o) : (i32, i32) -> i32
  kern.store "STL" local b32 [%frame : i32], %v : i32 loc(fused<"sass">["x.cubin":16:0, "x.cu":5:0])
  kern.store "STL" local b32 [%frame + 252 : i32], %v : i32 loc(fused<"sass">["x.cubin":32:0, "x.cu":6:0])
  %a = kern.load "LDL" local b32 [%at : i32] -> i32 loc(fused<"sass">["x.cubin":48:0, "x.cu":7:0])
  %b = kern.load "LDL" local b32 [%frame + 252 : i32] -> i32 loc(fused<"sass">["x.cubin":64:0, "x.cu":8:0])
  %s = kern.arith "IADD3" add s32 (%a, %b) : (i32, i32) -> i32
  kern.store "STG.E" global b32 [%p : i64], %s : i32
  kern.exit
}
// ptxas said 0 bytes: what is at constant places belongs to the array.
// CHECK-LABEL: kernel c_said complete
// CHECK-NOT: local_spills
kern.object external local @c_said$local align 16
kern.func entry visible @c_said(%out: i64 {kern.name = "out", kern.size = 8 : i64}) attributes {kern.spill_bytes = 0 : i64} {
  %p = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %frame = kern.address_of @c_said$local : i32
  %two = kern.constant 2 : i32
  %mask = kern.constant -1 : i32
  %v = kern.load "LDG.E" global b32 [%p : i64] -> i32
  %i = kern.arith "LOP3.LUT" and b32 (%v, %mask) : (i32, i32) -> i32
  %o = kern.arith "SHF.L.U32" shl b32 (%i, %two) : (i32, i32) -> i32
  %at = kern.arith "IADD3" add s32 (%frame, %o) : (i32, i32) -> i32
  kern.store "STL" local b32 [%frame : i32], %v : i32 loc(fused<"sass">["x.cubin":16:0, "x.cu":5:0])
  kern.store "STL" local b32 [%frame + 256 : i32], %v : i32 loc(fused<"sass">["x.cubin":32:0, "x.cu":6:0])
  %a = kern.load "LDL" local b32 [%at : i32] -> i32 loc(fused<"sass">["x.cubin":48:0, "x.cu":7:0])
  %b = kern.load "LDL" local b32 [%frame + 256 : i32] -> i32 loc(fused<"sass">["x.cubin":64:0, "x.cu":8:0])
  %s = kern.arith "IADD3" add s32 (%a, %b) : (i32, i32) -> i32
  kern.store "STG.E" global b32 [%p : i64], %s : i32
  kern.exit
}
}
