// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an analysis found out about one input: facts, near misses and undecided
// properties of each kernel and of the host code. Detectors write this model,
// rubrics and reports read it. It is plain data: no LLVM, no behaviour beyond
// ordering and merging.
//
// Terms
//   property   a decidable claim about the code that runs (docs/Properties.md)
//   fact       one occurrence of a property that has been *proved*
//   near miss  a property that the code reaches for and does not attain
//   undecided  a property that the analysis could neither prove nor refute
//   tier       where the evidence was read: source, PTX, machine code, profile
//
// The three-state result. For a kernel and a property:
//   proved          there is a fact at a deciding tier of the property;
//   proved absent   there is neither a fact nor an undecided entry, and a
//                   deciding tier for which this version has a detector is in
//                   KernelFacts::completeTiers;
//   undecided       everything else: there is an undecided entry, or the
//                   property has no detector in this version, or its deciding
//                   tier could not be had.
// A detector that is not sure must therefore write an Undecided entry: silence
// means absence.

#ifndef D2K_FACT_FACT_H
#define D2K_FACT_FACT_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace d2k {

//===----------------------------------------------------------------------===//
// Tiers
//===----------------------------------------------------------------------===//

/// Where evidence was read. The order is that of the compilation.
enum class Tier : uint8_t {
  /// Clang's syntax tree: the author wrote it, in reachable code.
  Source,
  /// PTX that nvcc made, or that the user handed in: the front end kept it.
  Ptx,
  /// PTX that Clang made. Decides what `Ptx` decides, but a score that rests
  /// on it is never complete.
  PtxClang,
  /// Machine code: ptxas kept it and the GPU executes it.
  Sass,
  /// A profile. It confirms or contradicts a structural fact and never
  /// establishes one.
  Runtime,
};

/// Number of enumerators of Tier.
inline constexpr unsigned kNumTiers = 5;

/// The spelling used in reports and JSON: "source", "ptx", "ptx:clang",
/// "sass", "runtime".
std::string_view getTierName(Tier tier);

/// Inverse of getTierName; nothing when \p name is no tier.
std::optional<Tier> parseTier(std::string_view name);

/// A set of tiers; iteration order is that of the enumerators.
class TierSet {
public:
  constexpr TierSet() = default;
  constexpr TierSet(std::initializer_list<Tier> tiers) {
    for (Tier tier : tiers)
      insert(tier);
  }

  constexpr void insert(Tier tier) { bits |= bit(tier); }
  constexpr void insert(TierSet other) { bits |= other.bits; }
  constexpr bool contains(Tier tier) const { return bits & bit(tier); }
  constexpr bool empty() const { return bits == 0; }
  /// The tiers that are in both sets.
  constexpr TierSet intersect(TierSet other) const {
    TierSet result;
    result.bits = bits & other.bits;
    return result;
  }
  /// The members in ascending order.
  std::vector<Tier> toVector() const;

  friend constexpr bool operator==(TierSet a, TierSet b) {
    return a.bits == b.bits;
  }

private:
  static constexpr uint8_t bit(Tier tier) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(tier));
  }

  uint8_t bits = 0;
};

//===----------------------------------------------------------------------===//
// Locations and attributes
//===----------------------------------------------------------------------===//

/// What the line and column of a SourceLocation count in.
enum class LocationKind : uint8_t {
  /// A file that the author wrote (found through line information).
  Source,
  /// The PTX text; used when the PTX has no line information.
  Ptx,
  /// Machine code without line information; `line` is the byte offset of the
  /// instruction in its kernel.
  Sass,
};

/// One place in the code, as precise as the evidence allows.
struct SourceLocation {
  LocationKind kind = LocationKind::Source;
  /// Path as the compiler recorded it, or as the user gave it.
  std::string file;
  /// 1-based; 0 when not known.
  int64_t line = 0;
  /// 1-based; 0 when not known.
  int64_t column = 0;
  /// The text of that line without leading and trailing blanks; empty when the
  /// file could not be read. Untrusted: sanitise before printing.
  std::string snippet;
  /// For kinds Source and Sass: the line of the PTX instruction that stood for
  /// it.
  std::optional<int64_t> ptxLine;
  /// Mnemonic, with modifiers, of the first instruction there that is evidence
  /// ("ldmatrix.sync.aligned.m8n8.x4.shared.b16"); empty when the place is not
  /// an instruction. The line of an inline assembly statement alone says
  /// little.
  std::string instruction;
  /// Byte offset in the kernel of the first machine instruction there that is
  /// evidence.
  std::optional<int64_t> sassOffset;
  /// Its mnemonic: "LDSM.16.M88.4".
  std::string sassInstruction;
  /// For kind Source: when `file` and `line` are where the author's code calls
  /// that of a library's header, the place in the header that the instruction
  /// was made from; else an empty file and 0.
  std::string inlinedFile;
  int64_t inlinedLine = 0;

