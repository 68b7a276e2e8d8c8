// RUN: d2k-opt %s --test-lane-forms -split-input-file -verify-diagnostics -o /dev/null

// Row t / 4 of 64 bytes, chunk (t % 4) ^ (row & 3) of 16 bytes: lanes 0 to 3
// have row 0 and chunks 0 to 3; lanes 4 to 7 row 1 (64) and chunks 1, 0, 3, 2.

kern.object internal shared @tile size 4096 align 128

kern.func entry visible @swizzle() attributes {kern.maxntid = array<i64: 64, 1, 1>} {
  %tid = kern.special "mov.u32" "tid.x" : i32
  %c0 = kern.constant 0 : i32
  %c2 = kern.constant 2 : i32
  %c3 = kern.constant 3 : i32
  %c4 = kern.constant 4 : i32
  %c6 = kern.constant 6 : i32
  %c16 = kern.constant 16 : i32
  %c32 = kern.constant 32 : i32
  %s = kern.address_of @tile : i32
  %row = kern.arith "shr.u32" shr u32 (%tid, %c2) : (i32, i32) -> i32
  %col = kern.arith "and.b32" and b32 (%tid, %c3) : (i32, i32) -> i32
  %low = kern.arith "and.b32" and b32 (%row, %c3) : (i32, i32) -> i32
  %chunk = kern.arith "xor.b32" xor b32 (%col, %low) : (i32, i32) -> i32
  %r = kern.arith "shl.b32" shl b32 (%row, %c6) : (i32, i32) -> i32
  %c = kern.arith "shl.b32" shl b32 (%chunk, %c4) : (i32, i32) -> i32
  %rc = kern.arith "or.b32" or b32 (%r, %c) : (i32, i32) -> i32
  %a = kern.arith "add.u32" add u32 (%s, %rc) : (i32, i32) -> i32
  // expected-remark @+1 {{at base0 + {0, 16, 32, 48, 80, 64, 112, 96, ...}}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %tid : i32
  // The same by lop3, whose table 120 is a ^ (b & c).
  %t = kern.constant 120 : i32
  %l3 = kern.arith "lop3.b32" lop3 b32 (%col, %row, %c3, %t) : (i32, i32, i32, i32) -> i32
  %m = kern.arith "mad.lo.u32" mad_lo u32 (%l3, %c16, %r) : (i32, i32, i32) -> i32
  %b = kern.arith "add.u32" add u32 (%m, %s) : (i32, i32) -> i32
  // expected-remark @+1 {{at base0 + {0, 16, 32, 48, 80, 64, 112, 96, ...}}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %tid : i32
  // An exclusive-or on the whole address moves within the 128 bytes that the
  // base is aligned to.
  %d = kern.arith "xor.b32" xor b32 (%a, %c32) : (i32, i32) -> i32
  // expected-remark @+1 {{at base0 + {32, 48, 0, 16, 112, 96, 80, 64, ...}}}
  kern.store "st.shared.u32" shared u32 [%d : i32], %tid : i32
  // The thread's number of the first lane is that of the warp.
  %full = kern.constant 31 : i32
  %all = kern.constant -1 : i32
  %w:1 = kern.shuffle "shfl.sync.idx.b32" idx (%tid, %c0, %full, %all) : (i32, i32, i32, i32) -> i32
  %e = kern.arith "add.u32" add u32 (%s, %w) : (i32, i32) -> i32
  // expected-remark @+1 {{at base0 + {0, 0, 0, 0, 0, 0, 0, 0, ...}}}
  kern.store "st.shared.u32" shared u32 [%e : i32], %tid : i32
  kern.exit
}

// -----

// Dynamic shared memory, aligned up to 1024: offsets start anew.

kern.object external shared @s align 16

