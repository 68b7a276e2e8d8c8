// The author's limit and a figure beside PTX are no machine code.
// RUN: d2k-opt %s --test-properties=only=register_count -o /dev/null | FileCheck %s

// CHECK-LABEL: kernel ptx complete
// CHECK-NOT: register_count
module attributes {kern.isa = "ptx", kern.target = "sm_90a"} {
kern.func entry visible @ptx() attributes {kern.maxnreg = 168 : i64, kern.registers = 168 : i64} {
  kern.exit
}
}
