// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts of a kernel as it is launched: the kernel is analysed once for each
// set of decisions that its launches make, and what these analyses say is put
// together by workload.

#include "Engine/AnalyzeKernel.h"
#include "Engine/HostDetector.h"
#include "Engine/LaunchForks.h"

#include "d2k/Properties/LaunchedKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Different ways in which one kernel is analysed; of launches beyond these,
/// what the code says holds.
static constexpr size_t kMaxVariants = 16;

namespace {
/// What the kernel is under some of its launches.
struct Variant {
  KernelFacts facts;
  /// As in LaunchDecisions; empty for what the code says.
  std::string launch;
  /// The first launch, for sentences.
  SourceLocation where;
  std::set<std::string> certain, possible;
};

/// Identity of a fact, without its places.
using FactKey = std::tuple<std::string, AttributeMap, Tier, std::vector<Tier>,
                           std::optional<std::string>, Tristate>;

/// Where something holds.
struct Holds {
  std::set<std::string> certain, possible;
  std::vector<SourceLocation> where;
  const Variant *variant = nullptr;
};

class Merger {
public:
  Merger(const KernelFacts &code, std::vector<Variant> &variants);

  /// The findings of all variants as one.
  void mergeInto(KernelFacts &kernel);

private:
  void keepSame(Variant &variant);
  void mergeFacts(FactSet &into);
  void mergeUndecided(FactSet &into);
  void mergeNearMisses(FactSet &into);
  std::vector<std::string> list(const std::set<std::string> &workloads) const;

  /// What the code alone says.
  const KernelFacts &code;
  std::vector<Variant> &variants;
  /// Workloads under which the kernel is launched.
  std::set<std::string> launched;
};
} // namespace

static std::string nameOf(const SourceLocation &place) {
  return llvm::sys::path::filename(place.file).str() + ":" +
         std::to_string(place.line);
}

//===----------------------------------------------------------------------===//
// Variants as one
//===----------------------------------------------------------------------===//

Merger::Merger(const KernelFacts &code, std::vector<Variant> &variants)
    : code(code), variants(variants) {
  std::set<std::string> certain;
  for (Variant &variant : variants) {
    launched.insert(variant.certain.begin(), variant.certain.end());
    launched.insert(variant.possible.begin(), variant.possible.end());
    certain.insert(variant.certain.begin(), variant.certain.end());
  }
  // Where no launch is certain, the kernel is perhaps launched, which says
  // enough.
  for (Variant &variant : variants)
    for (const std::string &workload : variant.possible)
      if (!certain.contains(workload))
        variant.certain.insert(workload);
}

std::vector<std::string>
Merger::list(const std::set<std::string> &workloads) const {
  if (workloads == launched)
    return {};
  return {workloads.begin(), workloads.end()};
}

template <typename A, typename B>
static bool sharePlace(const A &a, const B &b) {
  return llvm::any_of(a.where, [&](const SourceLocation &place) {
    return llvm::any_of(b.where, [&](const SourceLocation &other) {
      return place.kind == other.kind && place.file == other.file &&
             place.line == other.line;
    });
  });
}

