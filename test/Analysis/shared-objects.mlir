// RUN: d2k-opt %s --test-shared-objects -split-input-file -verify-diagnostics -o /dev/null

// Two static arrays, one of which is used in two halves.

kern.object internal shared @x size 512 align 16
kern.object internal shared @y size 256 align 16

// expected-remark @+3 {{object 0 'x' bytes [0, 256)}}
// expected-remark @+2 {{object 1 'x' bytes [256, 512)}}
// expected-remark @+1 {{object 2 'y' bytes [0, 128)}}
kern.func entry visible @halves() attributes {kern.maxntid = array<i64: 64, 1, 1>} {
  %tid = kern.special "mov.u32" "tid.x" : i32
  %c2 = kern.constant 2 : i32
  %c31 = kern.constant 31 : i32
  %x = kern.address_of @x : i32
  %y = kern.address_of @y : i32
  %o = kern.arith "shl.b32" shl b32 (%tid, %c2) : (i32, i32) -> i32
  %a = kern.arith "add.u32" add u32 (%x, %o) : (i32, i32) -> i32
  // expected-remark @+1 {{in object 0 [0, 256)}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %tid : i32
  // expected-remark @+1 {{in object 1 [0, 256)}}
  kern.store "st.shared.u32" shared u32 [%a + 256 : i32], %tid : i32
  %l = kern.arith "and.b32" and b32 (%tid, %c31) : (i32, i32) -> i32
  %lo = kern.arith "shl.b32" shl b32 (%l, %c2) : (i32, i32) -> i32
  %b = kern.arith "add.u32" add u32 (%y, %lo) : (i32, i32) -> i32
  // expected-remark @+1 {{in object 2 [0, 128)}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %tid : i32
  kern.exit
}

// -----

// A ring of three stages of 2048 bytes with two parts each, the barriers
// behind it, and a part of the slot that is read through a pointer loaded from
// nowhere.

kern.object external shared @s align 16

// expected-remark @+3 {{object 0 's' aligned bytes [0, 512) of 3 slots of 2048}}
// expected-remark @+2 {{object 1 's' aligned bytes [1024, 1536) of 3 slots of 2048}}
// expected-remark @+1 {{object 2 barrier 's' aligned bytes [6144, 6152) of 3 slots of 8}}
kern.func entry visible @ring(%pn: i64 {kern.name = "n", kern.size = 4 : i64}, %px: i64 {kern.name = "x", kern.size = 8 : i64}) attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %g = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %tid = kern.special "mov.u32" "tid.x" : i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c3 = kern.constant 3 : i32
  %c4 = kern.constant 4 : i32
  %c8 = kern.constant 8 : i32
  %c2048 = kern.constant 2048 : i32
  %c6144 = kern.constant 6144 : i32
  %c1023 = kern.constant 1023 : i32
  %mask = kern.constant -1024 : i32
  %s = kern.address_of @s : i32
  %u = kern.arith "add.u32" add u32 (%s, %c1023) : (i32, i32) -> i32
  %base = kern.arith "and.b32" and b32 (%u, %mask) : (i32, i32) -> i32
  %bars = kern.arith "add.u32" add u32 (%base, %c6144) : (i32, i32) -> i32
  %lane = kern.arith "shl.b32" shl b32 (%tid, %c4) : (i32, i32) -> i32
  %own = kern.arith "add.u32" add u32 (%base, %lane) : (i32, i32) -> i32
  // The prologue fills slot 1 before the loop.
  // expected-remark @+1 {{in object 0 [0, 512) slot 1}}
  kern.async_copy "cp.async.cg.shared.global" 16 shared [%own + 2048 : i32], global [%g : i64]
  kern.br ^loop(%c0, %c0 : i32, i32)
^loop(%i: i32, %stage: i32):
  %off = kern.arith "mul.lo.u32" mul_lo u32 (%stage, %c2048) : (i32, i32) -> i32
  %to = kern.arith "add.u32" add u32 (%own, %off) : (i32, i32) -> i32
  // expected-remark-re @+1 {{in object 0 [0, 512) slot 0 + ring{{[0-9]+}}}}
  kern.async_copy "cp.async.cg.shared.global" 16 shared [%to : i32], global [%g : i64]
  // expected-remark-re @+1 {{in object 1 [0, 512) slot 0 + ring{{[0-9]+}}}}
  kern.async_copy "cp.async.cg.shared.global" 16 shared [%to + 1024 : i32], global [%g : i64]
  %bar = kern.arith "mad.lo.u32" mad_lo u32 (%stage, %c8, %bars) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{in object 2 [0, 8) slot 0 + ring{{[0-9]+}}}}
  kern.mbarrier_arrive "mbarrier.arrive.shared.b64" shared [%bar : i32]
  // expected-remark-re @+1 {{in object 0 [0, 512) slot 0 + ring{{[0-9]+}}}}
  %v:4 = kern.matrix_load "ldmatrix" "ldmatrix" shared "m8n8" x 4 b16 [%to : i32] {bytes = 512 : i64} -> i32, i32, i32, i32
  %next = kern.arith "add.u32" add u32 (%stage, %c1) : (i32, i32) -> i32
  %wrap = kern.compare "setp.eq.u32" eq u32 (%next, %c3) : (i32, i32) -> i1
  %stage1 = kern.select "selp.u32" b32 %wrap : i1, %c0, %next : i32, i32 -> i32
  // expected-remark @+1 {{not placed}}
  kern.store "st.shared.u32" shared u32 [%n : i32], %tid : i32
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %go = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %go, ^loop(%i1, %stage1 : i32, i32), ^done
^done:
  kern.exit
}

// -----

// In machine code of targets without clusters a number is an address: a place
// in the block's window.

kern.object external shared @window align 1024

// expected-remark @+2 {{object 0 'window' bytes [0, 256)}}
// expected-remark @+1 {{object 1 'window' bytes [1024, 1028)}}
kern.func entry visible @numbers() attributes {kern.maxntid = array<i64: 64, 1, 1>, kern.shared_window = @window} {
  %tid = kern.special "S2R" "tid.x" : i32
  %c2 = kern.constant 2 : i32
  %c1024 = kern.constant 1024 : i32
  %o = kern.arith "IMAD.SHL.U32" shl b32 (%tid, %c2) : (i32, i32) -> i32
  // expected-remark @+1 {{in object 0 [0, 256)}}
  kern.store "STS" shared b32 [%o : i32], %tid : i32
  // expected-remark @+1 {{in object 1 [0, 4)}}
  %v = kern.load "LDS" shared b32 [%c1024 : i32] -> i32
  // A number that is loaded may be any place.
  // expected-remark @+1 {{not placed}}
  %w = kern.load "LDS" shared b32 [%v : i32] -> i32
  kern.exit
}
