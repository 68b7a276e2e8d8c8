// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the property detectors: a kern module in, the facts, near
// misses and undecided properties of each kernel out. Also the catalog of all
// properties, which documentation, rubrics and `--list-properties` read.
//
// Usage
//   SnippetProvider snippets = [&](llvm::StringRef file, int64_t line) {
//     return sources.getLine(file, line);
//   };
//   std::vector<KernelFacts> kernels =
//       properties::analyzeModule(module, options, snippets);
//
// Neither function fails: what cannot be understood is an Undecided entry.

#ifndef D2K_PROPERTIES_PROPERTIES_H
#define D2K_PROPERTIES_PROPERTIES_H

#include "d2k/Properties/Catalog.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace d2k::properties {

/// What analyzeModule shall do.
struct Options {
  /// Tier whose evidence the module is: facts are proved at it. `PtxClang`
  /// runs the detectors of `Ptx`.
  Tier tier = Tier::Ptx;
  /// Kernels for which this returns false are skipped; empty means all of
  /// them. Called with the mangled and the demangled name.
  std::function<bool(llvm::StringRef name, llvm::StringRef demangled)>
      kernelFilter;
  /// Entry functions with more operations than this are not analysed: every
  /// property is undecided then, with the reason. 0 means no limit.
  uint64_t maxOperations = 0;
  /// Whether a source file is the author's, and not a library's header. Code
  /// of a header is reported where the author's code calls it. Empty: places
  /// are where the code stands.
  std::function<bool(llvm::StringRef file)> isAuthored;
};

/// Analyses every entry function of \p module, in the order of their names.
///
/// Per kernel: `name`, `demangled`, `loops`, `sharedBytes` (static, declared
/// by the kernel), the fact sets (normalized), and `completeTiers`, which
/// holds `options.tier` when the kernel was seen whole, that is unless it
/// contains an opaque operation or a call whose callee is not known. What the
/// host code or ptxas decides (`reachable`, `launches`, `registers`,
/// `spillBytes`) is left for others to fill in.
///
/// \p module is not changed, but calls of device functions that have a body
/// are expected to have been inlined; one that is left is an unknown call.
std::vector<KernelFacts> analyzeModule(mlir::ModuleOp module,
                                       const Options &options,
                                       const SnippetProvider &snippets);

} // namespace d2k::properties

#endif // D2K_PROPERTIES_PROPERTIES_H
