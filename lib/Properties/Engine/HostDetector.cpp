// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/HostDetector.h"

#include "Engine/ResultUse.h"

#include "d2k/Frontend/CUDA/KernelName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace d2k;
using namespace d2k::properties;

/// Whether \p kernel may be defined in the source \p file: what is known of it
/// stands there, or in none of the sources.
static bool mayBeFrom(const Analysis &analysis, const KernelFacts &kernel,
                      const std::string &file) {
  bool standsInFile = false, standsElsewhere = false;
  auto look = [&](const SourceLocation &place) {
    if (place.line == 0 || place.kind != LocationKind::Source)
      return;
    if (llvm::sys::fs::equivalent(place.file, file))
      standsInFile = true;
    else
      standsElsewhere |=
          llvm::any_of(analysis.inputs, [&](const InputFile &input) {
            return llvm::sys::fs::equivalent(place.file, input.path);
          });
  };
  for (const Fact &fact : kernel.facts)
    llvm::for_each(fact.where, look);
  for (const KernelLoop &loop : kernel.loops)
    look(loop.where);
  for (const NearMiss &miss : kernel.nearMisses)
    llvm::for_each(miss.where, look);
  for (const Undecided &entry : kernel.undecided)
    llvm::for_each(entry.where, look);
  return standsInFile || !standsElsewhere;
}

HostDetector::HostDetector(const cuda::HostProgram &program, Analysis &analysis,
                           const SnippetProvider &snippets)
    : program(program), analysis(analysis), snippets(snippets) {}

std::optional<size_t> HostDetector::findKernel(const cuda::Event &event) const {
  if (event.kernel.empty())
    return std::nullopt;
  auto [entry, isNew] = kernels.try_emplace({event.kernel, event.kernelFile});
  if (!isNew)
    return entry->second;
  auto findAll = [&](auto isSame) {
    std::vector<size_t> found;
    for (size_t i = 0; i < analysis.kernels.size(); ++i)
      if (isSame(analysis.kernels[i].name))
        found.push_back(i);
    return found;
  };
  std::vector<size_t> candidates =
      findAll([&](const std::string &name) { return name == event.kernel; });
  if (candidates.empty())
    candidates = findAll([&](const std::string &name) {
      return cuda::isSameKernelName(name, event.kernel);
    });
  // Files have kernels of their own under one name. Of a template that several
  // files instantiate, all instances are the same.
  if (candidates.size() > 1 && !event.kernelFile.empty()) {
    llvm::erase_if(candidates, [&](size_t i) {
      return !mayBeFrom(analysis, analysis.kernels[i], event.kernelFile);
    });
    if (candidates.size() > 1)
      return std::nullopt;
  }
  if (!candidates.empty())
    entry->second = candidates.front();
  return entry->second;
}

Tristate HostDetector::hasBlocks(const cuda::Event &event) {
  bool known = true;
  for (const auto *extents : {&event.grid, &event.block})
    for (const cuda::Quantity &extent : *extents) {
      if (extent.value && *extent.value <= 0)
        return Tristate::No;
      known &= extent.value.has_value();
    }
  return known ? Tristate::Yes : Tristate::Unknown;
}

bool HostDetector::isIssued(const cuda::HostTrace &trace,
                            const cuda::Event &event) {
  if (!trace.workload.empty())
    return event.certain && event.count.value &&
           hasBlocks(event) == Tristate::Yes;
  auto depends = [](const cuda::Quantity &quantity) {
    return quantity.value || quantity.origins.problem;
  };
  return event.dependsOnArguments && depends(event.count) &&
         llvm::all_of(event.grid, depends) &&
         llvm::all_of(event.block, depends);
}

bool HostDetector::isOpen(const cuda::HostTrace &trace, size_t kernel,
                          llvm::StringRef property) const {
  return llvm::any_of(
      analysis.kernels[kernel].undecided, [&](const Undecided &entry) {
        return entry.property == property &&
               (entry.workloads.empty() ||
                llvm::is_contained(entry.workloads, trace.workload));
      });
}

