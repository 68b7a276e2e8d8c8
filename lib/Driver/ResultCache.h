// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of reading one tier of one input, kept on disk by content: the key is
// a digest of the bytes that were read, of everything else that the result
// depends on, and of the program itself. Entries are JSON files that may be
// deleted at any time; one that is damaged counts as missing.

#ifndef D2K_LIB_DRIVER_RESULTCACHE_H
#define D2K_LIB_DRIVER_RESULTCACHE_H

#include "d2k/Fact/Fact.h"
#include "d2k/Support/Failure.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k {

/// What reading one tier of one input gives.
struct TierResult {
  /// "sm_90a"
  std::string target;
  /// The disassembler and its version; empty for PTX.
  std::string tool;
  /// What the front end did not know, one an entry.
  std::vector<std::string> remarks;
  std::vector<KernelFacts> kernels;
};

class ResultCache {
public:
  /// A cache in \p folder, which is created when it is first needed; without
  /// one nothing is kept.
  explicit ResultCache(std::optional<std::string> folder)
      : folder(std::move(folder)) {}

  bool isEnabled() const { return folder.has_value(); }

  /// The key of a result that depends on \p parts and on this program.
  static std::string makeKey(std::initializer_list<std::string_view> parts);

  /// The result kept under \p key.
  std::optional<TierResult> find(const std::string &key) const;

  /// Keeps \p result under \p key. Fails with kind Environment when the folder
  /// cannot be written.
  Result<void> add(const std::string &key, const TierResult &result) const;

private:
  std::string getPath(const std::string &key) const;

  std::optional<std::string> folder;
};

} // namespace d2k

#endif // D2K_LIB_DRIVER_RESULTCACHE_H
