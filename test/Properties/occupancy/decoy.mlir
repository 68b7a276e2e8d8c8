// What looks like a known occupancy and is not: a launch that is not known whole,
// a disassembly without the cubin, a target whose SM is not described.
// RUN: d2k-opt %s --split-input-file --test-properties=only=occupancy -o /dev/null | FileCheck %s

module attributes {kern.isa = "sass", kern.target = "sm_90a"} {
// Launch bounds are a limit, not the block's size: 168 x 32 = 5376 registers a
// warp, 3 of them in a quarter.
// CHECK-LABEL: kernel f_bounds
// CHECK-NEXT: undecided occupancy: the block's size and dynamic shared memory of the launch are not known; its 168 registers a thread allow at most 12 of 64 warps (the launch's configuration, from host code or a profile)
kern.func entry visible @f_bounds() attributes {kern.maxntid = array<i64: 384, 1, 1>, kern.registers = 168 : i64, kern.static_shared = 0 : i64} {
  kern.exit
}
// CHECK-LABEL: kernel g_dynamic
// CHECK-NEXT: undecided occupancy: the dynamic shared memory of the launch is not known; its 32 registers a thread allow all 64 warps
kern.func entry visible @g_dynamic() attributes {kern.reqntid = array<i64: 128, 1, 1>, kern.registers = 32 : i64, kern.static_shared = 0 : i64} {
  kern.exit
}
// 40 x 32 = 1280 registers a warp, 12 of them in a quarter: fewer than 64 warps,
// and more than the 32 blocks that an SM holds.
// CHECK-LABEL: kernel g_some
// CHECK-NEXT: undecided occupancy: the block's size and dynamic shared memory of the launch are not known; its 40 registers a thread allow at most 48 of 64 warps
kern.func entry visible @g_some() attributes {kern.registers = 40 : i64, kern.static_shared = 0 : i64} {
  kern.exit
}
// CHECK-LABEL: kernel h_disassembly
// CHECK-NEXT: undecided occupancy: the machine code does not say how many registers and how much shared memory the kernel has
kern.func entry visible @h_disassembly() attributes {kern.launch_threads = 128 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
}

// -----

module attributes {kern.isa = "sass", kern.target = "sm_75"} {
// CHECK-LABEL: kernel old
// CHECK-NEXT: undecided occupancy: the limits of an SM of sm_75 are not known
kern.func entry visible @old() attributes {kern.registers = 40 : i64, kern.static_shared = 0 : i64, kern.launch_threads = 512 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
}
