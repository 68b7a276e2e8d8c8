// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_count: how many registers ptxas gave a thread.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::properties;

static void detect(Detector &detector) {
  std::optional<int64_t> registers =
      detector.getFunc().getDirective("kern.registers");
  if (!registers) {
    detector.addKernelUndecided(
        "the machine code does not say how many registers a thread has",
        "the cubin, instead of its disassembly");
    return;
  }
  AttributeMap attributes;
  attributes["registers"] = *registers;
  detector.addKernelFact(std::move(attributes));
}

namespace d2k::properties {
Property makeRegisterCount() {
  PropertyInfo info;
  info.id = "register_count";
  info.group = 'C';
  info.summary = "the registers of a thread are known; a plain fact, never "
                 "credit alone";
  info.attributes = {{"registers",
                      AttrType::Integer,
                      {},
                      "registers of a thread when the kernel starts"}};
  info.decidingTiers = {Tier::Sass};
  info.detectorTiers = {Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
