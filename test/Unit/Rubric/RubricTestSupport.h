// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rubrics, facts and a catalog in a few words, so that a test shows nothing but
// what it is about.

#ifndef D2K_TEST_UNIT_RUBRIC_RUBRICTESTSUPPORT_H
#define D2K_TEST_UNIT_RUBRIC_RUBRICTESTSUPPORT_H

#include "d2k/Fact/PropertyInfo.h"
#include "d2k/Rubric/Rubric.h"

#include "gtest/gtest.h"

#include <string>

namespace d2k::test {

/// The properties that tests speak of: `copy`, `pipe` and `spill` (inverse) of
/// kernels, decided at PTX; `later`, which has no detector; `launches` of the
/// host.
inline PropertyCatalog makeCatalog() {
  PropertyCatalog catalog;
  auto addProperty = [&](const char *id, TierSet deciding, TierSet detectors) {
    PropertyInfo info;
    info.id = id;
    info.summary = id;
    info.decidingTiers = deciding;
    info.detectorTiers = detectors;
    info.inverse = info.id == "spill";
    info.subject = info.id == "launches" ? Subject::Host : Subject::Kernel;
    info.attributes = {
        {"bytes", AttrType::Integer, {}, "bytes"},
        {"share", AttrType::Real, {}, "share"},
        {"kind", AttrType::String, {"bulk", "plain"}, "kind"},
        {"fused", AttrType::Boolean, {}, "fused"},
    };
    EXPECT_TRUE(catalog.add(std::move(info)));
  };
  addProperty("copy", {Tier::Ptx, Tier::Sass}, {Tier::Ptx});
  addProperty("pipe", {Tier::Ptx, Tier::Sass}, {Tier::Ptx});
  addProperty("spill", {Tier::Ptx}, {Tier::Ptx});
  addProperty("later", {Tier::Sass}, {});
  addProperty("launches", {Tier::Source}, {Tier::Source});
  return catalog;
}

/// A fact at PTX outside of the main region.
inline Fact makeFact(std::string property, AttributeMap attributes = {}) {
  Fact fact;
  fact.property = std::move(property);
  fact.attributes = std::move(attributes);
  fact.inMain = Tristate::No;
  SourceLocation where;
  where.file = "k.cu";
  where.line = 7;
  fact.where.push_back(where);
  return fact;
}

/// The same in the main region, inside a loop.
inline Fact makeMainFact(std::string property, AttributeMap attributes = {}) {
  Fact fact = makeFact(std::move(property), std::move(attributes));
  fact.inMain = Tristate::Yes;
  fact.loop = "L0";
  return fact;
}

/// A kernel that is launched and was seen whole at PTX.
inline KernelFacts makeKernel(std::string name, std::vector<Fact> facts) {
  KernelFacts kernel;
  kernel.name = kernel.demangled = std::move(name);
  kernel.reachable = Tristate::Yes;
  kernel.completeTiers = {Tier::Ptx};
  kernel.facts = std::move(facts);
  return kernel;
}

/// An analysis of `kernels` with all static tiers read and the host followed.
inline Analysis makeAnalysis(std::vector<KernelFacts> kernels) {
  Analysis analysis;
  analysis.target = "sm_90a";
  for (Tier tier : {Tier::Source, Tier::Ptx, Tier::Sass})
    analysis.tiers[tier].state = TierState::Ok;
  analysis.hostAnalysed = true;
  analysis.kernels = std::move(kernels);
  return analysis;
}

/// The rubric with the given JSON list of properties.
inline Result<rubric::Rubric> parseRubric(const std::string &properties) {
  Result<json::Document> document = json::Document::parse(
      "{\"schema\": \"d2k.rubric/1\", \"task\": \"t\", \"properties\": [" +
          properties + "]}",
      "rubric.json");
  if (!document)
    return forwardFailure(std::move(document));
  return rubric::Rubric::fromDocument(*document);
}

/// One property in JSON; `rest` is more members of it, such as `detect`.
inline std::string makeProperty(const std::string &id, const std::string &level,
                                double weight, const std::string &rest) {
  return "{\"id\": \"" + id + "\", \"level\": \"" + level +
         "\", \"guidance\": \"" + level + ".1\", \"title\": \"" + id +
         "\", \"weight\": " + std::to_string(weight) +
         ", \"hint\": \"do it\", " + rest + "}";
}

} // namespace d2k::test

#endif // D2K_TEST_UNIT_RUBRIC_RUBRICTESTSUPPORT_H
