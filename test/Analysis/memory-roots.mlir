// RUN: d2k-opt %s --test-memory-roots -split-input-file -verify-diagnostics -o /dev/null

kern.object internal shared @tile size 4096 align 1024 of b8
kern.object external shared @dynamic align 1024

kern.func entry visible @roots(%x: i64 {kern.name = "x", kern.size = 8 : i64}, %k: i64 {kern.name = "k", kern.size = 8 : i64}) {
  %p = kern.load "ld.param.u64" param u64 [%x : i64] -> i64
  %n = kern.load "ld.param.u64" param u64 [%k : i64] -> i64
  %g = kern.space_cast "cvta.to.global.u64" generic to global %p : i64 -> i64
  %c4 = kern.constant 4 : i32
  %c15 = kern.constant 15 : i32
  %lane = kern.special "mov.u32" "laneid" : i32

  // A number added to a pointer leaves the pointer's root, though the number
  // comes from a parameter too.
  %at = kern.arith "add.s64" add s64 (%g, %n) : (i64, i64) -> i64
  // expected-remark @+1 {{read global of the pointer in parameter 0 object 0}}
  %v = kern.load "ld.global.b32" global b32 [%at : i64] -> i32

  // 16 bytes for each of 32 lanes.
  %s = kern.address_of @tile : i32
  %o = kern.arith "shl.b32" shl b32 (%lane, %c4) : (i32, i32) -> i32
  %a = kern.arith "add.u32" add u32 (%s, %o) : (i32, i32) -> i32
  // expected-remark @+1 {{write shared of 'tile' bytes [0, 500) object 1}}
  kern.store "st.shared.b32" shared b32 [%a : i32], %v : i32
  // Another part of the symbol is another object.
  // expected-remark @+1 {{read shared of 'tile' bytes [2048, 2548) object 3}}
  %w = kern.load "ld.shared.v4.b32" shared b32 [%a + 2048 : i32] -> i32
  // An exclusive-or of the chunk stays within the chunks.
  %y = kern.arith "xor.b32" xor b32 (%a, %c15) : (i32, i32) -> i32
  // expected-remark @+1 {{read shared of 'tile' bytes [1009, 1539) object 2}}
  %u = kern.load "ld.shared.b32" shared b32 [%y + 1024 : i32] -> i32

  // An address without a root is unknown.
  // expected-remark @+1 {{read shared of unknown}}
  %z = kern.load "ld.shared.b32" shared b32 [%c15 : i32] -> i32
  kern.exit
}

// -----

kern.object external shared @dynamic align 1024

// The base is aligned up; a descriptor is shifted and given its high fields.
kern.func entry visible @descriptor(%x: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %c1023 = kern.constant 1023 : i32
  %mask = kern.constant -1024 : i32
  %field = kern.constant 262143 : i32
  %c4 = kern.constant 4 : i32
  %high = kern.constant 4611686293305294848 : i64
  %c0 = kern.constant 0 : i32
  %s = kern.address_of @dynamic : i32
  %up = kern.arith "add.u32" add u32 (%s, %c1023) : (i32, i32) -> i32
  %base = kern.arith "and.b32" and b32 (%up, %mask) : (i32, i32) -> i32
  // expected-remark @+1 {{write shared of 'dynamic' bytes [0, 1027) object 0}}
  kern.store "st.shared.b32" shared b32 [%base : i32], %c0 : i32
  %low = kern.arith "and.b32" and b32 (%base, %field) : (i32, i32) -> i32
  %unit = kern.arith "shr.u32" shr u32 (%low, %c4) : (i32, i32) -> i32
  %wide = kern.convert "cvt.u64.u32" u32 to u64 (%unit) : (i32) -> i64
  %desc = kern.arith "or.b64" or b64 (%wide, %high) : (i64, i64) -> i64
  // Both descriptors; one expectation takes equal remarks.
  // expected-remark @+1 {{read shared of 'dynamic' object 0}}
  %d = kern.async_mma "wgmma.mma_async" 64 x 8 x 16 (bf16 descriptor %desc) (bf16 %desc) (f32 %c0) : (i64), (i64), (i32) -> i32
  kern.exit
}

// -----

kern.object external shared @dynamic align 1024

