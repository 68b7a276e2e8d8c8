// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Frontend/CUDA/KernelName.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Demangle/Demangle.h"

using namespace d2k::cuda;

/// The demangled name without what compilers spell differently.
static std::string normalizeName(const std::string &mangled) {
  std::string name = llvm::demangle(mangled);
  // nvcc: _NV_ANON_NAMESPACE or a name with a hash of the file's path, which
  // demanglers print as "(anonymous namespace)" or as it stands.
  std::string result;
  for (size_t i = 0; i < name.size();) {
    static constexpr llvm::StringRef kHashed[] = {"_GLOBAL__N__", "_INTERNAL_"};
    bool replaced = false;
    for (llvm::StringRef prefix : kHashed)
      if (llvm::StringRef(name).substr(i).starts_with(prefix)) {
        size_t end = name.find("::", i);
        if (end == std::string::npos)
          break;
        result += "(anonymous namespace)";
        i = end;
        replaced = true;
        break;
      }
    if (!replaced)
      result += name[i++];
  }
  // nvcc wraps what it finds in an unnamed namespace once more.
  static constexpr llvm::StringRef kTwice =
      "(anonymous namespace)::(anonymous namespace)::";
  for (size_t at; (at = result.find(kTwice)) != std::string::npos;)
    result.erase(at, strlen("(anonymous namespace)::"));
  return result;
}

bool d2k::cuda::isSameKernelName(const std::string &mangledA,
                                 const std::string &mangledB) {
  return mangledA == mangledB ||
         normalizeName(mangledA) == normalizeName(mangledB);
}
