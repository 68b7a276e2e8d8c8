// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON of the facts model, member by member as the schema lists them.

#include "FactJson.h"

using namespace d2k;
using namespace d2k::report;

static json::Value toJson(Tristate state) {
  if (state == Tristate::Unknown)
    return nullptr;
  return state == Tristate::Yes;
}

static json::Value toJson(const std::optional<int64_t> &count) {
  return count ? json::Value(*count) : json::Value(nullptr);
}

static json::Value toJson(TierSet tiers) {
  json::Array list;
  for (Tier tier : tiers.toVector())
    list.emplace_back(getTierName(tier));
  return list;
}

static json::Value toJson(const SourceLocation &where) {
  json::Object object;
  if (where.kind != LocationKind::Source)
    object.append("kind", where.kind == LocationKind::Ptx ? "ptx" : "sass");
  object.append("file", where.file);
  object.append("line", where.line);
  object.append("column", where.column);
  object.append("snippet", where.snippet);
  if (where.ptxLine)
    object.append("ptx_line", *where.ptxLine);
  if (!where.instruction.empty())
    object.append("instruction", where.instruction);
  if (where.sassOffset)
    object.append("sass_offset", *where.sassOffset);
  if (!where.sassInstruction.empty())
    object.append("sass_instruction", where.sassInstruction);
  if (!where.inlinedFile.empty()) {
    json::Object inlined;
    inlined.append("file", where.inlinedFile);
    inlined.append("line", where.inlinedLine);
    object.append("inlined_from", std::move(inlined));
  }
  return object;
}

json::Value d2k::report::toJson(const std::vector<SourceLocation> &where) {
  json::Array list;
  for (const SourceLocation &one : where)
    list.push_back(::toJson(one));
  return list;
}

json::Value d2k::report::toJson(const std::vector<std::string> &strings) {
  return json::Array(strings.begin(), strings.end());
}

static json::Value toJson(const AttributeMap &attributes) {
  json::Object object;
  for (const auto &[name, value] : attributes)
    object.append(
        name,
        std::visit([](const auto &content) { return json::Value(content); },
                   value));
  return object;
}

static json::Value toJson(const Fact &fact) {
  json::Object object;
  object.append("property", fact.property);
  object.append("attributes", toJson(fact.attributes));
  object.append("tier", getTierName(fact.tier));
  object.append("tiers", toJson(fact.tiers));
  object.append("loop",
                fact.loop ? json::Value(*fact.loop) : json::Value(nullptr));
  object.append("main", toJson(fact.inMain));
  if (!fact.workloads.empty())
    object.append("workloads", report::toJson(fact.workloads));
  object.append("where", report::toJson(fact.where));
  return object;
}

static json::Value toJson(const LaunchClaim &claim) {
  json::Object object;
  object.append("property", claim.property);
  object.append("attributes", toJson(claim.attributes));
  json::Object terms;
  for (const auto &[name, text] : claim.terms)
    terms.append(name, text);
  object.append("terms", std::move(terms));
  object.append("loop",
                claim.loop ? json::Value(*claim.loop) : json::Value(nullptr));
  object.append("where", report::toJson(claim.where));
  return object;
}

void d2k::report::addFactSet(const FactSet &facts, json::Object &object) {
  json::Array list;
  for (const Fact &fact : facts.facts)
    list.push_back(::toJson(fact));
  object.append("facts", std::move(list));
  list.clear();
  for (const NearMiss &miss : facts.nearMisses) {
    json::Object entry;
    entry.append("property", miss.property);
    entry.append("reason", miss.reason);
    entry.append("where", toJson(miss.where));
    list.push_back(std::move(entry));
  }
  object.append("near_misses", std::move(list));
  list.clear();
  for (const Undecided &undecided : facts.undecided) {
    json::Object entry;
    entry.append("property", undecided.property);
    entry.append("reason", undecided.reason);
    entry.append("would_decide", undecided.wouldDecide);
    if (!undecided.workloads.empty())
      entry.append("workloads", toJson(undecided.workloads));
    entry.append("where", toJson(undecided.where));
    list.push_back(std::move(entry));
  }
  object.append("undecided", std::move(list));
}

json::Value d2k::report::toJson(const KernelFacts &kernel) {
  json::Object object;
  object.append("name", kernel.name);
  object.append("demangled", kernel.demangled);
  object.append("reachable", ::toJson(kernel.reachable));
  if (!kernel.reachableUnder.empty()) {
    json::Object under;
    for (const auto &[workload, reachable] : kernel.reachableUnder)
      under.append(workload, ::toJson(reachable));
    object.append("reachable_under", std::move(under));
  }
  if (!kernel.notLaunchedBecause.empty())
    object.append("not_launched_because", kernel.notLaunchedBecause);
  object.append("launches", ::toJson(kernel.launches));
  object.append("registers", ::toJson(kernel.registers));
  object.append("shared_bytes", ::toJson(kernel.sharedBytes));
  object.append("spill_bytes", ::toJson(kernel.spillBytes));
  object.append("tiers", ::toJson(kernel.completeTiers));
  json::Object memory;
  memory.append("reads_unknown", kernel.readsUnknown);
  memory.append("writes_unknown", kernel.writesUnknown);
  json::Array uses;
  for (const ParameterUse &use : kernel.parameterUses) {
    json::Object entry;
    entry.append("parameter", int64_t(use.parameter));
    entry.append("offset", use.offset);
    entry.append("reads", use.reads);
    entry.append("writes", use.writes);
    entry.append("stored_bytes", ::toJson(use.storedBytes));
    uses.push_back(std::move(entry));
  }
  memory.append("parameters", std::move(uses));
  object.append("global_memory", std::move(memory));
  if (!kernel.launchClaims.empty()) {
    json::Array claims;
    for (const LaunchClaim &claim : kernel.launchClaims)
      claims.push_back(::toJson(claim));
    object.append("launch_claims", std::move(claims));
  }
  json::Array loops;
  for (const KernelLoop &loop : kernel.loops) {
    json::Object entry;
    entry.append("id", loop.id);
    entry.append("depth", loop.depth);
    entry.append("trip", ::toJson(loop.trip));
    entry.append("main", loop.main);
    entry.append("spin", loop.spin);
    entry.append("where", ::toJson(loop.where));
    loops.push_back(std::move(entry));
  }
  object.append("loops", std::move(loops));
  addFactSet(kernel, object);
  return object;
}
