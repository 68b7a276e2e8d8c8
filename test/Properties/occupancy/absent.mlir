// PTX does not decide occupancy: ptxas has not given out registers yet.
// RUN: d2k-opt %s --test-properties=only=occupancy -o /dev/null | FileCheck %s

// CHECK: kernel k complete
// CHECK-NOT: occupancy
module attributes {kern.isa = "ptx", kern.target = "sm_90a"} {
kern.func entry visible @k() attributes {kern.registers = 64 : i64, kern.static_shared = 1024 : i64, kern.launch_threads = 256 : i64, kern.launch_dynamic_shared = 0 : i64} {
  kern.exit
}
}