kern.func entry visible @aligned() attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %c1023 = kern.constant 1023 : i32
  %mask = kern.constant -1024 : i32
  %c512 = kern.constant 512 : i32
  %c448 = kern.constant 448 : i32
  %x = kern.constant 0 : i32
  %s = kern.address_of @s : i32
  %u = kern.arith "add.u32" add u32 (%s, %c1023) : (i32, i32) -> i32
  %a = kern.arith "and.b32" and b32 (%u, %mask) : (i32, i32) -> i32
  %b = kern.arith "or.b32" or b32 (%a, %c512) : (i32, i32) -> i32
  // expected-remark-re @+1 {{at base{{[0-9]+}} + 512}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %x : i32
  // What a constant descriptor holds of 16384 bytes behind it: the alignment is
  // a mask on the shifted address, of which no bits above the mask are set.
  %c17407 = kern.constant 17407 : i32
  %c4 = kern.constant 4 : i32
  %field = kern.constant 16320 : i32
  %u2 = kern.arith "add.u32" add u32 (%s, %c17407) : (i32, i32) -> i32
  %v = kern.arith "shr.u32" shr u32 (%u2, %c4) : (i32, i32) -> i32
  %w = kern.arith "and.b32" and b32 (%v, %field) : (i32, i32) -> i32
  %z = kern.arith "shl.b32" shl b32 (%w, %c4) : (i32, i32) -> i32
  // expected-remark-re @+1 {{at base{{[0-9]+}} + 16384}}
  kern.store "st.shared.u32" shared u32 [%z : i32], %x : i32
  // 512 ^ 448 is 960.
  %c = kern.arith "xor.b32" xor b32 (%b, %c448) : (i32, i32) -> i32
  // expected-remark-re @+1 {{at base{{[0-9]+}} + 960}}
  kern.store "st.shared.u32" shared u32 [%c : i32], %x : i32
  kern.exit
}

// -----

// Not ring indices: a count that goes on in some iterations, through a join and
// through a chain of two. A difference that is taken from a number toggles.

kern.object external shared @s align 16

kern.func entry visible @counts(%pn: i64 {kern.name = "n", kern.size = 4 : i64}) attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c5 = kern.constant 5 : i32
  %c1024 = kern.constant 1024 : i32
  %s = kern.address_of @s : i32
  kern.br ^loop(%c0, %c0, %c0, %c5 : i32, i32, i32, i32)
^loop(%i: i32, %count: i32, %first: i32, %tog: i32):
  %a = kern.arith "mad.lo.u32" mad_lo u32 (%count, %c1024, %s) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}}1024*other{{[0-9]+}}}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %c0 : i32
  %b = kern.arith "mad.lo.u32" mad_lo u32 (%first, %c1024, %s) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}}1024*other{{[0-9]+}}}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %c0 : i32
  %c = kern.arith "mad.lo.u32" mad_lo u32 (%tog, %c1024, %s) : (i32, i32, i32) -> i32
  // 5, 2, 5, ...
  // expected-remark-re @+1 {{at {{.*}}3072*ring{{[0-9]+}} + 2048{{.*}} in 0 1{{$}}}}
  kern.store "st.shared.u32" shared u32 [%c : i32], %c0 : i32
  %c7 = kern.constant 7 : i32
  %togN = kern.arith "sub.u32" sub u32 (%c7, %tog) : (i32, i32) -> i32
  // expected-remark @+1 {{at base}}
  %data = kern.load "ld.shared.u32" shared u32 [%s : i32] -> i32
  %some = kern.compare "setp.eq.u32" eq u32 (%data, %c0) : (i32, i32) -> i1
  %more = kern.arith "add.u32" add u32 (%count, %c1) : (i32, i32) -> i32
  %next = kern.arith "add.u32" add u32 (%first, %c5) : (i32, i32) -> i32
  kern.cond_br %some, ^join(%more, %next : i32, i32), ^join(%count, %first : i32, i32)
