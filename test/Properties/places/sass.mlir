// Where evidence in machine code is: the source line when there is one, else
// the byte offset, which may be 0.
// RUN: d2k-opt %s --test-properties=only=vector_global_access -o /dev/null | FileCheck %s
// Of the code of a header the author's line that calls it, with the header's.
// RUN: d2k-opt %s '--test-properties=only=vector_global_access authored=k.cu' -o /dev/null | FileCheck %s --check-prefix=AUTHOR

module attributes {kern.isa = "sass", kern.target = "sm_80"} {
// CHECK-LABEL: kernel copy
// CHECK-NEXT: fact vector_global_access bytes=16 direction=load share=1 main=yes @ 12
// CHECK-NEXT: fact vector_global_access bytes=16 direction=store share=1 main=yes @ sass:0
// AUTHOR-LABEL: kernel copy
// AUTHOR-NEXT: direction=load share=1 main=yes @ 12
// AUTHOR-NEXT: direction=store share=1 main=yes @ sass:0
// AUTHOR-LABEL: kernel inlined
// AUTHOR-NEXT: direction=load share=1 main=yes @ 30<-lib.h:7
// AUTHOR-NEXT: direction=store share=1 main=yes @ 31
kern.func entry visible @copy(%in: i64, %out: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %v:4 = kern.load "LDG.E.128" global b32 [%p : i64] -> i32, i32, i32, i32
    loc(fused<"sass+ptx">["x.cubin":16:0, "x.ptx":7:0, "x.cu":12:0])
  kern.store "STG.E.128" global b32 [%q : i64], %v#0, %v#1, %v#2, %v#3 : i32, i32, i32, i32
    loc(fused<"sass+ptx">["x.cubin":0:0, "x.ptx":8:0])
  kern.exit
}
// CHECK-LABEL: kernel inlined
// CHECK-NEXT: fact vector_global_access bytes=16 direction=load share=1 main=yes @ 7
// CHECK-NEXT: fact vector_global_access bytes=16 direction=store share=1 main=yes @ 31
kern.func entry visible @inlined(%in: i64, %out: i64) {
  %p = kern.load "LDC.64" param b64 [%in : i64] -> i64
  %q = kern.load "LDC.64" param b64 [%out : i64] -> i64
  %v:4 = kern.load "LDG.E.128" global b32 [%p : i64] -> i32, i32, i32, i32
    loc(fused<"sass">["k.cubin":16:0, callsite("_Z4loadPKf"("lib.h":7:0) at callsite("_Z5outerv"("lib.h":20:0) at "k.cu":30:0))])
  kern.store "STG.E.128" global b32 [%q : i64], %v#0, %v#1, %v#2, %v#3 : i32, i32, i32, i32
    loc(fused<"sass">["k.cubin":32:0, "k.cu":31:0])
  kern.exit
}
}
