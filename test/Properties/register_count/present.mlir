// Registers are what the cubin says.
// RUN: d2k-opt %s --test-properties=only=register_count -o /dev/null | FileCheck %s

// CHECK-LABEL: kernel known complete
// CHECK-NEXT: fact register_count registers=168 main=no @ 4
module attributes {kern.isa = "sass", kern.target = "sm_90a"} {
kern.func entry visible @known() attributes {kern.registers = 168 : i64} {
  kern.exit
} loc(fused<"sass">["x.cubin":0:0, "x.cu":4:0])
}