/// A fact of the code that the launch leaves where it is stays what it is:
/// compilers make many copies of a loop, of which a launch runs some, and they
/// differ in what can be seen of them. Only what the launch does not have is
/// lost, and only what the code does not have is new.
void Merger::keepSame(Variant &variant) {
  if (variant.launch.empty())
    return;
  std::vector<Fact> &facts = variant.facts.facts;
  std::vector<bool> isKept(code.facts.size()), isSame(facts.size());
  auto match = [&](auto fits) {
    for (size_t i = 0; i < code.facts.size(); ++i) {
      const Fact &fact = code.facts[i];
      for (size_t j = 0; j < facts.size() && !isKept[i]; ++j)
        if (facts[j].property == fact.property &&
            (fact.inMain != Tristate::Yes ||
             facts[j].inMain == Tristate::Yes) &&
            fits(fact, j))
          isKept[i] = true;
    }
  };
  match([&](const Fact &fact, size_t j) {
    return facts[j].attributes == fact.attributes;
  });
  for (size_t j = 0; j < facts.size(); ++j)
    isSame[j] = llvm::any_of(code.facts, [&](const Fact &fact) {
      return facts[j].property == fact.property &&
             facts[j].attributes == fact.attributes;
    });
  // The same instructions, of which something else can be seen.
  std::vector<bool> isOther(facts.size());
  match([&](const Fact &fact, size_t j) {
    if (isSame[j] || !sharePlace(facts[j], fact))
      return false;
    isOther[j] = true;
    return true;
  });
  // Nor is it lost because less is understood of a part than of the whole.
  auto isOpen = [](const std::vector<Undecided> &entries, const Fact &fact) {
    return llvm::any_of(entries, [&](const Undecided &entry) {
      return entry.property == fact.property && sharePlace(entry, fact);
    });
  };
  const std::vector<Undecided> undecided = variant.facts.undecided;
  for (size_t i = 0; i < code.facts.size(); ++i)
    if (const Fact &fact = code.facts[i]; !isKept[i] &&
                                          isOpen(undecided, fact) &&
                                          !isOpen(code.undecided, fact)) {
      isKept[i] = true;
      std::erase_if(variant.facts.undecided, [&](const Undecided &entry) {
        return entry.property == fact.property && sharePlace(entry, fact);
      });
    }
  std::vector<Fact> result;
  for (size_t i = 0; i < code.facts.size(); ++i)
    if (isKept[i])
      result.push_back(code.facts[i]);
  for (size_t j = 0; j < facts.size(); ++j)
    if (!isSame[j] && !isOther[j])
      result.push_back(std::move(facts[j]));
  facts = std::move(result);
}

void Merger::mergeFacts(FactSet &into) {
  std::map<FactKey, Holds> facts;
  for (const Variant &variant : variants)
    for (const Fact &fact : variant.facts.facts) {
      Holds &holds = facts[{fact.property, fact.attributes, fact.tier,
                            fact.tiers.toVector(), fact.loop, fact.inMain}];
      holds.certain.insert(variant.certain.begin(), variant.certain.end());
      holds.possible.insert(variant.possible.begin(), variant.possible.end());
      llvm::append_range(holds.where, fact.where);
      if (!holds.variant)
        holds.variant = &variant;
    }
  for (auto &[key, holds] : facts) {
    auto &[property, attributes, tier, tiers, loop, inMain] = key;
    for (const std::string &workload : holds.certain)
      holds.possible.erase(workload);
    if (!holds.possible.empty()) {
      Undecided entry;
      entry.property = property;
      entry.reason =
          holds.variant->launch.empty()
              ? "what the kernel's code has at " + nameOf(holds.where.front()) +
                    " does not run under the launches that are known, and "
                    "there may be others"
              : "what the kernel has at " + nameOf(holds.where.front()) + " " +
                    holds.variant->launch +
                    ", does not run under its other launches, and that one "
                    "may not happen";
      entry.wouldDecide =
          std::string("host code that can be followed to its end, or ") +
          kLaunchList;
      entry.workloads = list(holds.possible);
      entry.where = holds.where;
      into.undecided.push_back(std::move(entry));
    }
    if (holds.certain.empty())
      continue;
    Fact fact;
    fact.property = property;
    fact.attributes = attributes;
    fact.tier = tier;
    for (Tier one : tiers)
      fact.tiers.insert(one);
    fact.loop = loop;
    fact.inMain = inMain;
    fact.workloads = list(holds.certain);
    fact.where = std::move(holds.where);
    into.facts.push_back(std::move(fact));
  }
}

void Merger::mergeUndecided(FactSet &into) {
  std::map<std::tuple<std::string, std::string, std::string>, Holds> entries;
  for (const Variant &variant : variants)
    for (const Undecided &entry : variant.facts.undecided) {
      Holds &holds = entries[{entry.property, entry.reason, entry.wouldDecide}];
      holds.certain.insert(variant.certain.begin(), variant.certain.end());
      holds.certain.insert(variant.possible.begin(), variant.possible.end());
      llvm::append_range(holds.where, entry.where);
    }
  for (auto &[key, holds] : entries) {
    Undecided entry;
    std::tie(entry.property, entry.reason, entry.wouldDecide) = key;
    entry.workloads = list(holds.certain);
    entry.where = std::move(holds.where);
    into.undecided.push_back(std::move(entry));
  }
}

