// A disassembly alone does not say how many registers a thread has: the highest
// one that occurs is not it.
// RUN: d2k-opt %s --test-properties=only=register_count -o /dev/null | FileCheck %s

// CHECK-LABEL: kernel unknown complete
// CHECK-NEXT: undecided register_count: the machine code does not say how many registers a thread has (the cubin, instead of its disassembly)
module attributes {kern.isa = "sass", kern.target = "sm_90a"} {
kern.func entry visible @unknown() {
  kern.exit
}
}
