// RUN: d2k-opt %s --test-loops -split-input-file -verify-diagnostics -o /dev/null

// for (i = 0; i < n; ++i) for (j = 0; j < 8; j += 2) ;
kern.func entry visible @nest(%x: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %n = kern.load "ld.param.u32" param u32 [%x : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c2 = kern.constant 2 : i32
  %c8 = kern.constant 8 : i32
  kern.br ^outer(%c0 : i32)
^outer(%i: i32):
  // expected-remark @+1 {{L0 depth 1 blocks 3}}
  kern.br ^inner(%c0 : i32)
^inner(%j: i32):
  // expected-remark @+1 {{L0.0 depth 2 blocks 1 trip 4}}
  %j1 = kern.arith "add.u32" add u32 (%j, %c2) : (i32, i32) -> i32
  %more = kern.compare "setp.lt.u32" lt u32 (%j1, %c8) : (i32, i32) -> i1
  kern.cond_br %more, ^inner(%j1 : i32), ^latch
^latch:
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %again = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %again, ^outer(%i1 : i32), ^end
^end:
  kern.exit
}

// -----

// Waiting for a barrier, and for a flag in memory. A loop that also counts what
// it sees in floating point is no wait.
kern.func entry visible @spin(%x: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %p = kern.load "ld.param.u64" param u64 [%x : i64] -> i64
  %c0 = kern.constant 0 : i32
  kern.br ^wait
^wait:
  // expected-remark @+1 {{L0 depth 1 blocks 1 spin}}
  %done = kern.mbarrier_wait "mbarrier.try_wait.parity" try parity [%c0 : i32], %c0 : i32
  kern.no_effect "YIELD"
  kern.cond_br %done, ^poll, ^wait
^poll:
  // expected-remark @+1 {{L1 depth 1 blocks 1 spin}}
  %v = kern.load "ld.acquire.gpu.global.u32" global u32 [%p : i64] {semantics = #kern<sem acquire>} -> i32
  %set = kern.compare "setp.ne.u32" ne u32 (%v, %c0) : (i32, i32) -> i1
  kern.cond_br %set, ^work(%c0 : i32), ^poll
^work(%s: i32):
  // expected-remark @+1 {{L2 depth 1 blocks 1}}
  %w = kern.load "ld.volatile.global.f32" global f32 [%p : i64] {semantics = #kern<sem volatile>} -> i32
  %t = kern.arith "add.f32" add f32 (%s, %w) : (i32, i32) -> i32
  %on = kern.compare "setp.ne.u32" ne u32 (%w, %c0) : (i32, i32) -> i1
  kern.cond_br %on, ^work(%t : i32), ^end
^end:
  kern.exit
}

// -----

// Two blocks that jump to each other and can both be entered from outside.
// expected-remark @+1 {{irreducible}}
kern.func entry visible @irreducible(%x: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %n = kern.load "ld.param.u32" param u32 [%x : i64] -> i32
  %c0 = kern.constant 0 : i32
  %p = kern.compare "setp.ne.u32" ne u32 (%n, %c0) : (i32, i32) -> i1
  kern.cond_br %p, ^a, ^b
^a:
  kern.cond_br %p, ^b, ^end
^b:
  kern.cond_br %p, ^a, ^end
^end:
  kern.exit
}
