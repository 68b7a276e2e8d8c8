// RUN: d2k-opt %s --kern-inline-calls --mlir-print-debuginfo --split-input-file --verify-diagnostics | FileCheck %s

// A chain of two functions of one block each goes in without a branch; the
// parameter's address becomes that of the caller's object. The line of the body
// stays, the source lines of both calls follow.

// CHECK: kern.func entry visible @chain(%[[P:.*]]: i64
// CHECK-NEXT: %[[A:.*]] = kern.address_of @arg : i64
// CHECK-NEXT: kern.store "st.param.b32" param b32 [%[[A]] : i64], %{{.*}} : i32
// CHECK-NEXT: %[[L:.*]] = kern.load "ld.param.b32" param b32 [%[[A]] : i64] -> i32
// CHECK-NEXT: %[[S:.*]] = kern.arith "add.s32" add s32 (%[[L]], %[[L]]) : (i32, i32) -> i32 loc(#[[LOC:.*]])
// CHECK-NEXT: kern.store "st.global.b32" global b32 [%[[P]] : i64], %[[S]] : i32
// CHECK-NEXT: kern.exit
kern.object internal param @arg size 4 align 4 of b32 {scope = @chain}

kern.func device internal @leaf(%v: i32) -> i32 {
  %s = kern.arith "add.s32" add s32 (%v, %v) : (i32, i32) -> i32
    loc(fused<"isa">["x.ptx":3:1, "leaf.cu":30:3])
  kern.return %s : i32
}

kern.func device internal @middle(%p: i64) -> i32 {
  %v = kern.load "ld.param.b32" param b32 [%p : i64] -> i32
  %s = kern.call "call" @leaf(%v) : (i32) -> i32
    loc(fused<"isa">["x.ptx":9:1, "middle.cu":20:5])
  kern.return %s : i32
}

kern.func entry visible @chain(%out: i64, %v: i32) {
  %a = kern.address_of @arg : i64
  kern.store "st.param.b32" param b32 [%a : i64], %v : i32
  %s = kern.call "call" @middle(%a) : (i64) -> i32
    loc(fused<"isa">["x.ptx":14:1, "chain.cu":10:7])
  kern.store "st.global.b32" global b32 [%out : i64], %s : i32
  kern.exit
}
// CHECK-DAG: #[[INNER:.*]] = loc("x.ptx":3:1)
// CHECK-DAG: #[[LEAF:.*]] = loc("leaf.cu":30:3)
// CHECK-DAG: #[[MIDDLE:.*]] = loc("middle.cu":20:5)
// CHECK-DAG: #[[CHAIN:.*]] = loc("chain.cu":10:7)
// CHECK-DAG: #[[ONE:.*]] = loc(callsite(#[[LEAF]] at #[[MIDDLE]]))
// CHECK-DAG: #[[TWO:.*]] = loc(callsite(#[[ONE]] at #[[CHAIN]]))
// CHECK-DAG: #[[LOC]] = loc(fused<"isa">[#[[INNER]], #[[TWO]]])

// -----

// A body of several blocks splits the caller's; results of a guarded call are
// the old values where the guard is off.

kern.func device internal @branchy(%v: i32) -> i32 {
  %c = kern.compare "setp.lt.s32" lt s32 (%v, %v) : (i32, i32) -> i1
  kern.cond_br %c, ^bb1, ^bb2(%v : i32)
^bb1:
  %n = kern.arith "neg.s32" neg s32 (%v) : (i32) -> i32
  kern.br ^bb2(%n : i32)
^bb2(%r: i32):
  kern.return %r : i32
}

