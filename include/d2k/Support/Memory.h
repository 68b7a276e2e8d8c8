// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the process uses the heap.

#ifndef D2K_SUPPORT_MEMORY_H
#define D2K_SUPPORT_MEMORY_H

namespace d2k {

/// Has the allocator keep what is freed, and large blocks on the heap: for
/// programs that run for seconds and build and drop the IR of one kernel after
/// the other. The system clears each page that it hands out again, which takes
/// up to 3 % of a run. Only with glibc (mallopt(3)); nothing elsewhere.
void keepFreedMemory();

} // namespace d2k

#endif // D2K_SUPPORT_MEMORY_H
