// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precompiled headers: what Clang includes before every CUDA source (its
// wrapper around the toolkit's headers, and ours) is the same for all sources
// of one toolkit, target, standard and set of macros. It is read once and kept.
//
// A header is kept under a digest of everything that it depends on, and is
// found through a small file that names it by its own digest: that file appears
// at once, so that several runs may build and use headers at the same time. One
// that is damaged, or older than the files it was made of, is built again.

#ifndef D2K_LIB_FRONTEND_CUDA_HEADERCACHE_H
#define D2K_LIB_FRONTEND_CUDA_HEADERCACHE_H

#include <optional>
#include <string>
#include <vector>

namespace d2k::cuda {

class HeaderCache {
public:
  /// Headers in \p folder, which is created when it is first needed, for Clang
  /// called with \p arguments and the toolkit in \p toolkit.
  HeaderCache(std::string folder, std::vector<std::string> arguments,
              const std::string &toolkit);

  /// The precompiled header, which is built when there is none. Nothing when
  /// it cannot be built or kept: then the headers are read as text.
  std::optional<std::string> get();

  /// Makes the next get() build again: Clang refused what it returned.
  void drop();

private:
  std::optional<std::string> find() const;
  std::optional<std::string> build() const;
  void removeOld() const;
  std::string getPointer() const;

  std::string folder;
  std::vector<std::string> arguments;
  std::string toolkit;
  std::string key;
};

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_HEADERCACHE_H
