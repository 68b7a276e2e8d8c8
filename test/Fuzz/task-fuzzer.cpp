// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any JSON is refused with a message that names the file, or is a task or a
// rubric: then a task's header, sizes and faults are computed, and a rubric's
// faults and its score of a small analysis, whose numbers are finite and in
// order.

#include "d2k/Report/Report.h"
#include "d2k/Rubric/Lint.h"
#include "d2k/Support/JsonSchema.h"
#include "d2k/Task/EntryHeader.h"
#include "d2k/Task/Lint.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace d2k;

[[noreturn]] static void fault(const std::string &what) {
  std::fprintf(stderr, "task-fuzzer: %s\n", what.c_str());
  abort();
}

static void expectPlace(const Failure &failure) {
  if (failure.message.rfind("input", 0) != 0)
    fault("the message does not begin with the file: " + failure.message);
}

/// Two properties, one of each kind of evidence, so that predicates match.
static PropertyCatalog makeCatalog() {
  PropertyCatalog catalog;
  for (const char *id : {"tma", "tensor_core", "local_spills"}) {
    PropertyInfo info;
    info.id = id;
    info.summary = id;
    info.decidingTiers = {Tier::Ptx};
    info.detectorTiers = {Tier::Ptx};
    info.inverse = info.id == "local_spills";
    info.attributes = {{"bytes", AttrType::Integer, {}, "bytes"},
                       {"op", AttrType::String, {"load", "store"}, "kind"}};
    if (!catalog.add(std::move(info)))
      fault("the catalog refuses a property");
  }
  return catalog;
}

static Analysis makeAnalysis() {
  Analysis analysis;
  analysis.target = "sm_90a";
  analysis.tiers[Tier::Ptx].state = TierState::Ok;
  KernelFacts kernel;
  kernel.name = kernel.demangled = "k";
  kernel.completeTiers = {Tier::Ptx};
  Fact fact;
  fact.property = "tma";
  fact.attributes = {{"bytes", int64_t(16)}, {"op", std::string("load")}};
  fact.inMain = Tristate::Yes;
  kernel.facts.push_back(fact);
  NearMiss miss;
  miss.property = "tensor_core";
  miss.reason = "is not used";
  kernel.nearMisses.push_back(miss);
  analysis.kernels.push_back(kernel);
  return analysis;
}

static void checkTask(const json::Document &document) {
  Result<task::Task> task = task::Task::fromDocument(document);
  if (!task)
    return expectPlace(task.error());
  (void)task::lintTask(*task, task->name);
  (void)task::generateEntryHeader(*task);
}

static void checkRubric(const json::Document &document) {
  Result<rubric::Rubric> rubric = rubric::Rubric::fromDocument(document);
  if (!rubric)
    return expectPlace(rubric.error());
  static const PropertyCatalog catalog = makeCatalog();
  static const Analysis analysis = makeAnalysis();
  static const json::Schema schema = [] {
    Result<json::Document> text =
        json::Document::parse(report::getAnalysisSchemaText(), "schema");
    if (!text)
      fault(text.error().message);
    Result<json::Schema> loaded = json::Schema::create(std::move(*text));
    if (!loaded)
      fault(loaded.error().message);
    return std::move(*loaded);
  }();
  std::vector<std::string> workloads = {"small", "large"};
  rubric::LintContext context;
  context.catalog = &catalog;
  context.workloads = &workloads;
  (void)rubric::lintRubric(*rubric, context);
  rubric::Score score =
      rubric::computeScore(*rubric, analysis, catalog, workloads);
  report::Report report;
  report.analysis = &analysis;
  report.rubric = &*rubric;
  report.score = &score;
  // Credits and points out of range, and numbers that JSON cannot write, are
  // faults of the report.
  for (const json::SchemaError &error :
       schema.validate(report::renderJson(report)))
    fault(error.toString());
  for (char c : report::renderText(report, report::TextOptions()))
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n')
      fault("the text report holds a control character");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Result<json::Document> document = json::Document::parse(text, "input");
  if (!document) {
    expectPlace(document.error());
    return 0;
  }
  checkTask(*document);
  checkRubric(*document);
  return 0;
}