^join(%countN: i32, %second: i32):
  %firstN = kern.arith "sub.u32" sub u32 (%second, %c1) : (i32, i32) -> i32
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %go = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %go, ^loop(%i1, %countN, %firstN, %togN : i32, i32, i32, i32), ^done
^done:
  kern.exit
}

// -----

// Ring indices: wrapped by a choice, by a toggle, by a branch, by a remainder,
// and a pair of pointers that is swapped.

kern.object external shared @s align 16

kern.func entry visible @rings(%pn: i64 {kern.name = "n", kern.size = 4 : i64}) attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c2 = kern.constant 2 : i32
  %c4 = kern.constant 4 : i32
  %c3 = kern.constant 3 : i32
  %c1024 = kern.constant 1024 : i32
  %s = kern.address_of @s : i32
  %other = kern.arith "add.u32" add u32 (%s, %c1024) : (i32, i32) -> i32
  kern.br ^loop(%c0, %c0, %c0, %c0, %s, %other : i32, i32, i32, i32, i32, i32)
^loop(%i: i32, %sel: i32, %tog: i32, %bra: i32, %p: i32, %q: i32):
  %a = kern.arith "mad.lo.u32" mad_lo u32 (%sel, %c1024, %s) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}}1024*ring{{[0-9]+}}{{.*}} in 0 1 2{{$}}}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %c0 : i32
  %b = kern.arith "mad.lo.u32" mad_lo u32 (%tog, %c1024, %s) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}}1024*ring{{[0-9]+}}{{.*}} in 0 1{{$}}}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %c0 : i32
  %c = kern.arith "mad.lo.u32" mad_lo u32 (%bra, %c1024, %s) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}}1024*ring{{[0-9]+}}{{.*}} in 0 1 2 3{{$}}}}
  kern.store "st.shared.u32" shared u32 [%c : i32], %c0 : i32
  // i / 3 is the high half of i * 0xaaaaaaab, shifted right by one.
  %magic = kern.constant -1431655765 : i32
  %h = kern.arith "mul.hi.u32" mul_hi u32 (%i, %magic) : (i32, i32) -> i32
  %third = kern.arith "shr.u32" shr u32 (%h, %c1) : (i32, i32) -> i32
  %back = kern.arith "mul.lo.u32" mul_lo u32 (%third, %c3) : (i32, i32) -> i32
  %mod = kern.arith "sub.u32" sub u32 (%i, %back) : (i32, i32) -> i32
  %d = kern.arith "mad.lo.u32" mad_lo u32 (%mod, %c1024, %s) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}}1024*ring{{[0-9]+}}{{.*}} in 0 1 2{{$}}}}
  kern.store "st.shared.u32" shared u32 [%d : i32], %c0 : i32
  // expected-remark-re @+1 {{at {{.*}}1024*ring{{[0-9]+}}{{.*}} in 0 1{{$}}}}
  kern.store "st.shared.u32" shared u32 [%p : i32], %c0 : i32
  // i * 1024 & 1024 is 1024 * (i % 2), and the other of two slots counts
  // upwards, too.
  %i1024 = kern.arith "mul.lo.u32" mul_lo u32 (%i, %c1024) : (i32, i32) -> i32
  %bit = kern.arith "and.b32" and b32 (%i1024, %c1024) : (i32, i32) -> i32
  %e = kern.arith "add.u32" add u32 (%bit, %s) : (i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}}1024*ring{{[0-9]+}}{{.*}} in 0 1{{$}}}}
  kern.store "st.shared.u32" shared u32 [%e : i32], %c0 : i32
  %f = kern.arith "sub.u32" sub u32 (%other, %bit) : (i32, i32) -> i32
  // expected-remark-re @+1 {{at {{.*}} + 1024*ring{{[0-9]+}}, ring{{[0-9]+}} in 0 1{{$}}}}
  kern.store "st.shared.u32" shared u32 [%f : i32], %c0 : i32
  %sel1 = kern.arith "add.u32" add u32 (%sel, %c1) : (i32, i32) -> i32
  %wrap = kern.compare "setp.eq.u32" eq u32 (%sel1, %c3) : (i32, i32) -> i1
  %selN = kern.select "selp.u32" b32 %wrap : i1, %c0, %sel1 : i32, i32 -> i32
  %togN = kern.arith "xor.b32" xor b32 (%tog, %c1) : (i32, i32) -> i32
  %bra1 = kern.arith "add.u32" add u32 (%bra, %c1) : (i32, i32) -> i32
  %end = kern.compare "setp.lt.u32" lt u32 (%bra1, %c4) : (i32, i32) -> i1
  kern.cond_br %end, ^join(%bra1 : i32), ^reset