// CHECK-LABEL: kern.func entry visible @guarded(
// CHECK-SAME: %[[OUT:[^:]*]]: i64 loc({{.*}}), %[[V:[^:]*]]: i32 loc({{.*}}), %[[G:[^:]*]]: i1
// CHECK: kern.cond_br %[[G]], ^[[AFTER:bb[0-9]+]](%[[V]] : i32), ^[[START:bb[0-9]+]]
// CHECK: ^[[START]]:
// CHECK: kern.cond_br %{{.*}}, ^[[ONE:bb[0-9]+]], ^[[TWO:bb[0-9]+]](%[[V]] : i32)
// CHECK: ^[[ONE]]:
// CHECK: %[[N:.*]] = kern.arith "neg.s32" neg s32 (%[[V]])
// CHECK: kern.br ^[[TWO]](%[[N]] : i32)
// CHECK: ^[[TWO]](%[[R:.*]]: i32 loc
// CHECK: kern.br ^[[AFTER]](%[[R]] : i32)
// CHECK: ^[[AFTER]](%[[S:.*]]: i32 loc
// CHECK: kern.store "st.global.b32" global b32 [%[[OUT]] : i64], %[[S]] : i32
kern.func entry visible @guarded(%out: i64, %v: i32, %g: i1) {
  %s = kern.call "call" @branchy(%v) if not %g else (%v : i32) : (i32) -> i32
  kern.store "st.global.b32" global b32 [%out : i64], %s : i32
  kern.exit
}

// -----

// Recursion stays, through however many functions; so do functions without a
// body.

kern.func device external @vprintf(i64, i64) -> i32 attributes {sym_visibility = "private"}

kern.func device internal @even(%v: i32) -> i32 {
  // expected-remark @below {{call of @odd stays: the function is recursive}}
  %r = kern.call "call" @odd(%v) : (i32) -> i32
  kern.return %r : i32
}
kern.func device internal @odd(%v: i32) -> i32 {
  // expected-remark @below {{call of @even stays: the function is recursive}}
  %r = kern.call "call" @even(%v) : (i32) -> i32
  kern.return %r : i32
}
// CHECK-LABEL: kern.func entry visible @calls(
// CHECK: kern.call "call" @vprintf
// CHECK: kern.call "call" @odd
kern.func entry visible @calls(%p: i64, %v: i32) {
  %a = kern.call "call" @vprintf(%p, %p) : (i64, i64) -> i32
  // expected-remark @below {{call of @odd stays: the function is recursive}}
  %b = kern.call "call" @odd(%v) : (i32) -> i32
  kern.exit
}

// -----

// The body of a device function of machine code keeps its offset and PTX line.

// CHECK-LABEL: kern.func entry visible @machine(
// CHECK: kern.arith "IADD3" add s32 ({{.*}}) : (i32, i32) -> i32 loc(#[[MACHINE:.*]])
kern.func device internal @sub(%v: i32) -> i32 {
  %s = kern.arith "IADD3" add s32 (%v, %v) : (i32, i32) -> i32
    loc(fused<"sass+ptx">["x.cubin":256:0, "x.ptx":7:0, "leaf.cu":30:3])
  kern.return %s : i32
}
kern.func entry visible @machine(%out: i64, %v: i32) {
  %s = kern.call "CALL.REL" @sub(%v) : (i32) -> i32
    loc(fused<"sass">["x.cubin":16:0, "chain.cu":10:7])
  kern.store "STG.E" global b32 [%out : i64], %s : i32
  kern.exit
}
// CHECK-DAG: #[[OFFSET:.*]] = loc("x.cubin":256:0)
// CHECK-DAG: #[[PTXLINE:.*]] = loc("x.ptx":7:0)
// CHECK-DAG: #[[FRAME:.*]] = loc("leaf.cu":30:3)
// CHECK-DAG: #[[CALLER:.*]] = loc("chain.cu":10:7)
// CHECK-DAG: #[[FRAMES:.*]] = loc(callsite(#[[FRAME]] at #[[CALLER]]))
// CHECK-DAG: #[[MACHINE]] = loc(fused<"sass+ptx">[#[[OFFSET]], #[[PTXLINE]], #[[FRAMES]]])
