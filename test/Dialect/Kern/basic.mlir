// RUN: d2k-opt %s | d2k-opt | FileCheck %s
// RUN: d2k-opt %s --mlir-print-op-generic | d2k-opt | FileCheck %s

// One operation of each kind, printed and parsed again.

module attributes {kern.isa = "ptx", kern.target = "sm_90a"} {
// CHECK: kern.object internal shared @tile size 4096 align 16 of b8
kern.object internal shared @tile size 4096 align 16 of b8 {scope = @f, source_name = "tile"}
// CHECK: kern.object external shared @dynamic align 1024
kern.object external shared @dynamic align 1024

// CHECK-LABEL: kern.func entry visible @f(%{{.*}}: i64 {kern.name = "x", kern.size = 8 : i64})
// CHECK-SAME: kern.maxntid = array<i64: 256, 1, 1>
kern.func entry visible @f(%x: i64 {kern.name = "x", kern.size = 8 : i64})
    attributes {kern.maxntid = array<i64: 256, 1, 1>} {
  // CHECK: %[[P:.*]] = kern.load "ld.param.u64" param u64 [%{{.*}} : i64] -> i64
  %p = kern.load "ld.param.u64" param u64 [%x : i64] -> i64
  // CHECK: %[[C:.*]] = kern.constant 7 : i32
  %c = kern.constant 7 : i32
  // CHECK: kern.special "mov.u32" "tid.x" : i32
  %tid = kern.special "mov.u32" "tid.x" : i32
  // CHECK: kern.compare "setp.lt.u32" lt u32 (%{{.*}}, %[[C]]) : (i32, i32) -> i1
  %in = kern.compare "setp.lt.u32" lt u32(%tid, %c) : (i32, i32) -> i1
  // CHECK: %[[V:.*]]:4 = kern.load "ld.global.v4.f32" global f32 [%[[P]] + 16 : i64] if not %{{.*}} else (%[[C]], %[[C]], %[[C]], %[[C]] : i32, i32, i32, i32) {nonCoherent} -> i32, i32, i32, i32
  %v:4 = kern.load "ld.global.v4.f32" global f32 [%p + 16 : i64] if not %in else (%c, %c, %c, %c : i32, i32, i32, i32) {nonCoherent} -> i32, i32, i32, i32
  // CHECK: kern.arith "fma.rn.f32" fma f32 (%[[V]]#0, %[[V]]#1, %[[V]]#2) {rounding = #kern<rounding rn>} : (i32, i32, i32) -> i32
  %d = kern.arith "fma.rn.f32" fma f32(%v#0, %v#1, %v#2) {rounding = #kern<rounding rn>} : (i32, i32, i32) -> i32
  // CHECK: kern.store "st.global.f32" global f32 [%[[P]] : i64], %{{.*}} : i32
  kern.store "st.global.f32" global f32 [%p : i64], %d : i32
  // CHECK: kern.address_of @tile : i32
  %s = kern.address_of @tile : i32
  // CHECK: kern.async_copy "cp.async.cg.shared.global" 16 shared [%{{.*}} + 32 : i32], global [%[[P]] : i64] if %{{.*}} {cache = #kern<cache cg>}
  kern.async_copy "cp.async.cg.shared.global" 16 shared [%s + 32 : i32], global [%p : i64] if %in {cache = #kern<cache cg>}
  // CHECK: kern.async_commit "cp.async.commit_group" cp_async_group
  kern.async_commit "cp.async.commit_group" cp_async_group
  // CHECK: kern.async_wait "cp.async.wait_group" cp_async_group pending 1
  kern.async_wait "cp.async.wait_group" cp_async_group pending 1
  // CHECK: kern.bulk_copy "cp.async.bulk.tensor.2d" copy global to shared mbarrier tensor 2 d dst [%{{.*}} : i32] src [%[[P]] : i64] at (%[[C]], %[[C]] : i32, i32) barrier [%{{.*}} + 8 : i32]
  kern.bulk_copy "cp.async.bulk.tensor.2d" copy global to shared mbarrier tensor 2 d dst [%s : i32] src [%p : i64] at (%c, %c : i32, i32) barrier [%s + 8 : i32]
  // CHECK: kern.mma "mma" mma_sync 16 x 8 x 16 f32 ( bf16 %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) ( bf16 %{{.*}}, %{{.*}}) ( f32 %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i32, i32), (i32, i32), (i32, i32, i32, i32) -> i32, i32, i32, i32
  %m:4 = kern.mma "mma" mma_sync 16 x 8 x 16 f32 (bf16 %c, %c, %c, %c) (bf16 %c, %c) (f32 %c, %c, %c, %c) : (i32, i32, i32, i32), (i32, i32), (i32, i32, i32, i32) -> i32, i32, i32, i32
  // CHECK: kern.mbarrier_wait "mbarrier.try_wait.parity" try parity [%{{.*}} : i32], %[[C]] : i32
  %done = kern.mbarrier_wait "mbarrier.try_wait.parity" try parity [%s : i32], %c : i32
  // CHECK: kern.barrier "bar.sync" sync %[[C]] : i32
  kern.barrier "bar.sync" sync %c : i32
  // CHECK: %[[S:.*]] = kern.convergence "BSSY" "open" () : () -> i32
  %set = kern.convergence "BSSY" "open" () : () -> i32
  // CHECK: kern.convergence "BSYNC" "close" (%[[S]]) : (i32) -> ()
  kern.convergence "BSYNC" "close" (%set) : (i32) -> ()
  // CHECK: kern.no_effect "YIELD"
  kern.no_effect "YIELD"
  // CHECK: kern.set_max_registers "USETMAXREG.TRY_ALLOC" inc 232 : i1
  %enough = kern.set_max_registers "USETMAXREG.TRY_ALLOC" inc 232 : i1
  // CHECK: kern.set_max_registers "setmaxnreg.dec" dec 40{{$}}
  kern.set_max_registers "setmaxnreg.dec" dec 40
  // CHECK: kern.tmem_state "UTCATOMSWS" "reserve" cta_group 2 (%[[C]]) : (i32) -> (i32, i1)
  %unit:2 = kern.tmem_state "UTCATOMSWS" "reserve" cta_group 2 (%c) : (i32) -> (i32, i1)
  // CHECK: kern.cond_br %{{.*}}, ^bb1(%[[C]] : i32), ^bb2
  kern.cond_br %done, ^bb1(%c : i32), ^bb2
^bb1(%a: i32):
  // CHECK: kern.switch %{{.*}} : i32[^bb2, ^bb1] (
  kern.switch %a : i32 [^bb2, ^bb1] ((), (%c) : (), (i32))
^bb2:
  // CHECK: kern.opaque "frobnicate.b32"(%[[C]]) : (i32) -> i32
  %o = kern.opaque "frobnicate.b32" (%c) : (i32) -> i32
  // CHECK: kern.exit
  kern.exit
}
}
