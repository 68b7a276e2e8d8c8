// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Frontend/SASS/CallConvention.h"

using namespace d2k::sass;

bool d2k::sass::callsForeignCode(const Module &module,
                                 const Instruction &instruction) {
  if (instruction.getClass() != OpcodeClass::Call)
    return false;
  const Operand *target = instruction.getTarget();
  if (!target)
    return true;
  // A place in the function's own section.
  if (target->integer >= 0)
    return false;
  return target->name.empty() || !module.findFunction(target->name);
}

const RegisterSet &d2k::sass::getForeignCallReads() {
  static const RegisterSet *set = [] {
    auto *reads = new RegisterSet;
    // R0 is in the set because nvdisasm has it there; R1 leads to the arguments
    // on the stack.
    reads->insert(Register{RegisterFile::General, 0}, 2);
    reads->insert(Register{RegisterFile::General, 4}, 12);
    return reads;
  }();
  return *set;
}

/// Whether a function gives general register \p index back as it got it.
static bool isKept(unsigned index) {
  return index == 1 || index == 2 || (index >= 16 && index < 32) ||
         (index >= 32 && index % 8 >= 4);
}

const RegisterSet &d2k::sass::getForeignCallWrites() {
  static const RegisterSet *set = [] {
    auto *writes = new RegisterSet;
    for (uint16_t i = 0; i < 255; ++i)
      if (!isKept(i))
        writes->insert(Register{RegisterFile::General, i});
    writes->insert(Register{RegisterFile::Uniform, 0}, 36);
    writes->insert(Register{RegisterFile::Predicate, 0}, 7);
    writes->insert(Register{RegisterFile::UniformPredicate, 0}, 7);
    return writes;
  }();
  return *set;
}
