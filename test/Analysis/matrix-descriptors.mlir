// RUN: d2k-opt %s --test-matrix-descriptors -split-input-file -verify-diagnostics -o /dev/null

// Rows of 128 bytes in the 128-byte swizzle: 8 rows are 1024 bytes, offsets are
// in units of 16. Put together by shifts and ors, then moved along K by 32
// bytes.

kern.object external shared @s align 1024

kern.func entry visible @ors(%pb: i64 {kern.name = "b", kern.size = 8 : i64}) attributes {kern.maxntid = array<i64: 128, 1, 1>} {
  %f = kern.constant 0 : i32
  %s = kern.address_of @s : i32
  %m = kern.constant 262143 : i32
  %c4 = kern.constant 4 : i32
  %c2 = kern.constant 2 : i64
  %lead = kern.constant 65536 : i64
  %stride = kern.constant 274877906944 : i64
  %mode = kern.constant 4611686018427387904 : i64
  %a18 = kern.arith "and.b32" and b32 (%s, %m) : (i32, i32) -> i32
  %a16 = kern.arith "shr.u32" shr u32 (%a18, %c4) : (i32, i32) -> i32
  %w = kern.convert "cvt.u64.u32" u32 to u64 (%a16) : (i32) -> i64
  %d0 = kern.arith "or.b64" or b64 (%w, %lead) : (i64, i64) -> i64
  %d1 = kern.arith "or.b64" or b64 (%d0, %stride) : (i64, i64) -> i64
  %d = kern.arith "or.b64" or b64 (%d1, %mode) : (i64, i64) -> i64
  %e = kern.arith "add.s64" add s64 (%d, %c2) : (i64, i64) -> i64
  // Both operands.
  // expected-remark @+1 {{leading 16 stride 1024 swizzle 128}}
  %accd:4 = kern.async_mma "wgmma.mma_async" 64 x 8 x 16 (bf16 descriptor %d) (bf16 %e) (f32 %f, %f, %f, %f) : (i64), (i64), (i32, i32, i32, i32) -> i32, i32, i32, i32
  kern.exit
}

// -----

// As two halves: 0x40000040 is the 128-byte swizzle, 0x80000040 the one of 64.

kern.object external shared @s align 1024

kern.func entry visible @halves(%pb: i64 {kern.name = "b", kern.size = 8 : i64}) attributes {kern.maxntid = array<i64: 128, 1, 1>} {
  %f = kern.constant 0 : i32
  %s = kern.address_of @s : i32
  %c4 = kern.constant 4 : i32
  %field = kern.constant 16383 : i32
  %one = kern.constant 65536 : i32
  %high = kern.constant 1073741888 : i32
  %high64 = kern.constant -2147483584 : i32
  %a16 = kern.arith "USHF.R.U32.HI" shr u32 (%s, %c4) : (i32, i32) -> i32
  %low = kern.arith "ULOP3.LUT" and b32 (%a16, %field) : (i32, i32) -> i32
  %lead = kern.arith "UIADD3" add u32 (%low, %one) : (i32, i32) -> i32
  %d = kern.pack "HGMMA" (%lead, %high) : (i32, i32) -> i64
  %e = kern.pack "HGMMA" (%lead, %high64) : (i32, i32) -> i64
  // expected-remark @+2 {{leading 16 stride 1024 swizzle 128}}
  // expected-remark @+1 {{leading 16 stride 1024 swizzle 64}}
  %accd:4 = kern.async_mma "wgmma.mma_async" 64 x 8 x 16 (bf16 descriptor %d) (bf16 %e) (f32 %f, %f, %f, %f) : (i64), (i64), (i32, i32, i32, i32) -> i32, i32, i32, i32
  kern.exit
}

// -----

// The host's word says nothing; without a mode nothing is permuted.

kern.object external shared @s align 1024

kern.func entry visible @unknown(%pb: i64 {kern.name = "b", kern.size = 8 : i64}) attributes {kern.maxntid = array<i64: 128, 1, 1>} {
  %f = kern.constant 0 : i32
  %s = kern.address_of @s : i32
  %d = kern.load "ld.param.u64" param u64 [%pb : i64] -> i64
  %c4 = kern.constant 4 : i32
  %a16 = kern.arith "shr.u32" shr u32 (%s, %c4) : (i32, i32) -> i32
  %w = kern.convert "cvt.u64.u32" u32 to u64 (%a16) : (i32) -> i64
  // expected-remark @+2 {{descriptor unknown}}
  // expected-remark @+1 {{leading 0 stride 0 swizzle 0}}
  %accd:4 = kern.async_mma "wgmma.mma_async" 64 x 8 x 16 (bf16 descriptor %d) (bf16 %w) (f32 %f, %f, %f, %f) : (i64), (i64), (i32, i32, i32, i32) -> i32, i32, i32, i32
  kern.exit
}
