// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inverse of FactJson.cpp.

#include "d2k/Report/ReadFacts.h"

#include "FactJson.h"

using namespace d2k;
using namespace d2k::report;

namespace {

/// Reads members one after the other. After the first fault everything reads as
/// empty, and `failure` has it.
class Reader {
public:
  explicit Reader(const PropertyCatalog &catalog) : catalog(catalog) {}

  KernelFacts readKernel(const json::Cursor &cursor);
  std::optional<Failure> failure;

private:
  template <typename T>
  T take(Result<T> result) {
    if (result)
      return std::move(*result);
    if (!failure)
      failure = std::move(result.error());
    return T();
  }
  std::vector<json::Cursor> list(const json::Cursor &from,
                                 std::string_view name) {
    Result<json::Cursor> member = from.get(name);
    if (member)
      return take(member->asArray());
    take<int>(forwardFailure(std::move(member)));
    return {};
  }
  std::string text(const json::Cursor &from, std::string_view name) {
    return take(from.getString(name));
  }
  std::vector<std::string> texts(const json::Cursor &from,
                                 std::string_view name) {
    std::optional<json::Cursor> member = from.find(name);
    return member ? take(member->asStrings()) : std::vector<std::string>();
  }
  /// Nothing when the member is missing or null.
  std::optional<int64_t> count(const json::Cursor &from,
                               std::string_view name) {
    std::optional<json::Cursor> member = from.find(name);
    if (!member || member->getValue().isNull())
      return std::nullopt;
    return take(member->asInteger());
  }
  Tristate tristate(const json::Cursor &member) {
    if (member.getValue().isNull())
      return Tristate::Unknown;
    return take(member.asBoolean()) ? Tristate::Yes : Tristate::No;
  }
  Tristate tristate(const json::Cursor &from, std::string_view name) {
    std::optional<json::Cursor> member = from.find(name);
    return member ? tristate(*member) : Tristate::Unknown;
  }
  Tier tier(const json::Cursor &from, const std::string &name) {
    if (std::optional<Tier> found = parseTier(name))
      return *found;
    if (!failure)
      failure = from.fail("unknown tier '" + name + "'").value();
    return Tier::Ptx;
  }
  TierSet tiers(const json::Cursor &from, std::string_view name) {
    TierSet set;
    for (const std::string &one : texts(from, name))
      set.insert(tier(from, one));
    return set;
  }
  SourceLocation readPlace(const json::Cursor &cursor);
  std::vector<SourceLocation> readPlaces(const json::Cursor &from) {
    std::vector<SourceLocation> places;
    for (const json::Cursor &place : list(from, "where"))
      places.push_back(readPlace(place));
    return places;
  }
  AttributeMap readAttributes(const json::Cursor &fact,
                              const std::string &property);
  Fact readFact(const json::Cursor &cursor);
  KernelLoop readLoop(const json::Cursor &cursor);
  LaunchClaim readClaim(const json::Cursor &cursor);

  const PropertyCatalog &catalog;
};

} // namespace

SourceLocation Reader::readPlace(const json::Cursor &cursor) {
  SourceLocation place;
  if (std::optional<json::Cursor> kind = cursor.find("kind"))
    place.kind = take(kind->asString()) == "ptx" ? LocationKind::Ptx
                                                 : LocationKind::Sass;
  place.file = text(cursor, "file");
  place.line = take(cursor.getInteger("line"));
  place.column = take(cursor.getInteger("column"));
  place.snippet = text(cursor, "snippet");
  place.ptxLine = count(cursor, "ptx_line");
  if (cursor.find("instruction"))
    place.instruction = text(cursor, "instruction");
  place.sassOffset = count(cursor, "sass_offset");
  if (cursor.find("sass_instruction"))
    place.sassInstruction = text(cursor, "sass_instruction");
  if (std::optional<json::Cursor> inlined = cursor.find("inlined_from")) {
    place.inlinedFile = text(*inlined, "file");
    place.inlinedLine = take(inlined->getInteger("line"));
  }
  return place;
}

AttributeMap Reader::readAttributes(const json::Cursor &fact,
                                    const std::string &property) {
  AttributeMap attributes;
  Result<json::Cursor> object = fact.get("attributes");
  if (!object) {
    take<int>(forwardFailure(std::move(object)));
    return attributes;
  }
  const PropertyInfo *info = catalog.find(property);
  for (const auto &[name, value] : take(object->asObject())) {
    const AttributeInfo *attribute = info ? info->findAttribute(name) : nullptr;
    if (!attribute) {
      take<int>(value.fail("'" + property + "' has no such attribute"));
      return attributes;
    }
    switch (attribute->type) {
    case AttrType::Boolean:
      attributes[name] = take(value.asBoolean());
      break;
    case AttrType::Integer:
      attributes[name] = take(value.asInteger());
      break;
    case AttrType::Real:
      attributes[name] = take(value.asNumber());
      break;
    case AttrType::String:
      attributes[name] = take(value.asString());
      break;
    }
  }
  return attributes;
}

