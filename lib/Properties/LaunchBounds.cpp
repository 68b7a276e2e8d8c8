// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// launch_bounds: limits that the author gave the compiler.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::properties;

static void detect(Detector &detector) {
  kern::FuncOp func = detector.getFunc();
  auto required = func.getDirective3("kern.reqntid");
  auto most = required ? required : func.getDirective3("kern.maxntid");
  std::optional<int64_t> blocks = func.getDirective("kern.minnctapersm");
  std::optional<int64_t> registers = func.getDirective("kern.maxnreg");
  if (!most && !blocks && !registers)
    return;
  AttributeMap attributes;
  if (most)
    attributes["threads"] = (*most)[0] * (*most)[1] * (*most)[2];
  if (blocks)
    attributes["min_blocks"] = *blocks;
  if (registers)
    attributes["max_registers"] = *registers;
  attributes["required"] = required.has_value();
  detector.addKernelFact(std::move(attributes));
}

namespace d2k::properties {
Property makeLaunchBounds() {
  PropertyInfo info;
  info.id = "launch_bounds";
  info.group = 'C';
  info.summary =
      "the kernel states its block size, resident blocks or register "
      "limit to the compiler; a plain fact, never credit alone";
  info.attributes = {
      {"threads",
       AttrType::Integer,
       {},
       "largest number of threads of a block"},
      {"min_blocks", AttrType::Integer, {}, "resident blocks asked for per SM"},
      {"max_registers", AttrType::Integer, {}, "registers of a thread"},
      {"required",
       AttrType::Boolean,
       {},
       "`threads` is the block size itself and not just a limit"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
