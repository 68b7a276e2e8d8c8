// Resident blocks, worked out by hand from the limits of an SM: sm_90 has 64
// warps, 32 blocks, 65536 registers in four quarters and 228 KiB of shared
// memory, of which each block takes 1 KiB more than it asks for; sm_89 has 48
// warps and 100 KiB.
// RUN: d2k-opt %s --split-input-file --test-properties=only=occupancy -o /dev/null | FileCheck %s

module attributes {kern.isa = "sass", kern.target = "sm_90a"} {
// A warp takes 64 x 32 = 2048 registers, a quarter has room for 8 warps: 32
// warps, 4 blocks of 8.
// CHECK-LABEL: kernel a_registers
// CHECK-NEXT: fact occupancy blocks=4 limiter=registers registers=64 shared_bytes=1024
kern.func entry visible @a_registers() attributes {kern.registers = 64 : i64, kern.static_shared = 1024 : i64, kern.launch_threads = 256 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
// 100 KiB + 100 KiB + 2 KiB fit into 228 KiB, three times do not.
// CHECK-LABEL: kernel b_shared
// CHECK-NEXT: fact occupancy blocks=2 limiter=shared registers=32 shared_bytes=102400
kern.func entry visible @b_shared() attributes {kern.registers = 32 : i64, kern.static_shared = 2400 : i64, kern.launch_threads = 128 : i64, kern.launch_dynamic_shared = 100000 : i64} {
  kern.exit
}
// 16 warps a block, 64 an SM. What is required of the launch is its size.
// CHECK-LABEL: kernel c_threads
// CHECK-NEXT: fact occupancy blocks=4 limiter=threads registers=24 shared_bytes=0
kern.func entry visible @c_threads() attributes {kern.reqntid = array<i64: 16, 32, 1>, kern.registers = 24 : i64, kern.static_shared = 0 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
// CHECK-LABEL: kernel d_blocks
// CHECK-NEXT: fact occupancy blocks=32 limiter=blocks registers=24 shared_bytes=0
kern.func entry visible @d_blocks() attributes {kern.registers = 24 : i64, kern.static_shared = 0 : i64, kern.launch_threads = 32 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
// 255 registers are 8192 a warp: 2 warps in a quarter, 8 in an SM; 9 do not
// fit, so that no block does.
// CHECK-LABEL: kernel e_none
// CHECK-NEXT: fact occupancy blocks=0 limiter=registers registers=255 shared_bytes=0
kern.func entry visible @e_none() attributes {kern.registers = 255 : i64, kern.static_shared = 0 : i64, kern.launch_threads = 288 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
}

// -----

module attributes {kern.isa = "sass", kern.target = "sm_89"} {
// 48 warps, 3 blocks of 16.
// CHECK-LABEL: kernel ada
// CHECK-NEXT: fact occupancy blocks=3 limiter=threads registers=32 shared_bytes=0
kern.func entry visible @ada() attributes {kern.registers = 32 : i64, kern.static_shared = 0 : i64, kern.launch_threads = 512 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
}