std::vector<const cuda::Event *>
HostDetector::getLaunches(const cuda::HostTrace &trace) const {
  std::vector<const cuda::Event *> result;
  for (const cuda::Event &event : trace.events)
    if (event.kind == cuda::EventKind::Launch &&
        hasBlocks(event) != Tristate::No && event.count.value != 0)
      result.push_back(&event);
  return result;
}

std::string HostDetector::describe(const SourceLocation &place) {
  return place.file.substr(place.file.find_last_of('/') + 1) + ":" +
         std::to_string(place.line);
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

void HostDetector::addPlaces(Finding &finding,
                             const std::vector<SourceLocation> &where) {
  for (SourceLocation place : where) {
    if (snippets && place.line)
      place.snippet = snippets(place.file, place.line);
    finding.where.push_back(std::move(place));
  }
}

void HostDetector::addFact(const cuda::HostTrace &trace,
                           std::optional<size_t> kernel,
                           AttributeMap attributes,
                           const std::vector<SourceLocation> &where) {
  Finding &finding = facts[{kernel, std::move(attributes)}];
  finding.workloads.insert(trace.workload);
  addPlaces(finding, where);
}

void HostDetector::addSourceFact(size_t kernel, AttributeMap attributes,
                                 const std::vector<SourceLocation> &where) {
  addPlaces(facts[{kernel, std::move(attributes)}], where);
}

void HostDetector::addSourceUndecided(
    size_t kernel, std::string reason, std::string wouldDecide,
    const std::vector<SourceLocation> &where) {
  addPlaces(undecided[{kernel, std::move(reason), std::move(wouldDecide)}],
            where);
}

void HostDetector::refine(
    size_t kernel, llvm::StringRef property, const std::string &name,
    llvm::function_ref<std::optional<AttrValue>(const Fact &)> find) {
  for (Fact &fact : analysis.kernels[kernel].facts)
    if (fact.property == property)
      if (std::optional<AttrValue> value = find(fact)) {
        fact.attributes[name] = std::move(*value);
        fact.tiers.insert(Tier::Source);
      }
}

void HostDetector::addUndecided(const cuda::HostTrace &trace,
                                std::optional<size_t> kernel,
                                std::string reason, std::string wouldDecide,
                                const std::vector<SourceLocation> &where) {
  Finding &finding =
      undecided[{kernel, std::move(reason), std::move(wouldDecide)}];
  finding.workloads.insert(trace.workload);
  addPlaces(finding, where);
}

void HostDetector::addNearMiss(std::optional<size_t> kernel, std::string reason,
                               const std::vector<SourceLocation> &where) {
  Finding places;
  addPlaces(places, where);
  nearMisses.push_back({kernel, {"", std::move(reason), places.where}});
}

void HostDetector::addEvent(const cuda::HostTrace &trace,
                            std::optional<size_t> kernel,
                            const cuda::Event &event, AttributeMap attributes) {
  if (event.certain)
    return addFact(trace, kernel, std::move(attributes), {event.where});
  std::string reason = event.call + " at " + describe(event.where);
  reason += event.uncertainBecause.empty()
                ? std::string(" may not run")
                : " " + event.uncertainBecause.front();
  addUndecided(trace, kernel, std::move(reason), kLaunchList, {event.where});
}

void HostDetector::addCalls(cuda::EventKind kind) {
  for (const cuda::HostTrace &trace : program.traces)
    for (const cuda::Event &event : trace.events) {
      if (event.kind != kind)
        continue;
      AttributeMap attributes;
      attributes["call"] = event.call;
      addEvent(trace, std::nullopt, event, std::move(attributes));
    }
}

void HostDetector::settle(size_t kernel) { settled.insert(kernel); }

void HostDetector::settle(
    size_t kernel, llvm::StringRef property,
    llvm::function_ref<bool(const Undecided &)> isAnswered) {
  std::erase_if(analysis.kernels[kernel].undecided,
                [&](const Undecided &entry) {
                  return entry.property == property && isAnswered(entry);
                });
}

FactSet &HostDetector::getSet(std::optional<size_t> kernel) {
  return kernel ? static_cast<FactSet &>(analysis.kernels[*kernel])
                : analysis.host;
}

std::vector<std::string>
HostDetector::getWorkloads(const Finding &finding) const {
  std::set<std::string> all;
  for (const cuda::HostTrace &trace : program.traces)
    all.insert(trace.workload);
  // Under all of them is the same as without a condition.
  if (finding.workloads == all || finding.workloads.empty())
    return {};
  return {finding.workloads.begin(), finding.workloads.end()};
}

void HostDetector::finish(const PropertyInfo &info) {
  for (size_t kernel : settled)
    std::erase_if(
        analysis.kernels[kernel].undecided,
        [&](const Undecided &entry) { return entry.property == info.id; });
  // What no trace could see to its end.
  if (info.subject == Subject::Host)
    for (const cuda::HostTrace &trace : program.traces) {
      if (trace.complete)
        continue;
      addUndecided(trace, std::nullopt,
                   trace.incompleteBecause.empty()
                       ? "the host code was not followed to its end"
                       : trace.incompleteBecause.front(),
                   kLaunchList, {});
    }
  // Of a property that PTX decides, too, the host code tells one half: that it
  // shows nothing proves nothing about a kernel whose PTX was not read.
  for (size_t i = 0; i < analysis.kernels.size(); ++i) {
    TierSet complete = analysis.kernels[i].completeTiers;
    if (info.subject == Subject::Host ||
        !info.detectorTiers.contains(Tier::Source) ||
        !info.detectorTiers.contains(Tier::Ptx) ||
        complete.contains(Tier::Ptx) || complete.contains(Tier::PtxClang))
      continue;
    bool isProved = false;
    for (const auto &[key, finding] : facts)
      isProved |= key.first == i && getWorkloads(finding).empty();
    if (!isProved)
      addSourceUndecided(i,
                         "the host code tells only how the kernel is launched, "
                         "and its PTX was not read",
                         "the kernel's PTX", {});
  }
  for (auto &[key, finding] : facts) {
    Fact fact;
    fact.property = info.id;
    fact.attributes = key.second;
    // Of a property that another tier decides, the host code has a part only:
    // the launch.
    fact.tier = info.decidingTiers.contains(Tier::Source)
                    ? Tier::Source
                    : info.decidingTiers.toVector().front();
    fact.tiers = {Tier::Source, fact.tier};
    fact.workloads = getWorkloads(finding);
    fact.where = std::move(finding.where);
    getSet(key.first).facts.push_back(std::move(fact));
  }
  for (auto &[key, finding] : undecided) {
    Undecided entry;
    entry.property = info.id;
    entry.reason = std::get<1>(key);
    entry.wouldDecide = std::get<2>(key);
    entry.workloads = getWorkloads(finding);
    entry.where = std::move(finding.where);
    getSet(std::get<0>(key)).undecided.push_back(std::move(entry));
  }
  for (auto &[kernel, miss] : nearMisses) {
    miss.property = info.id;
    getSet(kernel).nearMisses.push_back(std::move(miss));
  }
  facts.clear();
  undecided.clear();
  nearMisses.clear();
  settled.clear();
}

//===----------------------------------------------------------------------===//
// Reachability
//===----------------------------------------------------------------------===//

/// How \p kernel is launched in one trace, and whether for a result; \p uses
/// are those of the trace's events.
static Tristate getReach(const HostDetector &detector,
                         const cuda::HostTrace &trace,
                         const std::vector<ResultUse> &uses, size_t kernel,
                         bool complete, int64_t &launches,
                         std::string &because) {
  Tristate result =
      complete && trace.complete ? Tristate::No : Tristate::Unknown;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const cuda::Event &event = trace.events[i];
    if (event.kind != cuda::EventKind::Launch)
      continue;
    std::optional<size_t> launched = detector.findKernel(event);
    // A launch of who knows what may be this one.
    if (!launched && result == Tristate::No &&
        (event.kernel.empty() ||
         cuda::isSameKernelName(detector.getAnalysis().kernels[kernel].name,
                                event.kernel)))
      result = Tristate::Unknown;
    if (launched != kernel)
      continue;
    Tristate blocks = HostDetector::hasBlocks(event);
    if (blocks == Tristate::No || event.count.value == 0) {
      because = "the launch at " + HostDetector::describe(event.where) +
                " has an empty grid";
      continue;
    }
    ++launches;
    if (uses[i].used != Tristate::Yes)
      because = uses[i].because;
    if (uses[i].used == Tristate::No)
      continue;
    if (HostDetector::isIssued(trace, event) && uses[i].used == Tristate::Yes)
      result = Tristate::Yes;
    else if (result == Tristate::No)
      result = Tristate::Unknown;
  }
  return result;
}

