// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a property of the host code, or of a launch, is written against: the
// traces of one call of the entry under each workload, and a place for its
// findings.
//
// Rules. A fact under a workload needs an event that is certain there, with
// every attribute known; an event that is not certain is undecided, with the
// condition that stopped the interpreter. A trace that is not complete leaves
// every host property undecided that it does not prove: the engine adds that.
// A launch on an empty grid is no launch.

#ifndef D2K_LIB_PROPERTIES_ENGINE_HOSTDETECTOR_H
#define D2K_LIB_PROPERTIES_ENGINE_HOSTDETECTOR_H

#include "Engine/Property.h"

#include "d2k/Properties/HostProperties.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <set>

namespace d2k::properties {

/// What decides where the host code alone does not.
inline constexpr char kLaunchList[] =
    "the launches that Nsight Systems lists (nsys profile)";

class HostDetector {
public:
  HostDetector(const cuda::HostProgram &program, Analysis &analysis,
               const SnippetProvider &snippets);

  const std::vector<cuda::HostTrace> &getTraces() const {
    return program.traces;
  }
  const cuda::HostProgram &getProgram() const { return program; }
  const Analysis &getAnalysis() const { return analysis; }
  /// Index in Analysis::kernels of what \p event launches.
  std::optional<size_t> findKernel(const cuda::Event &event) const;
  /// Whether \p event launches blocks: some extent of the grid is 0, or not
  /// known.
  static Tristate hasBlocks(const cuda::Event &event);
  /// Whether \p event is issued: always, or, where no workload says with what
  /// the host function is called, under some arguments.
  static bool isIssued(const cuda::HostTrace &trace, const cuda::Event &event);
  /// Launches of \p trace that may have blocks.
  std::vector<const cuda::Event *>
  getLaunches(const cuda::HostTrace &trace) const;

  /// Whether the code of kernel \p kernel leaves \p property open under
  /// \p trace: then the launch settles what LaunchClaims say.
  bool isOpen(const cuda::HostTrace &trace, size_t kernel,
              llvm::StringRef property) const;

  /// What happened in \p trace makes a fact. \p kernel is an index in
  /// Analysis::kernels for a property of a kernel, nothing for one of the host.
  void addFact(const cuda::HostTrace &trace, std::optional<size_t> kernel,
               AttributeMap attributes,
               const std::vector<SourceLocation> &where);
  /// What the source of kernel \p kernel shows, whatever is launched.
  void addSourceFact(size_t kernel, AttributeMap attributes,
                     const std::vector<SourceLocation> &where);
  /// What the source of kernel \p kernel leaves open.
  void addSourceUndecided(size_t kernel, std::string reason,
                          std::string wouldDecide,
                          const std::vector<SourceLocation> &where);
  /// Adds attribute \p name to the facts of \p property about \p kernel for
  /// which \p find knows its value.
  void refine(size_t kernel, llvm::StringRef property, const std::string &name,
              llvm::function_ref<std::optional<AttrValue>(const Fact &)> find);
  void addUndecided(const cuda::HostTrace &trace, std::optional<size_t> kernel,
                    std::string reason, std::string wouldDecide,
                    const std::vector<SourceLocation> &where);
  void addNearMiss(std::optional<size_t> kernel, std::string reason,
                   const std::vector<SourceLocation> &where);
  /// One event that shows the property: a fact when it is certain, else
  /// undecided for its reasons.
  void addEvent(const cuda::HostTrace &trace, std::optional<size_t> kernel,
                const cuda::Event &event, AttributeMap attributes);
  /// Every event of \p kind shows the property; its attribute `call` is the
  /// function called.
  void addCalls(cuda::EventKind kind);
  /// The host code answers what was left undecided about \p kernel in PTX.
  void settle(size_t kernel);
  /// The same for the entries of \p property for which \p isAnswered.
  void settle(size_t kernel, llvm::StringRef property,
              llvm::function_ref<bool(const Undecided &)> isAnswered);

  /// Moves the findings of \p info into the analysis.
  void finish(const PropertyInfo &info);

  /// "gemm.cu:58"
  static std::string describe(const SourceLocation &place);

private:
  struct Finding {
    std::set<std::string> workloads;
    std::vector<SourceLocation> where;
  };
  using FactKey = std::pair<std::optional<size_t>, AttributeMap>;
  using UndecidedKey =
      std::tuple<std::optional<size_t>, std::string, std::string>;

  FactSet &getSet(std::optional<size_t> kernel);
  std::vector<std::string> getWorkloads(const Finding &finding) const;
  void addPlaces(Finding &finding, const std::vector<SourceLocation> &where);

  const cuda::HostProgram &program;
  Analysis &analysis;
  const SnippetProvider &snippets;
  std::map<FactKey, Finding> facts;
  std::map<UndecidedKey, Finding> undecided;
  std::vector<std::pair<std::optional<size_t>, NearMiss>> nearMisses;
  std::set<size_t> settled;
  /// By name, and by file where only that sees the name.
  mutable std::map<std::pair<std::string, std::string>, std::optional<size_t>>
      kernels;
};

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_HOSTDETECTOR_H
