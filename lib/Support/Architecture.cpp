// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of GPU architectures.

#include "d2k/Support/Architecture.h"

#include <algorithm>
#include <cctype>

using namespace d2k;

bool d2k::isArchitecture(std::string_view name) {
  if (name.substr(0, 3) != "sm_")
    return false;
  name.remove_prefix(3);
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f'))
    name.remove_suffix(1);
  if (name.size() < 2 || name.size() > 3 || name.front() == '0' ||
      !std::all_of(name.begin(), name.end(),
                   [](unsigned char c) { return std::isdigit(c); }))
    return false;
  int number = 0;
  for (char digit : name)
    number = number * 10 + (digit - '0');
  return number >= 80 && number < 130;
}

std::string d2k::describeWrongArchitecture(std::string_view name) {
  return "--arch: '" + std::string(name) +
         "' is no target; expected sm_80 (A100), sm_86, sm_89 (L40S), sm_90a "
         "(H100, H200), sm_100a (B200), sm_103a (B300), sm_120a (RTX 50), or "
         "what else nvcc --list-gpu-code names from sm_80 on";
}

std::string d2k::getArchitectureHint(std::string_view diagnostics,
                                     std::string_view arch) {
  struct Family {
    std::string_view instruction, name, architectures, best;
  };
  static constexpr Family kFamilies[] = {
      {"Instruction 'wgmma", "wgmma", "sm_90a only", "sm_90a"},
      {"Instruction 'tcgen05", "tcgen05", "sm_100a and its kin only",
       "sm_100a"},
      {"Instruction 'setmaxnreg", "setmaxnreg", "sm_90a, sm_100a and their kin",
       "sm_90a"},
  };
  for (const Family &family : kFamilies)
    if (family.best != arch &&
        diagnostics.find(family.instruction) != std::string_view::npos)
      return std::string(family.name) + " exists on " +
             std::string(family.architectures) + ", and this is " +
             std::string(arch) + ": give --arch " + std::string(family.best);
  return {};
}
