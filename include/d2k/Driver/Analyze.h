// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From files to facts: finds out what the inputs are, compiles what has to be
// compiled, reads each tier, and runs the property detectors. What comes out is
// the model that rubrics and reports read.

#ifndef D2K_DRIVER_ANALYZE_H
#define D2K_DRIVER_ANALYZE_H

#include "d2k/Fact/Fact.h"
#include "d2k/Frontend/CUDA/HostReader.h"
#include "d2k/Support/Failure.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace d2k {

/// Who makes PTX from CUDA source.
enum class PtxCompiler : uint8_t {
  /// nvcc where there is one, else Clang.
  Auto,
  Nvcc,
  /// Clang: its code is not nvcc's, and proves less (tier `ptx:clang`).
  Clang,
  /// Nobody: only PTX and machine code that are handed in are read.
  None,
};

/// One run of the analyser: all inputs together are one submission.
struct AnalyzeRequest {
  /// `.cu` files, PTX, machine code (cubins, and what holds fatbins), what
  /// nvdisasm printed as JSON, or folders that hold them.
  std::vector<std::string> inputs;
  /// Target, when the user named one. PTX and cubins have their own; it must
  /// agree. Of a file with code for several targets it picks one.
  std::optional<std::string> arch;
  /// Target of sources when the user named none.
  std::string defaultArch = "sm_100a";
  PtxCompiler compiler = PtxCompiler::Auto;
  /// PTX and machine code that stand for the one source input.
  std::optional<std::string> withPtx, withCubin;
  /// Work that is done at the same time, at most; 0 means one piece for each
  /// processor.
  unsigned jobs = 0;
  /// Folder in which precompiled headers are kept; nothing keeps none.
  std::optional<std::string> headerFolder;
  /// Folders searched for headers when compiling.
  std::vector<std::string> includeDirectories;
  /// Folder of a compilation database, which has flags for each source.
  std::optional<std::string> compileCommands;
  /// Flags for nvcc, behind those.
  std::vector<std::string> compilerFlags;
  /// Skips kernels for which it returns false; empty means none.
  std::function<bool(const std::string &mangled, const std::string &demangled)>
      kernelFilter;
  /// What kernelFilter was made of; results are kept under it.
  std::string kernelPattern;
  /// Folder where results are kept by content and found again.
  std::optional<std::string> cacheFolder;
  /// The host function that is called; empty means every one that launches and
  /// that no other one calls.
  std::string entry;
  /// What the entry gets under each workload.
  std::vector<cuda::HostWorkload> workloads;
  /// Tiers to read, where they can be had.
  bool readSource = true, readPtx = true, readSass = true;
};

/// What analyze returns.
struct AnalyzeOutcome {
  Analysis analysis;
  /// The kern modules, one an input, when asked for (keepKern).
  std::vector<std::string> kern;
  /// Remarks of the front end: what it did not know, one an entry.
  std::vector<std::string> remarks;
};

/// Analyses \p request. With \p keepKern the textual IR is returned as well.
/// Fails with kind Input when an input cannot be read, parsed or compiled, with
/// kind Usage when inputs and options contradict each other, with kind
/// Environment when a tool is missing.
Result<AnalyzeOutcome> analyze(const AnalyzeRequest &request,
                               bool keepKern = false);

} // namespace d2k

#endif // D2K_DRIVER_ANALYZE_H