// The field is made in 16 bits, as in a C bit-field, and packed with zeros: an
// address shifted right by 4 fits. One that is not shifted does not.
kern.func entry visible @bit_field(%x: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %c8192 = kern.constant 8192 : i32
  %c4 = kern.constant 4 : i32
  %field = kern.constant 16383 : i16
  %none = kern.constant 0 : i16
  %c0 = kern.constant 0 : i32
  %high = kern.constant 1073741888 : i32
  %s = kern.address_of @dynamic : i32
  %a = kern.arith "add.u32" add u32 (%s, %c8192) : (i32, i32) -> i32
  // expected-remark @+1 {{write shared of 'dynamic' bytes [8192, 8196) object 0}}
  kern.store "st.shared.b32" shared b32 [%a : i32], %c0 : i32
  %unit = kern.arith "shr.u32" shr u32 (%a, %c4) : (i32, i32) -> i32
  %short = kern.convert "cvt.u16.u32" u32 to u16 (%unit) : (i32) -> i16
  %kept = kern.arith "and.b16" and b16 (%short, %field) : (i16, i16) -> i16
  %low = kern.pack "mov.b32" (%kept, %none) : (i16, i16) -> i32
  %desc = kern.pack "mov.b64" (%low, %high) : (i32, i32) -> i64
  // expected-remark @+1 {{read shared of 'dynamic' object 0}}
  %d = kern.async_mma "wgmma.mma_async" 64 x 8 x 16 (bf16 descriptor %desc) (bf16 %desc) (f32 %c0) : (i64), (i64), (i32) -> i32
  %cut = kern.convert "cvt.u16.u32" u32 to u16 (%a) : (i32) -> i16
  %other = kern.pack "mov.b32" (%cut, %none) : (i16, i16) -> i32
  // expected-remark @+1 {{write shared of unknown}}
  kern.store "st.shared.b32" shared b32 [%other : i32], %c0 : i32
  kern.exit
}

// -----

kern.object internal shared @slot size 4 align 4 of b32

// The address of tensor memory comes from where the allocation wrote it.
kern.func entry visible @tensor_memory(%x: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %c64 = kern.constant 64 : i32
  %s = kern.address_of @slot : i32
  // expected-remark @+1 {{write shared of 'slot' bytes [0, 4) object 0}}
  kern.tmem_alloc "tcgen05.alloc" cta_group 1 [%s : i32], %c64 : i32
  // expected-remark @+1 {{read shared of 'slot' bytes [0, 4) object 0}}
  %t = kern.load "ld.shared.b32" shared b32 [%s : i32] -> i32
  %column = kern.arith "add.u32" add u32 (%t, %c64) : (i32, i32) -> i32
  // expected-remark @+1 {{read tensor_memory of tensor memory object 1}}
  %v = kern.tmem_load "tcgen05.ld" "32x32b" x 1 [%column : i32] -> i32
  kern.exit
}

// -----

kern.object external shared @window align 1024

// In machine code a number is an address in shared memory: a place in the
// block's window. Its offsets are those from the address of the window.
kern.func entry visible @numbers() attributes {kern.shared_window = @window} {
  %c4 = kern.constant 4 : i32
  %lane = kern.special "S2R" "laneid" : i32
  %o = kern.arith "SHF.L.U32" shl b32 (%lane, %c4) : (i32, i32) -> i32
  // expected-remark @+1 {{write shared of 'window' bytes [16, 516) object 0}}
  kern.store "STS" shared b32 [%o + 16 : i32], %lane : i32
  %w = kern.address_of @window : i32
  // expected-remark @+1 {{read shared of 'window' bytes [1024, 1028) object 1}}
  %v = kern.load "LDS" shared b32 [%w + 1024 : i32] -> i32
  // A number is no address in other spaces.
  // expected-remark @+1 {{read local of unknown}}
  %u = kern.load "LDL" local b32 [%o : i32] -> i32
  kern.exit
}

// -----

// Reserved tensor memory is the root of its address.
kern.func entry visible @reserved() {
  %c5 = kern.constant 5 : i32
  %r:2 = kern.tmem_state "UTCATOMSWS.FIND_AND_SET.ALIGN" "reserve" cta_group 1 (%c5) : (i32) -> (i32, i1)
  %t = kern.arith "USHF.L.U32" shl b32 (%r#0, %c5) : (i32, i32) -> i32
  // expected-remark @+1 {{read tensor_memory of tensor memory object 0}}
  %v = kern.tmem_load "LDTM" "32x32b" x 1 [%t : i32] -> i32
  kern.exit
}
