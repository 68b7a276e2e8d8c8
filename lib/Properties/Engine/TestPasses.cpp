// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the findings of all detectors, one line each, so that the test of a
// property reads like the property's record.

#include "d2k/Properties/TestPasses.h"
#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Properties/Properties.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace d2k;

static void printPlaces(llvm::raw_ostream &os,
                        const std::vector<SourceLocation> &places) {
  os << " @";
  for (const SourceLocation &place : places)
    os << ' '
       << (place.kind == LocationKind::Ptx    ? "ptx:"
           : place.kind == LocationKind::Sass ? "sass:"
                                              : "")
       << place.line
       << (place.inlinedFile.empty() ? std::string()
                                     : "<-" + place.inlinedFile + ":" +
                                           std::to_string(place.inlinedLine));
  os << '\n';
}

namespace {
struct TestProperties : PassWrapper<TestProperties, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestProperties)
  TestProperties() = default;
  TestProperties(const TestProperties &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-properties"; }
  StringRef getDescription() const final {
    return "print the facts, near misses and undecided properties";
  }
  Option<std::string> only{*this, "only",
                           llvm::cl::desc("print this property only")};

  Option<std::string> authored{
      *this, "authored", llvm::cl::desc("the one file that is the author's")};

  bool isWanted(const std::string &property) const {
    return only.empty() || property == only;
  }

  void runOnOperation() final {
    llvm::raw_ostream &os = llvm::outs();
    properties::Options options;
    auto isa = getOperation()->getAttrOfType<StringAttr>("kern.isa");
    options.tier = isa && isa.getValue() == "sass" ? Tier::Sass : Tier::Ptx;
    if (!authored.empty())
      options.isAuthored = [&](StringRef file) { return file == authored; };
    for (const KernelFacts &kernel :
         properties::analyzeModule(getOperation(), options, {})) {
      os << "kernel " << kernel.name
         << (kernel.completeTiers.empty() ? " incomplete" : " complete");
      for (const KernelLoop &loop : kernel.loops)
        if (only.empty())
          os << ' ' << loop.id << (loop.main ? "*" : "")
             << (loop.spin ? "~" : "");
      os << '\n';
      for (const Fact &fact : kernel.facts) {
        if (!isWanted(fact.property))
          continue;
        static constexpr const char *kMain[] = {"no", "unknown", "yes"};
        os << "fact " << fact.property;
        for (const auto &[name, value] : fact.attributes)
          os << ' ' << name << '=' << toString(value);
        os << " main=" << kMain[unsigned(fact.inMain)];
        if (fact.loop)
          os << " loop=" << *fact.loop;
        printPlaces(os, fact.where);
      }
      for (const NearMiss &miss : kernel.nearMisses) {
        if (!isWanted(miss.property))
          continue;
        os << "near-miss " << miss.property << ": " << miss.reason;
        printPlaces(os, miss.where);
      }
      for (const Undecided &entry : kernel.undecided) {
        if (!isWanted(entry.property))
          continue;
        os << "undecided " << entry.property << ": " << entry.reason << " ("
           << entry.wouldDecide << ")";
        printPlaces(os, entry.where);
      }
    }
  }
};
} // namespace

void properties::registerTestPasses() { PassRegistration<TestProperties>(); }
