// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which accesses may touch the same memory as another one, as precisely as is
// known.

#ifndef D2K_LIB_ANALYSIS_NEIGHBOURS_H
#define D2K_LIB_ANALYSIS_NEIGHBOURS_H

#include "d2k/Analysis/SharedObjects.h"

namespace d2k::analysis {

/// The accesses that may touch the memory of `access`, itself included: those
/// of its shared object, or of its memory objects where that is not known. A
/// list for each object; the same object has the same list.
inline llvm::SmallVector<llvm::ArrayRef<uint32_t>, 2>
getNeighbourLists(const MemoryRoots &memory, const SharedObjects &shared,
                  uint32_t access) {
  const AccessInfo &info = memory.getAccesses()[access];
  SharedObjectId object = shared.getPlace(access).object;
  if (object != kNone && info.roots.size() == 1 &&
      shared.isWhole(info.roots[0]))
    return {shared.getAccessesTo(object)};
  llvm::SmallVector<llvm::ArrayRef<uint32_t>, 2> result;
  for (ObjectId near : memory.getObjectsOf(access))
    result.push_back(memory.getAccessesTo(near));
  return result;
}

/// The same in one list.
inline llvm::SmallVector<uint32_t, 8> getNeighbours(const MemoryRoots &memory,
                                                    const SharedObjects &shared,
                                                    uint32_t access) {
  llvm::SmallVector<uint32_t, 8> result;
  for (llvm::ArrayRef<uint32_t> list :
       getNeighbourLists(memory, shared, access))
    llvm::append_range(result, list);
  return result;
}

} // namespace d2k::analysis

#endif // D2K_LIB_ANALYSIS_NEIGHBOURS_H
