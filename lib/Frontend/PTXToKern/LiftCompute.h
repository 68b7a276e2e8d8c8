// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lifting of the operations that are functions of registers: one group of
// inputs, one group of outputs.

#ifndef D2K_LIB_FRONTEND_PTXTOKERN_LIFTCOMPUTE_H
#define D2K_LIB_FRONTEND_PTXTOKERN_LIFTCOMPUTE_H

#include "Lifter.h"

namespace d2k::lift {

/// Results from the first operand, inputs from all others.
template <typename OpT>
bool liftValues(FunctionLifter &lifter, const ptx::Instruction &instruction,
                const Decoded &decoded, typename OpT::Properties &properties) {
  lifter.addResults(instruction.operands[0], decoded.sink);
  for (unsigned i = 1; i < instruction.operands.size(); ++i)
    lifter.readAll(instruction.operands[i], decoded.immediateOf(i),
                   lifter.operands);
  lifter.finish<OpT>(properties, {static_cast<int32_t>(lifter.operands.size())},
                     decoded);
  return true;
}

template <typename OpT>
bool liftCompute(FunctionLifter &lifter, const ptx::Instruction &instruction,
                 const Decoded &decoded) {
  auto properties = copyProperties<OpT>(decoded);
  return liftValues<OpT>(lifter, instruction, decoded, properties);
}

} // namespace d2k::lift

#endif // D2K_LIB_FRONTEND_PTXTOKERN_LIFTCOMPUTE_H
