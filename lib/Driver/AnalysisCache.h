// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole analyses of CUDA sources, kept on disk: nothing is compiled when
// neither the sources nor any file that they include, nor a flag or a tool, has
// changed. An entry is found by a digest of the request and then lists the
// files that were read, with a digest of each; one that differs makes the entry
// void. Not seen is a new header that hides another one further down the
// include path.

#ifndef D2K_LIB_DRIVER_ANALYSISCACHE_H
#define D2K_LIB_DRIVER_ANALYSISCACHE_H

#include "Inputs.h"

#include "d2k/Driver/Analyze.h"

namespace d2k {

class AnalysisCache {
public:
  /// The entry for \p request on \p inputs. Only requests whose inputs are all
  /// sources, and which compile them, have one.
  AnalysisCache(const AnalyzeRequest &request,
                const std::vector<Input> &inputs);

  /// What was kept, when nothing has changed since.
  std::optional<AnalyzeOutcome> find() const;

  /// Keeps \p outcome, for which \p files were read. Fails with kind
  /// Environment when the folder cannot be written.
  Result<void> add(const AnalyzeOutcome &outcome,
                   const std::vector<std::string> &files) const;

private:
  bool isKeepable(const Analysis &analysis) const;

  const AnalyzeRequest &request;
  /// Empty when there is nothing to keep.
  std::string path;
};

} // namespace d2k

#endif // D2K_LIB_DRIVER_ANALYSISCACHE_H
