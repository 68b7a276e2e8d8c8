// RUN: d2k-opt %s -verify-diagnostics -split-input-file

kern.func device internal @guarded(%p: i1, %a: i32) {
  // expected-error @+1 {{is guarded and has 1 results but 0 old values}}
  %0 = kern.arith "add" add s32 (%a, %a) if %p : (i32, i32) -> i32
  kern.return
}

// -----

kern.func device internal @old_type(%p: i1, %a: i32, %b: i64) {
  // expected-error @+1 {{has an old value of type 'i64' for a result of type 'i32'}}
  %0 = kern.arith "add" add s32 (%a, %a) if %p else (%b : i64) : (i32, i32) -> i32
  kern.return
}

// -----

// expected-error @+1 {{has alignment 12, which is not a power of two}}
kern.object internal shared @s size 16 align 12

// -----

// expected-error @+1 {{has no size and is not external}}
kern.object internal shared @s align 16

// -----

kern.func device internal @address() {
  // expected-error @+1 {{takes the address of @nothing, which is no memory object or function}}
  %0 = kern.address_of @nothing : i64
  kern.return
}

// -----

kern.func device internal @callee(%a: i32) -> i32 {
  kern.return %a : i32
}
kern.func device internal @caller(%a: i32) {
  // expected-error @+1 {{calls @callee with 0 arguments instead of 1}}
  %0 = kern.call "call" @callee () : () -> i32
  kern.return
}

// -----

kern.func device internal @copy(%s: i32, %g: i64) {
  // expected-error @+1 {{completes by mbarrier but has no barrier}}
  kern.bulk_copy "cp.async.bulk" copy global to shared mbarrier dst [%s : i32] src [%g : i64] size %s : i32
  kern.return
}

// -----

kern.func device internal @wgmma(%d: i64, %a: i32) {
  // expected-error @+1 {{has 2 accumulator inputs but 1 results}}
  %0 = kern.async_mma "wgmma" 64 x 8 x 16 (bf16 descriptor %d) (bf16 %d) (f32 %a, %a) : (i64), (i64), (i32, i32) -> i32
  kern.return
}

// -----

// expected-error @+1 {{attribute 'kern.maxntid' must be three numbers array<i64: x, y, z>}}
kern.func entry visible @k() attributes {kern.maxntid = 256 : i64} {
  kern.exit
}

// -----

// expected-error @+1 {{is an entry and cannot return values}}
kern.func entry visible @k() -> i32
