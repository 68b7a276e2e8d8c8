// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a kernel as texts of d2k/Fact/LaunchExpression.h: what the kernel
// computes from its parameters and from the shape of the launch, for the host
// side to evaluate.

#ifndef D2K_LIB_PROPERTIES_ENGINE_LAUNCHTEXTS_H
#define D2K_LIB_PROPERTIES_ENGINE_LAUNCHTEXTS_H

#include "d2k/Analysis/KernelContext.h"

#include <optional>
#include <string>

namespace d2k::properties {

/// Texts for values that are no function of the launch, such as what a loop
/// carries in one of its iterations.
using LaunchBindings = llvm::DenseMap<analysis::ValueId, std::string>;

/// The text of integer or predicate `value`; nothing when it depends on
/// anything but the launch, the block's index and `bindings`, when it is
/// computed by an operation that the notation has no word for, or when the text
/// would be longer than a few thousand characters. Predicates are 1 or 0.
std::optional<std::string>
getLaunchText(analysis::KernelContext &kernel, analysis::ValueId value,
              const LaunchBindings &bindings = LaunchBindings());

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_LAUNCHTEXTS_H