  friend bool operator==(const SourceLocation &,
                         const SourceLocation &) = default;
  friend bool operator<(const SourceLocation &a, const SourceLocation &b) {
    return std::tie(a.file, a.line, a.column, a.kind, a.ptxLine, a.snippet,
                    a.instruction, a.sassOffset, a.sassInstruction,
                    a.inlinedFile, a.inlinedLine) <
           std::tie(b.file, b.line, b.column, b.kind, b.ptxLine, b.snippet,
                    b.instruction, b.sassOffset, b.sassInstruction,
                    b.inlinedFile, b.inlinedLine);
  }
};

/// The value of an attribute; its type is the one that PropertyInfo declares.
using AttrValue = std::variant<bool, int64_t, double, std::string>;

/// Attributes of a fact by name. An attribute that the property declares and
/// that is missing here is *not known*: a comparison with it is undecided.
using AttributeMap = std::map<std::string, AttrValue>;

/// The value as reports print it: `true`, `16`, `0.75`, `cp_async`.
std::string toString(const AttrValue &value);

/// An answer with three values. `Unknown` must be read as "either is possible".
enum class Tristate : uint8_t { No, Unknown, Yes };

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// One proved occurrence of a property. Occurrences that agree in everything
/// but `where` are one Fact with several locations (see normalize).
struct Fact {
  /// Id from the property catalog.
  std::string property;
  AttributeMap attributes;
  /// The deciding tier at which it was proved.
  Tier tier = Tier::Ptx;
  /// All tiers at which it was seen; contains `tier`.
  TierSet tiers;
  /// Id of the innermost loop that holds it, when it lies in one.
  std::optional<std::string> loop;
  /// Whether it lies in the kernel's main region. Note the difference to
  /// `loop`: a region has one loop for each role, and may have none.
  Tristate inMain = Tristate::Unknown;
  /// Workloads under which it holds; empty means all of them.
  std::vector<std::string> workloads;
  /// At least one place, ascending, without duplicates.
  std::vector<SourceLocation> where;
};

/// A property that the code reaches for and does not attain.
struct NearMiss {
  std::string property;
  /// One sentence that a kernel author can act on; names lines and values.
  std::string reason;
  std::vector<SourceLocation> where;
};

/// A property that could be neither proved nor refuted.
struct Undecided {
  std::string property;
  /// Why: lower case, no final period.
  std::string reason;
  /// What would decide it: "analyse the cubin that was executed".
  std::string wouldDecide;
  /// Workloads under which it is undecided; empty means all of them.
  std::vector<std::string> workloads;
  std::vector<SourceLocation> where;
};

/// The findings about one subject: a kernel, or the host code.
struct FactSet {
  std::vector<Fact> facts;
  std::vector<NearMiss> nearMisses;
  std::vector<Undecided> undecided;

  /// Sorts everything into one deterministic order, merges facts that differ
  /// only in their locations and removes duplicate entries and locations.
  /// Idempotent, and independent of the order of insertion.
  void normalize();
};

//===----------------------------------------------------------------------===//
// Kernels and the whole analysis
//===----------------------------------------------------------------------===//

/// One natural loop of a kernel. (Not `LoopInfo`, which LLVM has.)
struct KernelLoop {
  /// Stable in one report: "L0", "L0.1" for the second loop inside it.
  std::string id;
  /// 1 for an outermost loop.
  int64_t depth = 1;
  /// Trip count when it is a constant.
  std::optional<int64_t> trip;
  /// Belongs to the main region.
  bool main = false;
  /// Only polls (try_wait, acquire load, nanosleep): it is one wait operation
  /// and holds no facts.
  bool spin = false;
  /// Place of the header.
  SourceLocation where;
};

