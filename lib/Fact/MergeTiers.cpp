// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Corroboration and contradiction between PTX and machine code; the rules are
// in the header.

#include "d2k/Fact/MergeTiers.h"

#include <algorithm>
#include <iterator>
#include <map>

using namespace d2k;

namespace {

/// What the two tiers say about one property of one kernel.
class PropertyMerge {
public:
  PropertyMerge(const PropertyInfo &info, FactSet ptx, FactSet sass,
                bool ptxWhole, bool sassWhole)
      : info(info), ptx(std::move(ptx)), sass(std::move(sass)),
        ptxSettles(ptxWhole && this->ptx.undecided.empty()),
        sassSettles(sassWhole && this->sass.undecided.empty()) {}

  FactSet run();

private:
  bool corroborate(Fact &fact);
  void contradict(const Fact &fact, FactSet &result) const;

  const PropertyInfo &info;
  FactSet ptx, sass;
  bool ptxSettles, sassSettles;
  /// Of the facts of machine code: agrees with one of PTX.
  std::vector<bool> used;
  /// Of the facts of machine code: how many of PTX it agrees with and shares a
  /// place with.
  std::vector<size_t> numPartners;
};

} // namespace

/// Whether an instruction at `b`, in machine code, was made from what is at
/// `a`, in PTX.
static bool isSamePlace(const SourceLocation &a, const SourceLocation &b) {
  if (a.kind == LocationKind::Ptx)
    return b.ptxLine == a.line;
  if (a.ptxLine && a.ptxLine == b.ptxLine)
    return true;
  return b.kind == LocationKind::Source && a.file == b.file && a.line == b.line;
}

static bool sharePlace(const Fact &ptx, const Fact &sass) {
  for (const SourceLocation &a : ptx.where)
    for (const SourceLocation &b : sass.where)
      if (isSamePlace(a, b))
        return true;
  return false;
}

bool PropertyMerge::corroborate(Fact &fact) {
  bool found = false;
  for (size_t i = 0; i < sass.facts.size(); ++i) {
    const Fact &other = sass.facts[i];
    if (!info.agree(fact.attributes, other.attributes))
      continue;
    used[i] = found = true;
    fact.tiers.insert(other.tiers);
    // What PTX leaves open, machine code may know (and the other way round).
    fact.attributes.insert(other.attributes.begin(), other.attributes.end());
    std::vector<SourceLocation> elsewhere;
    for (const SourceLocation &place : other.where) {
      bool matched = false;
      for (SourceLocation &known : fact.where)
        if (isSamePlace(known, place)) {
          matched = true;
          if (known.sassInstruction.empty()) {
            known.sassOffset = place.sassOffset;
            known.sassInstruction = place.sassInstruction;
          }
        }
      if (!matched)
        elsewhere.push_back(place);
    }
    // What belongs to another fact, of another loop, says nothing of this one.
    bool isOwn = elsewhere.size() == other.where.size() ? numPartners[i] == 0
                                                        : numPartners[i] == 1;
    if (isOwn)
      fact.where.insert(fact.where.end(), elsewhere.begin(), elsewhere.end());
  }
  return found;
}

/// "bytes 8, direction load".
static std::string describe(const AttributeMap &attributes) {
  std::string text;
  for (const auto &[name, value] : attributes)
    text += (text.empty() ? "" : ", ") + name + " " + toString(value);
  return text;
}

static std::string nameOf(const SourceLocation &place) {
  size_t slash = place.file.rfind('/');
  std::string file =
      slash == std::string::npos ? place.file : place.file.substr(slash + 1);
  if (place.kind == LocationKind::Ptx)
    return "PTX line " + std::to_string(place.line);
  return file + ":" + std::to_string(place.line);
}

void PropertyMerge::contradict(const Fact &fact, FactSet &result) const {
  NearMiss miss;
  miss.property = info.id;
  if (!fact.where.empty() && !fact.where.front().instruction.empty())
    miss.reason = "`" + fact.where.front().instruction + "` ";
  std::string attributes = describe(fact.attributes);
  if (!attributes.empty())
    miss.reason += "(" + attributes + ") ";
  miss.reason += "is in the PTX";
  if (!fact.where.empty())
    miss.reason += " at " + nameOf(fact.where.front());
  miss.reason += ", and the machine code does not have it";
  std::string instead;
  for (const Fact &other : sass.facts)
    if (std::string text = describe(other.attributes);
        !text.empty() && instead.find(text) == std::string::npos)
      instead += (instead.empty() ? "" : "; ") + text;
  if (!instead.empty())
    miss.reason += ", which has: " + instead;
  miss.where = fact.where;
  result.nearMisses.push_back(std::move(miss));
}

/// Whether a fact of machine code alone is one that the author, and not ptxas,
/// would have made: copies between whose issue and wait there is work. ptxas
/// moves no copy over a wait or a barrier, but some work behind the next copy.
static bool isAuthors(const PropertyInfo &info, const Fact &fact) {
  if (info.id != "async_pipeline")
    return false;
  auto mechanism = fact.attributes.find("mechanism");
  return mechanism != fact.attributes.end() &&
         mechanism->second != AttrValue(std::string("register_prefetch"));
}

