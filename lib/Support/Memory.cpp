// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Support/Memory.h"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void d2k::keepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kNever = 1 << 30;
  mallopt(M_TRIM_THRESHOLD, kNever);
  mallopt(M_MMAP_THRESHOLD, kNever);
#endif
}
