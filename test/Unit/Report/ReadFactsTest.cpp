// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written about a kernel is read back alike; damaged text is an error.

#include "d2k/Report/ReadFacts.h"

#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::report;

namespace {

PropertyCatalog makeCatalog() {
  PropertyCatalog catalog;
  PropertyInfo info;
  info.id = "copy";
  info.attributes = {{"bytes", AttrType::Integer, {}, ""},
                     {"share", AttrType::Real, {}, ""},
                     {"kind", AttrType::String, {}, ""},
                     {"required", AttrType::Boolean, {}, ""}};
  EXPECT_TRUE(catalog.add(info));
  return catalog;
}

SourceLocation makePlace(LocationKind kind) {
  SourceLocation place;
  place.kind = kind;
  place.file = "copy \"x\".cu";
  place.line = 7;
  place.column = 3;
  place.snippet = "a = b;";
  place.instruction = "ld.global";
  return place;
}

KernelFacts makeKernel() {
  KernelFacts kernel;
  kernel.name = "_Z1kv";
  kernel.demangled = "k()";
  kernel.reachable = Tristate::Yes;
  kernel.reachableUnder = {{"w1", Tristate::No}, {"w2", Tristate::Unknown}};
  kernel.registers = 32;
  kernel.spillBytes = 0;
  kernel.completeTiers = {Tier::Ptx, Tier::Sass};
  KernelLoop loop;
  loop.id = "L0";
  loop.trip = 4;
  loop.main = true;
  loop.where = makePlace(LocationKind::Ptx);
  kernel.loops = {loop};
  Fact fact;
  fact.property = "copy";
  // A real number without fraction stays a real number.
  fact.attributes = {{"bytes", int64_t(16)},
                     {"share", 1.0},
                     {"kind", std::string("a")},
                     {"required", true}};
  fact.tier = Tier::Sass;
  fact.tiers = {Tier::Ptx, Tier::Sass};
  fact.loop = "L0";
  fact.inMain = Tristate::Yes;
  fact.workloads = {"w1"};
  SourceLocation place = makePlace(LocationKind::Source);
  place.ptxLine = 70;
  place.sassOffset = 0;
  place.sassInstruction = "LDG.E.128";
  fact.where = {place, makePlace(LocationKind::Sass)};
  kernel.facts = {fact};
  kernel.nearMisses = {{"copy", "drains", {place}}};
  kernel.undecided = {{"copy", "a call", "more", {"w2"}, {}}};
  LaunchClaim claim;
  claim.property = "copy";
  claim.attributes = {{"bytes", int64_t(8)}};
  claim.terms = {{"more", "lt 1 grid.x"}};
  claim.loop = "L0";
  claim.where = {place};
  kernel.launchClaims = {claim};
  return kernel;
}

TEST(ReadFacts, RoundTrip) {
  KernelFacts kernel = makeKernel();
  std::string written = json::dump(writeKernelFacts(kernel));
  Result<json::Document> document = json::Document::parse(written, "x.json");
  ASSERT_TRUE(bool(document));
  Result<KernelFacts> read =
      readKernelFacts(document->getRoot(), makeCatalog());
  ASSERT_TRUE(bool(read)) << read.error().message;
  EXPECT_EQ(json::dump(writeKernelFacts(*read)), written);
  ASSERT_EQ(read->facts.size(), 1u);
  EXPECT_EQ(read->facts[0].attributes, kernel.facts[0].attributes);
  EXPECT_EQ(read->facts[0].where, kernel.facts[0].where);
  EXPECT_EQ(read->reachableUnder, kernel.reachableUnder);
  ASSERT_EQ(read->launchClaims.size(), 1u);
  EXPECT_EQ(read->launchClaims[0].terms, kernel.launchClaims[0].terms);
  EXPECT_EQ(read->launchClaims[0].loop, kernel.launchClaims[0].loop);
  EXPECT_EQ(read->completeTiers, kernel.completeTiers);
}

TEST(ReadFacts, Errors) {
  std::string written = json::dump(writeKernelFacts(makeKernel()));
  auto getError = [&](const char *before, const char *after) {
    std::string text = written;
    size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    text.replace(at, std::string(before).size(), after);
    Result<json::Document> document = json::Document::parse(text, "x.json");
    EXPECT_TRUE(bool(document));
    Result<KernelFacts> read =
        readKernelFacts(document->getRoot(), makeCatalog());
    return read ? "none" : read.error().message;
  };
  EXPECT_EQ(getError("\"tier\": \"sass\"", "\"tier\": \"gpu\""),
            "x.json: facts[0]: unknown tier 'gpu'");
  EXPECT_EQ(getError("\"bytes\": 16", "\"bytes\": true"),
            "x.json: facts[0].attributes.bytes: expected integer of 64 bits, "
            "found true");
  EXPECT_EQ(getError("\"bytes\": 16", "\"sizes\": 16"),
            "x.json: facts[0].attributes.sizes: 'copy' has no such attribute");
  EXPECT_NE(getError("\"demangled\"", "\"mangled\""), "none");
}

} // namespace