void Merger::mergeNearMisses(FactSet &into) {
  auto has = [&](const std::string &property) {
    return llvm::any_of(variants, [&](const Variant &variant) {
      return llvm::any_of(variant.facts.facts, [&](const Fact &fact) {
        return fact.property == property;
      });
    });
  };
  std::set<std::string> explained;
  std::set<std::pair<std::string, std::string>> said;
  for (const Variant &variant : variants)
    for (const NearMiss &miss : variant.facts.nearMisses) {
      size_t at = variant.launch.empty() ? std::string::npos
                                         : miss.reason.find(variant.launch);
      bool isOfLaunch = at != std::string::npos;
      // What a launch leaves out is worth a word only when nothing is left,
      // and what several leave out only once.
      if (isOfLaunch &&
          (has(miss.property) ||
           !said.insert({miss.property, miss.reason.substr(0, at)}).second))
        continue;
      if (isOfLaunch)
        explained.insert(miss.property);
      into.nearMisses.push_back(miss);
    }
  auto lost = llvm::find_if(
      variants, [](const Variant &variant) { return !variant.launch.empty(); });
  for (const Fact &fact : code.facts) {
    if (has(fact.property) || lost == variants.end() ||
        explained.contains(fact.property))
      continue;
    NearMiss miss;
    miss.property = fact.property;
    const SourceLocation &first = fact.where.front();
    const std::string &instruction =
        first.instruction.empty() ? first.sassInstruction : first.instruction;
    if (!instruction.empty())
      miss.reason = "`" + instruction + "` ";
    miss.reason += "at " + nameOf(first) + " shows it in the code, but not " +
                   lost->launch;
    miss.where = fact.where;
    into.nearMisses.push_back(std::move(miss));
  }
}

void Merger::mergeInto(KernelFacts &kernel) {
  for (Variant &variant : variants)
    keepSame(variant);
  FactSet merged;
  mergeFacts(merged);
  mergeUndecided(merged);
  mergeNearMisses(merged);
  // One way for all launches: that is the kernel.
  if (variants.size() == 1) {
    KernelFacts &only = variants.front().facts;
    kernel.parameterUses = std::move(only.parameterUses);
    kernel.readsUnknown = only.readsUnknown;
    kernel.writesUnknown = only.writesUnknown;
    kernel.completeTiers = only.completeTiers;
  }
  kernel.launchClaims.clear();
  for (Variant &variant : variants)
    for (LaunchClaim &claim : variant.facts.launchClaims)
      if (llvm::none_of(kernel.launchClaims, [&](const LaunchClaim &other) {
            return std::tie(other.property, other.attributes, other.terms,
                            other.loop, other.where) ==
                   std::tie(claim.property, claim.attributes, claim.terms,
                            claim.loop, claim.where);
          }))
        kernel.launchClaims.push_back(std::move(claim));
  static_cast<FactSet &>(kernel) = std::move(merged);
  kernel.normalize();
}

//===----------------------------------------------------------------------===//
// Analyses
//===----------------------------------------------------------------------===//

/// Gives the loops of \p facts, which \p variant was analysed for, the names
/// that they have in \p code.
static void renameLoops(KernelContext &code, KernelContext &variant,
                        KernelFacts &facts) {
  std::map<BlockId, std::string> names;
  for (const Loop &loop : code.getLoops().getLoops())
    names[loop.header] = loop.id;
  std::map<std::string, std::string> renamed;
  for (const Loop &loop : variant.getLoops().getLoops())
    if (auto found = names.find(loop.header); found != names.end())
      renamed[loop.id] = found->second;
  auto rename = [&](std::string &id) {
    if (auto found = renamed.find(id); found != renamed.end())
      id = found->second;
  };
  for (KernelLoop &loop : facts.loops)
    rename(loop.id);
  for (Fact &fact : facts.facts)
    if (fact.loop)
      rename(*fact.loop);
  for (LaunchClaim &claim : facts.launchClaims)
    if (claim.loop)
      rename(*claim.loop);
}

