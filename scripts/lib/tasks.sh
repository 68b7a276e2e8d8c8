# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# What scripts/gpu-tasks and scripts/host-tasks know of the tasks' files.

# faulty_kernels TASK: a line `SOURCE FAULT` for each kernel of the task with
# one fault. They are in test/Gpu/Inputs/<task>_faulty*.cu. A file that has
# several is compiled with -DD2K_FAULT=<n>, and says in the line
#   #error "define D2K_FAULT as 0 to <last>"
# how many; 0 has no fault. A file without that line is one faulty kernel, and
# its FAULT is `-`.
faulty_kernels() {
  local source last fault
  for source in "$D2K_ROOT/test/Gpu/Inputs/$1"_faulty*.cu; do
    [ -f "$source" ] || continue
    last=$(sed -n 's/^#error "define D2K_FAULT as 0 to \([0-9]*\)"$/\1/p' \
      "$source")
    if [ -z "$last" ]; then
      echo "$source -"
      continue
    fi
    for ((fault = 0; fault <= last; ++fault)); do
      echo "$source $fault"
    done
  done
}

# faulty_library SOURCE FAULT: the name of the library made of it, without
# folder.
faulty_library() {
  local name
  name=$(basename "$1" .cu)
  if [ "$2" = - ]; then echo "$name.so"; else echo "$name$2.so"; fi
}