FactSet PropertyMerge::run() {
  FactSet result;
  used.assign(sass.facts.size(), false);
  for (const Fact &other : sass.facts)
    numPartners.push_back(size_t(std::count_if(
        ptx.facts.begin(), ptx.facts.end(), [&](const Fact &fact) {
          return info.agree(fact.attributes, other.attributes) &&
                 sharePlace(fact, other);
        })));
  for (Fact &fact : ptx.facts) {
    if (corroborate(fact) || !sassSettles)
      result.facts.push_back(std::move(fact));
    else
      contradict(fact, result);
  }
  bool ptxProves = !result.facts.empty();
  bool ptxMisses = ptxSettles && ptx.facts.empty() && !ptx.nearMisses.empty();
  for (size_t i = 0; i < sass.facts.size(); ++i)
    if (!used[i] && !(ptxMisses && isAuthors(info, sass.facts[i])))
      result.facts.push_back(std::move(sass.facts[i]));
  auto append = [](auto &into, auto &from) {
    into.insert(into.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
  };
  // The same near misses in the words of machine code tell a reader nothing.
  bool ptxExplains = ptxProves || !ptx.nearMisses.empty();
  append(result.nearMisses, ptx.nearMisses);
  if (!ptxExplains)
    append(result.nearMisses, sass.nearMisses);
  if (sassSettles || ptxSettles)
    return result;
  bool ptxAsks = !ptx.undecided.empty();
  append(result.undecided, ptx.undecided);
  if (!ptxAsks)
    append(result.undecided, sass.undecided);
  return result;
}

/// Takes the findings about `property` out of `from`.
static FactSet take(FactSet &from, const std::string &property) {
  FactSet result;
  auto move = [&](auto &list, auto &into) {
    auto isIt = [&](const auto &entry) { return entry.property == property; };
    std::copy_if(list.begin(), list.end(), std::back_inserter(into), isIt);
    std::erase_if(list, isIt);
  };
  move(from.facts, result.facts);
  move(from.nearMisses, result.nearMisses);
  move(from.undecided, result.undecided);
  return result;
}

static void add(FactSet from, FactSet &into) {
  auto move = [](auto &list, auto &to) {
    to.insert(to.end(), std::make_move_iterator(list.begin()),
              std::make_move_iterator(list.end()));
  };
  move(from.facts, into.facts);
  move(from.nearMisses, into.nearMisses);
  move(from.undecided, into.undecided);
}

/// The PTX loop at the place of machine-code loop `id`, if there is one only.
static std::optional<std::string>
findLoop(const KernelFacts &ptx, const KernelFacts &sass,
         const std::optional<std::string> &id) {
  if (!id)
    return std::nullopt;
  auto loop =
      std::find_if(sass.loops.begin(), sass.loops.end(),
                   [&](const KernelLoop &entry) { return entry.id == *id; });
  if (loop == sass.loops.end())
    return std::nullopt;
  std::optional<std::string> found;
  for (const KernelLoop &candidate : ptx.loops) {
    if (!isSamePlace(candidate.where, loop->where))
      continue;
    if (found)
      return std::nullopt;
    found = candidate.id;
  }
  return found;
}

KernelFacts d2k::mergeTiers(KernelFacts ptx, KernelFacts sass,
                            const PropertyCatalog &catalog) {
  bool ptxWhole = ptx.completeTiers.contains(Tier::Ptx);
  bool sassWhole = sass.completeTiers.contains(Tier::Sass);
  for (Fact &fact : sass.facts)
    fact.loop = findLoop(ptx, sass, fact.loop);
  FactSet merged;
  for (const PropertyInfo &info : catalog.getProperties()) {
    FactSet fromPtx = take(ptx, info.id), fromSass = take(sass, info.id);
    bool inPtx = info.detectorTiers.contains(Tier::Ptx);
    bool inSass = info.detectorTiers.contains(Tier::Sass);
    if (inPtx && inSass)
      add(PropertyMerge(info, std::move(fromPtx), std::move(fromSass), ptxWhole,
                        sassWhole)
              .run(),
          merged);
    else
      add(inSass ? std::move(fromSass) : std::move(fromPtx), merged);
  }
  static_cast<FactSet &>(ptx) = std::move(merged);
  ptx.completeTiers.insert(sass.completeTiers);
  if (sass.registers)
    ptx.registers = sass.registers;
  if (sass.sharedBytes)
    ptx.sharedBytes = sass.sharedBytes;
  if (!ptx.spillBytes)
    ptx.spillBytes = sass.spillBytes;
  return ptx;
}

std::vector<KernelFacts> d2k::mergeKernels(std::vector<KernelFacts> ptx,
                                           std::vector<KernelFacts> sass,
                                           const PropertyCatalog &catalog) {
  std::map<std::string, unsigned> ptxNames, sassNames;
  for (const KernelFacts &kernel : ptx)
    ++ptxNames[kernel.demangled];
  for (const KernelFacts &kernel : sass)
    ++sassNames[kernel.demangled];
  std::vector<bool> used(sass.size(), false);
  auto findPartner = [&](const KernelFacts &kernel) {
    for (size_t i = 0; i < sass.size(); ++i)
      if (!used[i] && sass[i].name == kernel.name)
        return i;
    bool unique =
        ptxNames[kernel.demangled] == 1 && sassNames[kernel.demangled] == 1;
    for (size_t i = 0; i < sass.size() && unique; ++i)
      if (!used[i] && sass[i].demangled == kernel.demangled)
        return i;
    return sass.size();
  };
  std::vector<KernelFacts> result;
  for (KernelFacts &kernel : ptx) {
    size_t partner = findPartner(kernel);
    if (partner == sass.size()) {
      result.push_back(std::move(kernel));
      continue;
    }
    used[partner] = true;
    result.push_back(
        mergeTiers(std::move(kernel), std::move(sass[partner]), catalog));
  }
  for (size_t i = 0; i < sass.size(); ++i)
    if (!used[i])
      result.push_back(std::move(sass[i]));
  return result;
}