/// "as launched at k.cu:40, where argument 3 is 0"
static std::string describe(const KernelLaunch &launch,
                            const LaunchDecisions &decisions) {
  std::vector<std::string> reasons;
  if (!decisions.because.empty())
    reasons.push_back(decisions.because);
  for (const auto &[place, name] : decisions.unread)
    reasons.push_back("nobody reads " + name + ", which argument " +
                      std::to_string(place.first + 1) + " leads to");
  std::string text = "as launched at " + nameOf(launch.where);
  if (!reasons.empty())
    text += ", where " + llvm::join(reasons, ", and ");
  return text;
}

/// What tells one variant from another; empty for what the code says.
static std::pair<std::map<ValueId, uint64_t>, UnreadMemory>
getKey(const LaunchDecisions &decisions, bool matters) {
  if (!matters)
    return {};
  std::map<ValueId, uint64_t> constants;
  for (auto [value, bits] : decisions.known.constants)
    constants[value] = bits;
  return {std::move(constants), decisions.unread};
}

static void
specializeKernel(kern::FuncOp func, mlir::SymbolTableCollection &symbols,
                 const Options &options, const SnippetProvider &snippets,
                 const KernelLaunches &launches, KernelFacts &kernel) {
  KernelContext code(func, symbols);
  std::map<std::pair<std::map<ValueId, uint64_t>, UnreadMemory>, size_t> found;
  std::vector<Variant> variants;
  // Addresses in here are kept by contexts.
  std::vector<std::unique_ptr<LaunchDecisions>> kept;
  auto addCode = [&]() -> Variant & {
    auto [entry, isNew] = found.try_emplace({}, variants.size());
    if (isNew)
      variants.push_back({kernel, "", {}, {}, {}});
    return variants[entry->second];
  };
  // Claims that the code leaves open matter where the launch decides for them.
  bool isOpen = llvm::any_of(kernel.undecided, [](const Undecided &entry) {
    return entry.wouldDecide == kLaunchDecides;
  });
  for (const auto &[values, launch] : launches.launches) {
    auto decisions =
        std::make_unique<LaunchDecisions>(decideByLaunch(code, values));
    bool matters =
        decisions->matters() || (isOpen && !decisions->known.constants.empty());
    auto key = getKey(*decisions, matters);
    bool isKnown = found.contains(key);
    Variant *variant = nullptr;
    if (!matters || (!isKnown && variants.size() == kMaxVariants)) {
      variant = &addCode();
    } else if (isKnown) {
      variant = &variants[found[key]];
    } else {
      found[key] = variants.size();
      decisions->launch = describe(launch, *decisions);
      KernelFacts facts;
      facts.name = kernel.name;
      facts.demangled = kernel.demangled;
      KernelContext context(func, symbols, decisions.get());
      analyzeKernel(context, options, snippets, facts);
      renameLoops(code, context, facts);
      variants.push_back(
          {std::move(facts), decisions->launch, launch.where, {}, {}});
      variant = &variants.back();
      kept.push_back(std::move(decisions));
    }
    variant->certain.insert(launch.certain.begin(), launch.certain.end());
    variant->possible.insert(launch.possible.begin(), launch.possible.end());
  }
  bool isSpecial = llvm::any_of(
      variants, [](const Variant &variant) { return !variant.launch.empty(); });
  if (!isSpecial)
    return;
  if (!launches.open.empty()) {
    Variant &other = addCode();
    other.possible.insert(launches.open.begin(), launches.open.end());
  }
  KernelFacts alone = kernel;
  Merger(alone, variants).mergeInto(kernel);
}

void properties::specializeKernels(mlir::ModuleOp module,
                                   const Options &options,
                                   const SnippetProvider &snippets,
                                   const LaunchMap &launches,
                                   std::vector<KernelFacts> &kernels) {
  mlir::SymbolTableCollection symbols;
  for (KernelFacts &kernel : kernels) {
    auto found = launches.find(kernel.name);
    if (found == launches.end() || found->second.launches.empty())
      continue;
    auto func = symbols.lookupNearestSymbolFrom<kern::FuncOp>(
        module, mlir::StringAttr::get(module.getContext(), kernel.name));
    if (func && !func.getBody().empty() && !exceedsLimit(func, options))
      specializeKernel(func, symbols, options, snippets, found->second, kernel);
  }
}
