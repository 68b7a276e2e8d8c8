// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fast_math: the author asked for an approximate unit. PTX shows which units
// the kernel uses on the way to its output, and at which lines; the source
// shows what stands at those lines: an intrinsic, inline assembly, an ordinary
// function under a flag, or an ordinary function that the compiler lowered,
// which is no choice. A polynomial in the place of the unit for 2^x is seen in
// PTX alone: no function of CUDA's in single precision becomes one.

#include "Engine/Detector.h"
#include "Engine/HostDetector.h"
#include "Engine/SoftwareExp2.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

/// How the sentence about a unit ends; the source's half looks for it.
static constexpr const char *kAsked =
    "; whether the author asked for it stands in the source";
static constexpr const char *kWouldDecide =
    "the source of the kernel, compiled with -lineinfo";

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// Whether `op` is computed by a unit with limited precision; the forms with a
/// rounding mode are exact.
static bool isApproximate(kern::MathOp op) {
  switch (op.getKind()) {
  case kern::MathKind::Rcp:
  case kern::MathKind::Sqrt:
  case kern::MathKind::Div:
    return op.getRounding() == kern::Rounding::Approx ||
           op.getRounding() == kern::Rounding::Full;
  default:
    return true;
  }
}

static void detectPolynomials(Detector &detector) {
  const analysis::KernelIndex &index = detector.getIndex();
  const analysis::Provenance &provenance = detector.getProvenance();
  for (const SoftwareExp2 &power :
       findSoftwareExp2(index, detector.getConstants())) {
    Judgement judgement =
        detector.judgeRuns(power.op)
            .then([&] {
              if (provenance.getTerms(power.argument).empty() &&
                  !provenance.isUnknown(power.argument))
                return Judgement::nearMiss(
                    "makes 2^x by a polynomial, of a number that comes from no "
                    "input");
              return Judgement::proved();
            })
            .then([&] {
              return detector.judgeReach(
                  provenance.getReach(index.getFirstResult(power.op)),
                  "2^x by a polynomial");
            })
            .then([&] { return detector.judgeOneWay(); });
    if (!judgement.isProved()) {
      detector.add(judgement, power.op);
      continue;
    }
    AttributeMap attributes;
    attributes["op"] = std::string("software_exp2");
    detector.addFact(std::move(attributes), power.op, {power.shift, power.op});
  }
}

static void detect(Detector &detector) {
  detectPolynomials(detector);
  const analysis::KernelIndex &index = detector.getIndex();
  const analysis::Provenance &provenance = detector.getProvenance();
  // By the unit and the line: loops are unrolled.
  std::map<std::pair<std::string, std::string>, llvm::SmallVector<OpId, 2>>
      units;
  detector.forEach<kern::MathOp>([&](OpId id, kern::MathOp op) {
    if (!isApproximate(op))
      return;
    Judgement judgement =
        detector.judgeRuns(id)
            .then([&] {
              return detector.judgeReach(
                  provenance.getReach(index.getFirstResult(id)), "its result");
            })
            .then([&] { return detector.judgeOneWay(); });
    // Whatever it is, it makes no difference.
    if (judgement.verdict == Judgement::Verdict::NearMiss)
      return;
    if (!judgement.isProved())
      return detector.add(judgement, id);
    SourceLocation place = detector.getPlace(id);
    units[{kern::stringifyMathKind(op.getKind()).str(),
           place.file + ":" + std::to_string(place.line)}]
        .push_back(id);
  });
  for (const auto &[unit, ops] : units) {
    Judgement workers = detector.judgeWorkers(ops);
    if (!workers.isProved()) {
      detector.add(workers, ops.front());
      continue;
    }
    detector.addUndecided("the unit `" + unit.first + "` is used at " +
                              detector.describe(ops) + kAsked,
                          kWouldDecide, ops);
  }
}

//===----------------------------------------------------------------------===//
// The source
//===----------------------------------------------------------------------===//

namespace {
/// Sites by the line that they are at.
class Sites {
public:
  explicit Sites(const HostProgram &program) : program(program) {}

  /// Sites that may be `unit` at `place`; those of one statement.
  std::vector<const MathSite *> find(const SourceLocation &place,
                                     llvm::StringRef unit) {
    std::vector<const MathSite *> result;
    std::string file = getRealPath(place.file);
    for (const MathSite &site : program.mathSites)
      if (site.firstLine <= place.line && place.line <= site.lastLine &&
          getRealPath(site.where.file) == file &&
          (site.units.empty() || llvm::is_contained(site.units, unit)))
        result.push_back(&site);
    return result;
  }

private:
  const std::string &getRealPath(const std::string &path) {
    auto [entry, isNew] = paths.try_emplace(path, path);
    llvm::SmallString<256> real;
    if (isNew && !llvm::sys::fs::real_path(path, real))
      entry->second = real.str().str();
    return entry->second;
  }

