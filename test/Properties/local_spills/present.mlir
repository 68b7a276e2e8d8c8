// Slots at constant places of the frame, beside an array that is indexed at run
// time.
// RUN: d2k-opt %s --test-properties=only=local_spills -o /dev/null | FileCheck %s

module attributes {kern.isa = "sass", kern.target = "sm_80"} {
// A slot that is stored once and loaded twice, and one of 16 bytes beside it:
// 4 + 4 + 4 and 16 + 16 bytes.
// CHECK-LABEL: kernel a_slots complete
// CHECK-NEXT: fact local_spills bytes=44 main=no @ 10 11 20 21 22
kern.object external local @a_slots$local align 16
kern.func entry visible @a_slots(%out: i64 {kern.name = "out", kern.size = 8 : i64}) {
  %p = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %frame = kern.address_of @a_slots$local : i32
  %v:4 = kern.load "LDG.E.128" global b32 [%p : i64] -> i32, i32, i32, i32
  kern.store "STL" local b32 [%frame + 64 : i32], %v#0 : i32 loc(fused<"sass">["x.cubin":16:0, "x.cu":10:0])
  kern.store "STL.128" local b32 [%frame + 80 : i32], %v#0, %v#1, %v#2, %v#3 : i32, i32, i32, i32 loc(fused<"sass">["x.cubin":32:0, "x.cu":11:0])
  %a = kern.load "LDL" local b32 [%frame + 64 : i32] -> i32 loc(fused<"sass">["x.cubin":48:0, "x.cu":20:0])
  %b = kern.load "LDL" local b32 [%frame + 64 : i32] -> i32 loc(fused<"sass">["x.cubin":64:0, "x.cu":21:0])
  %w:4 = kern.load "LDL.128" local b32 [%frame + 80 : i32] -> i32, i32, i32, i32 loc(fused<"sass">["x.cubin":80:0, "x.cu":22:0])
  kern.store "STG.E.128" global b32 [%p : i64], %a, %b, %w#2, %w#3 : i32, i32, i32, i32
  kern.exit
}
// The array has bytes 0 to 255 (an index of 6 bits, 4 bytes each); byte 256 is
// a slot, stored and loaded once.
// CHECK-LABEL: kernel b_beside complete
// CHECK-NEXT: fact local_spills bytes=8 main=no @ 6 8
kern.object external local @b_beside$local align 16
kern.func entry visible @b_beside(%out: i64 {kern.name = "out", kern.size = 8 : i64}) {
  %p = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %frame = kern.address_of @b_beside$local : i32
  %two = kern.constant 2 : i32
  %mask = kern.constant 63 : i32
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
// ptxas said 8 bytes, and it knows.
// CHECK-LABEL: kernel c_said complete
// CHECK-NEXT: fact local_spills bytes=8 main=no @ 5 6 8
kern.object external local @c_said$local align 16
kern.func entry visible @c_said(%out: i64 {kern.name = "out", kern.size = 8 : i64}) attributes {kern.spill_bytes = 8 : i64} {
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
