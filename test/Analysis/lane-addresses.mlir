// RUN: d2k-opt %s --test-lane-addresses -split-input-file -verify-diagnostics -o /dev/null

kern.object internal shared @s size 8192 align 128

kern.func entry visible @global(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %pk: i64 {kern.name = "k", kern.size = 4 : i64}) attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %k = kern.load "ld.param.u32" param u32 [%pk : i64] -> i32
  %tid = kern.special "mov.u32" "tid.x" : i32
  %c4 = kern.constant 4 : i32
  %c16 = kern.constant 16 : i32
  // A row of 32 words.
  %a = kern.arith "mad.wide.u32" mad_wide u32 (%tid, %c4, %x) : (i32, i32, i64) -> i64
  // expected-remark @+1 {{4 sectors of 4}}
  %v = kern.load "ld.global.u32" global u32 [%a : i64] -> i32
  // One word on, the last lane uses a fifth sector.
  // expected-remark @+1 {{5 sectors of 4}}
  %w = kern.load "ld.global.u32" global u32 [%a + 4 : i64] -> i32
  // A column.
  %r = kern.arith "mul.lo.u32" mul_lo u32 (%tid, %k) : (i32, i32) -> i32
  %b = kern.arith "mad.wide.u32" mad_wide u32 (%r, %c4, %x) : (i32, i32, i64) -> i64
  // expected-remark @+1 {{32 sectors of 4}}
  %y = kern.load "ld.global.u32" global u32 [%b : i64] -> i32
  // 16 bytes a lane.
  %c = kern.arith "mad.wide.u32" mad_wide u32 (%tid, %c16, %x) : (i32, i32, i64) -> i64
  // expected-remark @+1 {{16 sectors of 16}}
  %z:4 = kern.load "ld.global.v4.u32" global u32 [%c : i64] -> i32, i32, i32, i32
  // expected-remark @+1 {{1 sectors of 1 broadcast}}
  %q = kern.load "ld.global.u32" global u32 [%x : i64] -> i32
  kern.exit
}

// -----

kern.object internal shared @s size 8192 align 128

kern.func entry visible @banks() attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %tid = kern.special "mov.u32" "tid.x" : i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c2 = kern.constant 2 : i32
  %c4 = kern.constant 4 : i32
  %c8 = kern.constant 8 : i32
  %c16 = kern.constant 16 : i32
  %c64 = kern.constant 64 : i32
  %c72 = kern.constant 72 : i32
  %c128 = kern.constant 128 : i32
  %c132 = kern.constant 132 : i32
  %s = kern.address_of @s : i32
  %a = kern.arith "mad.lo.u32" mad_lo u32 (%tid, %c4, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{conflict degree 1}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %tid : i32
  %b = kern.arith "mad.lo.u32" mad_lo u32 (%tid, %c128, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{conflict degree 32}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %tid : i32
  %c = kern.arith "mad.lo.u32" mad_lo u32 (%tid, %c132, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{conflict degree 1}}
  kern.store "st.shared.u32" shared u32 [%c : i32], %tid : i32
  %q = kern.arith "shr.u32" shr u32 (%tid, %c2) : (i32, i32) -> i32
  %d = kern.arith "mad.lo.u32" mad_lo u32 (%q, %c128, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{conflict degree 8}}
  kern.store "st.shared.u32" shared u32 [%d : i32], %tid : i32
  // 8 bytes a lane, in two halves of the warp: 72 bytes are 18 banks, and 16
  // lanes start at 16 different even ones; 64 bytes are 16 banks.
  %e = kern.arith "mad.lo.u32" mad_lo u32 (%tid, %c72, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{conflict degree 1}}
  kern.store "st.shared.v2.u32" shared u32 [%e : i32], %tid, %tid : i32, i32
  %f = kern.arith "mad.lo.u32" mad_lo u32 (%tid, %c64, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{conflict degree 8}}
  kern.store "st.shared.v2.u32" shared u32 [%f : i32], %tid, %tid : i32, i32
  // Rows of ldmatrix at 64 bytes: 8 of them are in 16 banks, 4 in each.
  // expected-remark @+1 {{conflict degree 4}}
  %m:4 = kern.matrix_load "ldmatrix" "ldmatrix" shared "m8n8" x 4 b16 [%f : i32] {bytes = 512 : i64} -> i32, i32, i32, i32
  // The first 8 lanes alone.
  %low = kern.compare "setp.lt.u32" lt u32 (%tid, %c8) : (i32, i32) -> i1
  // expected-remark @+1 {{conflict degree 8}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %tid : i32 if %low
  // The chunk is exclusive-or'ed with the iteration: worked out for each.
  kern.br ^loop(%c0 : i32)
^loop(%k: i32):
  %x = kern.arith "xor.b32" xor b32 (%tid, %k) : (i32, i32) -> i32
  %g = kern.arith "mad.lo.u32" mad_lo u32 (%x, %c16, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{conflict degree 4}}
  kern.store "st.shared.u32" shared u32 [%g : i32], %tid : i32
  %k1 = kern.arith "add.u32" add u32 (%k, %c1) : (i32, i32) -> i32
  %go = kern.compare "setp.lt.u32" lt u32 (%k1, %c4) : (i32, i32) -> i1
  kern.cond_br %go, ^loop(%k1 : i32), ^done
^done:
  kern.exit
}