  const HostProgram &program;
  llvm::StringMap<std::string> paths;
};
} // namespace

/// The unit of an entry that `detect` left undecided; empty for other entries.
static llvm::StringRef getUnit(const Undecided &entry) {
  llvm::StringRef reason = entry.reason;
  if (entry.property != "fast_math" || !reason.ends_with(kAsked) ||
      entry.where.empty() || entry.where[0].kind != LocationKind::Source)
    return "";
  return reason.split('`').second.split('`').first;
}

bool properties::needsDeviceSource(const HostProgram &program,
                                   const Analysis &analysis) {
  Sites sites(program);
  for (const KernelFacts &kernel : analysis.kernels)
    for (const Undecided &entry : kernel.undecided)
      if (llvm::StringRef unit = getUnit(entry);
          !unit.empty() && sites.find(entry.where[0], unit).empty())
        return true;
  return false;
}

/// "`__expf` at k.cu:12"
static std::string describe(const MathSite &site) {
  return "`" + site.name + "` at " + HostDetector::describe(site.where);
}

static void judge(HostDetector &detector, Sites &sites, size_t kernel,
                  const Undecided &entry) {
  llvm::StringRef unit = getUnit(entry);
  std::vector<const MathSite *> found = sites.find(entry.where[0], unit);
  const MathSite *plain = nullptr;
  const MathSite *choice = nullptr;
  bool isOneChoice = true;
  for (const MathSite *site : found) {
    if (site->how == MathSite::How::Plain) {
      plain = site;
      continue;
    }
    isOneChoice &= !choice || choice->op == site->op;
    choice = site;
  }
  std::string start = "the unit `" + unit.str() + "` is used at " +
                      HostDetector::describe(entry.where[0]);
  if (choice && !plain && isOneChoice) {
    AttributeMap attributes;
    attributes["op"] = choice->op;
    if (entry.workloads.empty())
      return detector.addSourceFact(kernel, std::move(attributes), entry.where);
    for (const HostTrace &trace : detector.getTraces())
      if (llvm::is_contained(entry.workloads, trace.workload))
        detector.addFact(trace, kernel, attributes, entry.where);
    return;
  }
  if (!choice && plain)
    return detector.addNearMiss(
        kernel,
        start + ", but " + describe(*plain) +
            " is an ordinary function, which the compiler lowered to it",
        entry.where);
  std::string why = ", where the source has no function or inline assembly "
                    "that stands for it";
  if (choice && plain)
    why = ", where the source has both " + describe(*choice) +
          " and the ordinary function " + describe(*plain);
  else if (choice)
    why = ", where the source has several functions that may become it";
  detector.addSourceUndecided(kernel, start + why,
                              "statements with one such function each",
                              entry.where);
}

static void detectHost(HostDetector &detector) {
  Sites sites(detector.getProgram());
  const std::vector<KernelFacts> &kernels = detector.getAnalysis().kernels;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i].completeTiers.contains(Tier::Ptx) &&
        !kernels[i].completeTiers.contains(Tier::PtxClang))
      detector.addSourceUndecided(
          i, "which functions of the source the kernel runs is seen in PTX",
          "PTX of the kernel, with all of its operations known", {});
    std::vector<Undecided> entries = kernels[i].undecided;
    for (const Undecided &entry : entries)
      if (!getUnit(entry).empty())
        judge(detector, sites, i, entry);
    detector.settle(i, "fast_math", [](const Undecided &entry) {
      return !getUnit(entry).empty();
    });
  }
}

namespace d2k::properties {
Property makeFastMath() {
  PropertyInfo info;
  info.id = "fast_math";
  info.group = 'B';
  info.summary =
      "the author chose an approximate unit (intrinsic, inline assembly, "
      "flag) or a polynomial stand-in on the way to the output; what the "
      "compiler lowers is no choice";
  info.attributes = {{"op",
                      AttrType::String,
                      {"ex2", "exp", "lg2", "log", "rcp", "rsqrt", "sqrt",
                       "div", "sin", "cos", "tanh", "software_exp2"},
                      "the function"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx};
  info.detectorTiers = {Tier::Source, Tier::Ptx};
  return {info, detect, detectHost, /*readsDeviceSource=*/true};
}
} // namespace d2k::properties