^reset:
  kern.br ^join(%c0 : i32)
^join(%braN: i32):
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %go = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %go, ^loop(%i1, %selN, %togN, %braN, %q, %p : i32, i32, i32, i32, i32, i32), ^done
^done:
  kern.exit
}

// -----

// Global rows: the row's number times a parameter. Outside the matrix the
// first row is read, which lanes inside do not do.

kern.func entry visible @rows(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %pk: i64 {kern.name = "k", kern.size = 8 : i64}, %pm: i64 {kern.name = "m", kern.size = 4 : i64}) attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %k = kern.load "ld.param.u64" param u64 [%pk : i64] -> i64
  %m = kern.load "ld.param.u32" param u32 [%pm : i64] -> i32
  %tid = kern.special "mov.u32" "tid.x" : i32
  %c2 = kern.constant 2 : i32
  %c3 = kern.constant 3 : i32
  %c16 = kern.constant 16 : i64
  %row = kern.arith "shr.u32" shr u32 (%tid, %c2) : (i32, i32) -> i32
  %row64 = kern.convert "cvt.u64.u32" u32 to u64 (%row) : (i32) -> i64
  %at = kern.arith "mul.lo.u64" mul_lo u64 (%row64, %k) : (i64, i64) -> i64
  %col = kern.arith "and.b32" and b32 (%tid, %c3) : (i32, i32) -> i32
  %col64 = kern.convert "cvt.u64.u32" u32 to u64 (%col) : (i32) -> i64
  %o = kern.arith "mad.lo.u64" mad_lo u64 (%col64, %c16, %at) : (i64, i64, i64) -> i64
  %a = kern.arith "add.u64" add u64 (%x, %o) : (i64, i64) -> i64
  // expected-remark @+1 {{at base0 + {0, 0, 0, 0, 1, 1, 1, 1, ...}*base1 + {0, 16, 32, 48, 0, 16, 32, 48, ...}}}
  %v = kern.load "ld.global.u32" global u32 [%a : i64] -> i32
  %in = kern.compare "setp.lt.u32" lt u32 (%row, %m) : (i32, i32) -> i1
  %b = kern.select "selp.b64" b64 %in : i1, %a, %x : i64, i64 -> i64
  // expected-remark @+1 {{at base0 + {0, 0, 0, 0, 1, 1, 1, 1, ...}*base1 + {0, 16, 32, 48, 0, 16, 32, 48, ...} inside}}
  %w = kern.load "ld.global.u32" global u32 [%b : i64] -> i32
  // What lanes loaded is not followed.
  %v64 = kern.convert "cvt.u64.u32" u32 to u64 (%v) : (i32) -> i64
  %g = kern.arith "add.u64" add u64 (%x, %v64) : (i64, i64) -> i64
  // expected-remark @+1 {{at unknown behind kern.load}}
  %y = kern.load "ld.global.u32" global u32 [%g : i64] -> i32
  kern.exit
}

// -----

// Bits from the middle of an address that nothing aligns: no remainder of
// anything that is known.

kern.object external shared @s align 16

