// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precompiled headers: what Clang includes before every CUDA source (its
// wrapper around the toolkit's headers, and ours) is the same for all sources
// of one toolkit, target, standard and set of macros. It is read once and kept.
// Sources that include the same headers of the toolkit and of the C++ library
// share one that holds these, too.
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
              std::string toolkit);

  /// The precompiled header, which is built when there is none. Nothing when
  /// it cannot be built or kept: then the headers are read as text.
  std::optional<std::string> get();

  /// The same with the headers of the text \p leading, lines of `#include`.
  /// Where Clang refuses these, the header without them.
  std::optional<std::string> getWith(const std::string &leading);

  /// Makes the next get() and getWith() build again: Clang refused what they
  /// returned.
  void drop();

private:
  /// What a header holds.
  struct Contents {
    /// The name in the folder, without a suffix.
    std::string key;
    /// More arguments, and the text to compile.
    std::vector<std::string> arguments;
    std::string path, leading;
  };

  std::string makeKey(const std::string &extras) const;
  Contents describe(const std::string &leading,
                    const std::optional<std::string> &parent) const;
  std::optional<std::string> find(const Contents &contents) const;
  std::optional<std::string> build(const Contents &contents) const;
  std::optional<std::string> findOrBuild(const Contents &contents);
  std::string getPointer(const Contents &contents) const;
  bool isRefused(const Contents &contents) const;
  void removeOld() const;

  std::string folder;
  std::vector<std::string> arguments;
  std::string toolkit;
  /// Pointers of what was returned.
  std::vector<std::string> used;
};

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_HEADERCACHE_H