static void fillReachability(HostDetector &detector,
                             const cuda::HostProgram &program,
                             Analysis &analysis) {
  std::vector<std::vector<ResultUse>> uses;
  for (const cuda::HostTrace &trace : program.traces)
    uses.push_back(getResultUses(detector, trace));
  for (size_t i = 0; i < analysis.kernels.size(); ++i) {
    KernelFacts &kernel = analysis.kernels[i];
    std::map<std::string, Tristate> under;
    int64_t launches = 0;
    std::string because;
    for (size_t t = 0; t < program.traces.size(); ++t) {
      const cuda::HostTrace &trace = program.traces[t];
      int64_t here = 0;
      Tristate reach = getReach(detector, trace, uses[t], i, program.complete,
                                here, because);
      launches = std::max(launches, here);
      auto [entry, isNew] = under.try_emplace(trace.workload, reach);
      // Several host functions without a workload: any of them will do.
      if (!isNew && reach != entry->second)
        entry->second = reach == Tristate::Yes || entry->second == Tristate::Yes
                            ? Tristate::Yes
                            : Tristate::Unknown;
    }
    bool same = true;
    for (const auto &[workload, reach] : under)
      same &= reach == under.begin()->second;
    kernel.reachable =
        under.empty() ? Tristate::Unknown : under.begin()->second;
    if (!same) {
      kernel.reachable = Tristate::No;
      for (const auto &[workload, reach] : under)
        if (reach != Tristate::No)
          kernel.reachable =
              kernel.reachable == Tristate::Yes || reach == Tristate::Yes
                  ? Tristate::Yes
                  : Tristate::Unknown;
      kernel.reachableUnder = under;
    }
    kernel.launches = launches;
    if (kernel.reachable == Tristate::Unknown)
      kernel.notLaunchedBecause = because;
    if (kernel.reachable == Tristate::No)
      kernel.notLaunchedBecause = !because.empty() ? because
                                  : program.traces.empty()
                                      ? "no host function launches it"
                                      : "no path from " +
                                            program.traces.front().entry +
                                            "() launches it";
  }
}

