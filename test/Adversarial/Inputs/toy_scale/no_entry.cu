// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: has no entry
// verdict: compile_error

#include "d2k_toy_scale.h"

extern "C" int other() { return 0; }
