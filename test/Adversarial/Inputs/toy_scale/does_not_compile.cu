// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: does not compile
// verdict: compile_error

#include "d2k_toy_scale.h"

int x = nowhere;