void properties::analyzeHost(const cuda::HostProgram &program,
                             Analysis &analysis,
                             const SnippetProvider &snippets) {
  HostDetector detector(program, analysis, snippets);
  analysis.hostAnalysed = !program.traces.empty();
  auto run = [&](bool onlySource) {
    for (const Property &property : getProperties())
      if (property.detectHost && (property.readsDeviceSource || !onlySource)) {
        property.detectHost(detector);
        detector.finish(property.info);
      }
    analysis.normalize();
  };
  if (program.traces.empty()) {
    // The entry that was asked for is not there: nothing can run.
    if (!program.missingEntry.empty() && program.complete) {
      analysis.hostAnalysed = true;
      for (KernelFacts &kernel : analysis.kernels) {
        kernel.reachable = Tristate::No;
        kernel.launches = 0;
        kernel.notLaunchedBecause =
            "no host function is named " + program.missingEntry;
      }
    }
    return run(/*onlySource=*/true);
  }
  fillReachability(detector, program, analysis);
  bool complete = program.complete;
  for (const cuda::HostTrace &trace : program.traces)
    complete &= trace.complete;
  if (complete)
    for (KernelFacts &kernel : analysis.kernels)
      kernel.completeTiers.insert(Tier::Source);
  run(/*onlySource=*/false);
}
