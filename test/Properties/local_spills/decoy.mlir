// What may be spills or an array: an index without bound, and an address of the
// frame that leaves for memory.
// RUN: d2k-opt %s --test-properties=only=local_spills -o /dev/null | FileCheck %s

module attributes {kern.isa = "sass", kern.target = "sm_80"} {
// CHECK-LABEL: kernel a_unbounded complete
// CHECK-NEXT: undecided local_spills: 12 bytes of local stores and loads at constant places may be spills or belong to an array that x.cu:7 addresses at run time (what ptxas -v says, which comes with the source) @ 5 6 8
kern.object external local @a_unbounded$local align 16
kern.func entry visible @a_unbounded(%out: i64 {kern.name = "out", kern.size = 8 : i64}) {
  %p = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %frame = kern.address_of @a_unbounded$local : i32
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
// CHECK-LABEL: kernel b_escapes complete
// CHECK-NEXT: undecided local_spills: 8 bytes of local stores and loads at constant places may be spills or belong to an array that x.cu:4 addresses at run time
kern.object external local @b_escapes$local align 16
kern.func entry visible @b_escapes(%out: i64 {kern.name = "out", kern.size = 8 : i64}) {
  %p = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %frame = kern.address_of @b_escapes$local : i32
  kern.store "STG.E" global b32 [%p : i64], %frame : i32 loc(fused<"sass">["x.cubin":16:0, "x.cu":4:0])
  kern.store "STL" local b32 [%frame : i32], %frame : i32 loc(fused<"sass">["x.cubin":32:0, "x.cu":5:0])
  %a = kern.load "LDL" local b32 [%frame : i32] -> i32 loc(fused<"sass">["x.cubin":48:0, "x.cu":6:0])
  kern.store "STG.E" global b32 [%p + 4 : i64], %a : i32
  kern.exit
}
}