Fact Reader::readFact(const json::Cursor &cursor) {
  Fact fact;
  fact.property = text(cursor, "property");
  fact.attributes = readAttributes(cursor, fact.property);
  fact.tier = tier(cursor, text(cursor, "tier"));
  fact.tiers = tiers(cursor, "tiers");
  if (std::optional<json::Cursor> loop = cursor.find("loop");
      loop && !loop->getValue().isNull())
    fact.loop = take(loop->asString());
  fact.inMain = tristate(cursor, "main");
  fact.workloads = texts(cursor, "workloads");
  fact.where = readPlaces(cursor);
  return fact;
}

KernelLoop Reader::readLoop(const json::Cursor &cursor) {
  KernelLoop loop;
  loop.id = text(cursor, "id");
  loop.depth = take(cursor.getInteger("depth"));
  loop.trip = count(cursor, "trip");
  loop.main = take(cursor.getBoolean("main"));
  loop.spin = take(cursor.getBoolean("spin"));
  Result<json::Cursor> where = cursor.get("where");
  if (where)
    loop.where = readPlace(*where);
  else
    take<int>(forwardFailure(std::move(where)));
  return loop;
}

LaunchClaim Reader::readClaim(const json::Cursor &cursor) {
  LaunchClaim claim;
  claim.property = text(cursor, "property");
  claim.attributes = readAttributes(cursor, claim.property);
  if (Result<json::Cursor> terms = cursor.get("terms"))
    for (const auto &[name, value] : take(terms->asObject()))
      claim.terms[name] = take(value.asString());
  else
    take<int>(forwardFailure(std::move(terms)));
  if (std::optional<json::Cursor> loop = cursor.find("loop");
      loop && !loop->getValue().isNull())
    claim.loop = take(loop->asString());
  claim.where = readPlaces(cursor);
  return claim;
}

KernelFacts Reader::readKernel(const json::Cursor &cursor) {
  KernelFacts kernel;
  kernel.name = text(cursor, "name");
  kernel.demangled = text(cursor, "demangled");
  kernel.reachable = tristate(cursor, "reachable");
  if (std::optional<json::Cursor> under = cursor.find("reachable_under"))
    for (const auto &[workload, reachable] : take(under->asObject()))
      kernel.reachableUnder[workload] = tristate(reachable);
  if (cursor.find("not_launched_because"))
    kernel.notLaunchedBecause = text(cursor, "not_launched_because");
  kernel.launches = count(cursor, "launches");
  kernel.registers = count(cursor, "registers");
  kernel.sharedBytes = count(cursor, "shared_bytes");
  kernel.spillBytes = count(cursor, "spill_bytes");
  kernel.completeTiers = tiers(cursor, "tiers");
  // A report of before this member says nothing about memory.
  kernel.readsUnknown = kernel.writesUnknown = true;
  if (std::optional<json::Cursor> memory = cursor.find("global_memory")) {
    kernel.readsUnknown = take(memory->getBoolean("reads_unknown"));
    kernel.writesUnknown = take(memory->getBoolean("writes_unknown"));
    for (const json::Cursor &entry : list(*memory, "parameters"))
      kernel.parameterUses.push_back(
          {unsigned(take(entry.getInteger("parameter"))),
           take(entry.getInteger("offset")), take(entry.getBoolean("reads")),
           take(entry.getBoolean("writes")), count(entry, "stored_bytes")});
  }
  if (cursor.find("launch_claims"))
    for (const json::Cursor &claim : list(cursor, "launch_claims"))
      kernel.launchClaims.push_back(readClaim(claim));
  for (const json::Cursor &loop : list(cursor, "loops"))
    kernel.loops.push_back(readLoop(loop));
  for (const json::Cursor &fact : list(cursor, "facts"))
    kernel.facts.push_back(readFact(fact));
  for (const json::Cursor &miss : list(cursor, "near_misses"))
    kernel.nearMisses.push_back(
        {text(miss, "property"), text(miss, "reason"), readPlaces(miss)});
  for (const json::Cursor &entry : list(cursor, "undecided"))
    kernel.undecided.push_back({text(entry, "property"), text(entry, "reason"),
                                text(entry, "would_decide"),
                                texts(entry, "workloads"), readPlaces(entry)});
  return kernel;
}

json::Value d2k::report::writeKernelFacts(const KernelFacts &kernel) {
  return toJson(kernel);
}

Result<KernelFacts>
d2k::report::readKernelFacts(const json::Cursor &kernel,
                             const PropertyCatalog &catalog) {
  Reader reader(catalog);
  KernelFacts facts = reader.readKernel(kernel);
  if (reader.failure)
    return tl::unexpected<Failure>(std::move(*reader.failure));
  return facts;
}