/// Use of the global memory behind a pointer (or tensor map) that a kernel
/// gets.
struct ParameterUse {
  /// Position among the parameters, from 0.
  unsigned parameter = 0;
  /// Byte offset of the pointer in the parameter.
  int64_t offset = 0;
  bool reads = false;
  bool writes = false;
  /// Most bytes that one thread stores there, when that is known: nothing for
  /// copies by other agents and stores in loops of unknown length.
  std::optional<int64_t> storedBytes = std::nullopt;
};

/// A fact that the code of a kernel shows but for what its launch decides: the
/// host code settles it. Until then the property has an Undecided entry.
struct LaunchClaim {
  std::string property;
  AttributeMap attributes;
  /// Quantities of the launch on which the claim rests, by the names that the
  /// property uses, as texts of LaunchExpression.h.
  std::map<std::string, std::string> terms;
  /// The loop that holds it, as in Fact.
  std::optional<std::string> loop;
  std::vector<SourceLocation> where;
};

/// Everything known about one kernel.
struct KernelFacts : FactSet {
  /// Mangled name: the identity across tiers of one input.
  std::string name;
  /// Demangled signature, or `name` when it does not demangle.
  std::string demangled;
  /// Whether it is on the path to an output: the entry function launches it,
  /// and something of what it writes ends in an output. Unknown when no host
  /// code was followed (then every kernel counts as launched), when a launch
  /// stands under a condition that cannot be evaluated, or when it may be
  /// overwritten (then it counts as possible); Analysis::hostAnalysed tells the
  /// first apart.
  Tristate reachable = Tristate::Unknown;
  /// Why it is not, or perhaps not: "no path from d2k_gemm_bf16() launches it".
  std::string notLaunchedBecause;
  /// How it uses the memory that its parameters point to, ascending.
  std::vector<ParameterUse> parameterUses;
  /// Claims about the kernel that its launches settle.
  std::vector<LaunchClaim> launchClaims;
  /// It also reads or writes memory through addresses whose origin is not
  /// known.
  bool readsUnknown = false, writesUnknown = false;
  /// The same for single workloads, by workload id, where it differs.
  std::map<std::string, Tristate> reachableUnder;
  /// Launch sites on the path of one call, when known.
  std::optional<int64_t> launches;
  /// Registers of a thread, as ptxas reports them.
  std::optional<int64_t> registers;
  /// Static shared memory in bytes.
  std::optional<int64_t> sharedBytes;
  /// Bytes of spill stores and loads.
  std::optional<int64_t> spillBytes;
  /// Tiers at which this kernel was seen whole: the only ones at which the
  /// absence of a fact proves anything.
  TierSet completeTiers;
  std::vector<KernelLoop> loops;
};

/// How reading one tier went.
enum class TierState : uint8_t {
  Ok,
  /// Something of it is missing or was not understood: facts count, absence
  /// proves nothing.
  Partial,
  /// It could not be had (no tool, not asked for, no such input).
  Unavailable,
  /// It was tried and the tool refused.
  Failed,
};

/// "ok", "partial", "unavailable", "failed".
std::string_view getTierStateName(TierState state);

/// Outcome of one tier.
struct TierStatus {
  TierState state = TierState::Unavailable;
  /// Why it is not Ok; lower case, no final period.
  std::string reason;
  /// The tool's own words, one message an entry.
  std::vector<std::string> diagnostics;
  /// Tool and version that made the evidence: "nvcc 13.0.88".
  std::string tool;
  /// Wall-clock time, which reports leave out unless asked: it would make two
  /// runs differ.
  std::optional<double> seconds;
  /// How much of it the tool took that is not ours (nvdisasm).
  std::optional<double> toolSeconds = std::nullopt;
};

/// One input file and the hash of what was read from it.
struct InputFile {
  std::string path;
  /// Lower-case hexadecimal SHA-256.
  std::string sha256;
};

/// The findings about one input for one target architecture.
struct Analysis {
  /// "sm_100a"
  std::string target;
  std::vector<InputFile> inputs;
  std::map<Tier, TierStatus> tiers;
  std::vector<KernelFacts> kernels;
  FactSet host;
  /// Host code was followed from the entry function; see
  /// KernelFacts::reachable.
  bool hostAnalysed = false;

  /// Normalizes every fact set and sorts kernels by name and loops by id.
  void normalize();
  /// State of \p tier; Unavailable when it has no entry.
  TierState getTierState(Tier tier) const;
};

} // namespace d2k

#endif // D2K_FACT_FACT_H