kern.func entry visible @middle() attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %s = kern.address_of @s : i32
  %c48 = kern.constant 48 : i32
  %c4 = kern.constant 4 : i32
  %c3 = kern.constant 3 : i32
  %tid = kern.special "mov.u32" "tid.x" : i32
  %a = kern.arith "and.b32" and b32 (%s, %c48) : (i32, i32) -> i32
  // expected-remark @+1 {{at launch}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %tid : i32
  %h = kern.arith "shr.u32" shr u32 (%s, %c4) : (i32, i32) -> i32
  %b = kern.arith "and.b32" and b32 (%h, %c3) : (i32, i32) -> i32
  %c = kern.arith "and.b32" and b32 (%h, %c48) : (i32, i32) -> i32
  %d = kern.arith "add.u32" add u32 (%b, %c) : (i32, i32) -> i32
  // expected-remark @+1 {{at launch}}
  kern.store "st.shared.u32" shared u32 [%d : i32], %tid : i32
  kern.exit
}

// -----

// A parameter of 64 bits that is no access's address may be an odd number; a
// pointer is a multiple of 16.

kern.object internal shared @two size 256 align 128

kern.func entry visible @number(%x: i64 {kern.name = "x", kern.size = 8 : i64}, %k: i64 {kern.name = "k", kern.size = 8 : i64}) attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %s = kern.address_of @two : i32
  %c1 = kern.constant 1 : i32
  %c128 = kern.constant 128 : i32
  %p = kern.load "ld.param.u64" param u64 [%x : i64] -> i64
  %n = kern.load "ld.param.u64" param u64 [%k : i64] -> i64
  // expected-remark @+1 {{at base0}}
  %v = kern.load "ld.global.u32" global u32 [%p : i64] -> i32
  %low = kern.convert "cvt.u32.u64" u64 to u32 (%n) : (i64) -> i32
  %odd = kern.arith "and.b32" and b32 (%low, %c1) : (i32, i32) -> i32
  %a = kern.arith "mad.lo.u32" mad_lo u32 (%odd, %c128, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{in 0 1}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %v : i32
  %plow = kern.convert "cvt.u32.u64" u64 to u32 (%p) : (i64) -> i32
  %none = kern.arith "and.b32" and b32 (%plow, %c1) : (i32, i32) -> i32
  %b = kern.arith "mad.lo.u32" mad_lo u32 (%none, %c128, %s) : (i32, i32, i32) -> i32
  // expected-remark @+1 {{at base3}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %v : i32
  kern.exit
}

// -----

// Where the other operands of a lop3 leave each bit of the symbol alone, it
// stays: 32 * block | (31 & tid), table 0xf8. Not so where one of them sets a
// bit that it may have, too.

kern.func entry visible @joined(%x: i64 {kern.name = "x", kern.size = 8 : i64}) attributes {kern.maxntid = array<i64: 64, 1, 1>} {
  %c2 = kern.constant 2 : i32
  %c5 = kern.constant 5 : i32
  %c31 = kern.constant 31 : i32
  %c63 = kern.constant 63 : i32
  %t = kern.constant 248 : i32
  %p = kern.load "ld.param.u64" param u64 [%x : i64] -> i64
  %tid = kern.special "mov.u32" "tid.x" : i32
  %block = kern.special "mov.u32" "ctaid.x" : i32
  %b = kern.arith "shl.b32" shl b32 (%block, %c5) : (i32, i32) -> i32
  %i = kern.arith "lop3.b32" lop3 b32 (%b, %c31, %tid, %t) : (i32, i32, i32, i32) -> i32
  %o = kern.arith "mul.wide.u32" mul_wide u32 (%i, %c2) : (i32, i32) -> i64
  %a = kern.arith "add.u64" add u64 (%p, %o) : (i64, i64) -> i64
  // expected-remark-re @+1 {{{{64\*index[0-9]+.* \{0, 2, 4, 6, 8, 10, 12, 14}}}}
  %v = kern.load "ld.global.u16" global u16 [%a : i64] -> i32
  %j = kern.arith "lop3.b32" lop3 b32 (%b, %c63, %tid, %t) : (i32, i32, i32, i32) -> i32
  %q = kern.arith "mul.wide.u32" mul_wide u32 (%j, %c2) : (i32, i32) -> i64
  %d = kern.arith "add.u64" add u64 (%p, %q) : (i64, i64) -> i64
  // expected-remark @+1 {{at unknown}}
  %w = kern.load "ld.global.u16" global u16 [%d : i64] -> i32
  kern.exit
}

// -----

// A number of steps that goes on from tile to tile is never negative: its
// remainder by 4, as compilers write that of a signed one, is a ring index. One
// that begins at what a parameter says may be negative.

kern.object internal shared @ring size 4096 align 128

kern.func entry visible @counter(%pn: i64 {kern.name = "n", kern.size = 4 : i64}, %pm: i64 {kern.name = "m", kern.size = 4 : i64}) attributes {kern.maxntid = array<i64: 32, 1, 1>} {
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %m = kern.load "ld.param.u32" param u32 [%pm : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c10 = kern.constant 10 : i32
  %c30 = kern.constant 30 : i32
  %c31 = kern.constant 31 : i32
  %down = kern.constant -4 : i32
  %ring = kern.address_of @ring : i32
  kern.br ^tiles(%c0, %c0, %m : i32, i32, i32)
^tiles(%tile: i32, %from: i32, %odd: i32):
  kern.br ^steps(%c0, %from, %odd : i32, i32, i32)
^steps(%i: i32, %count: i32, %other: i32):
  %sign = kern.arith "shr.s32" shr s32 (%count, %c31) : (i32, i32) -> i32
  %more = kern.arith "shr.u32" shr u32 (%sign, %c30) : (i32, i32) -> i32
  %up = kern.arith "add.s32" add s32 (%count, %more) : (i32, i32) -> i32
  %whole = kern.arith "and.b32" and b32 (%up, %down) : (i32, i32) -> i32
  %slot = kern.arith "sub.s32" sub s32 (%count, %whole) : (i32, i32) -> i32
  %a = kern.arith "mad.lo.u32" mad_lo u32 (%slot, %c10, %ring) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{{{10\*ring[0-9]+.* in 0 1 2 3}}}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %i : i32
  %sign2 = kern.arith "shr.s32" shr s32 (%other, %c31) : (i32, i32) -> i32
  %more2 = kern.arith "shr.u32" shr u32 (%sign2, %c30) : (i32, i32) -> i32
  %up2 = kern.arith "add.s32" add s32 (%other, %more2) : (i32, i32) -> i32
  %whole2 = kern.arith "and.b32" and b32 (%up2, %down) : (i32, i32) -> i32
  %slot2 = kern.arith "sub.s32" sub s32 (%other, %whole2) : (i32, i32) -> i32
  %b = kern.arith "mad.lo.u32" mad_lo u32 (%slot2, %c10, %ring) : (i32, i32, i32) -> i32
  // expected-remark-re @+1 {{{{at .*other}}}}
  kern.store "st.shared.u32" shared u32 [%b : i32], %i : i32
  %next = kern.arith "add.s32" add s32 (%i, %c1) : (i32, i32) -> i32
  %counted = kern.arith "add.s32" add s32 (%count, %c1) : (i32, i32) -> i32
  %counted2 = kern.arith "add.s32" add s32 (%other, %c1) : (i32, i32) -> i32
  %again = kern.compare "setp.lt.s32" lt s32 (%next, %n) : (i32, i32) -> i1
  kern.cond_br %again, ^steps(%next, %counted, %counted2 : i32, i32, i32), ^done
^done:
  %following = kern.arith "add.s32" add s32 (%tile, %c1) : (i32, i32) -> i32
  %tiles = kern.compare "setp.lt.s32" lt s32 (%following, %m) : (i32, i32) -> i1
  kern.cond_br %tiles, ^tiles(%following, %counted, %counted2 : i32, i32, i32), ^end
^end:
  kern.exit
}
