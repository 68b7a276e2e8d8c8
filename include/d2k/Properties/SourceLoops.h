// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of the source beside the machine code that is compared with them:
// the attribute `kern.source_loops` of a kern module, an array with a
// dictionary for each loop. A module without it is one whose source nobody
// read.
//
//   kern.source_loops = [{file = "/k.cu", line = 10 : i64, column = 3 : i64,
//     head_end = 10 : i64, end = 12 : i64, step = 2 : i64, unroll = 4 : i64,
//     function = "_Z1kPf", accesses = [array<i64: 11, 4, 1, 0>]}]
//
// `step`, `unroll`, `function` and `accesses` may be missing; the four numbers
// of an access are those of SourceAccess.

#ifndef D2K_PROPERTIES_SOURCELOOPS_H
#define D2K_PROPERTIES_SOURCELOOPS_H

#include "d2k/Fact/SourceLoop.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <vector>

namespace d2k::properties {

/// Sets the attribute.
void setSourceLoops(mlir::ModuleOp module,
                    const std::vector<SourceLoop> &loops);

/// The loops of the module; nothing when it has no attribute, or one that
/// setSourceLoops does not make.
std::optional<std::vector<SourceLoop>> getSourceLoops(mlir::ModuleOp module);

} // namespace d2k::properties

#endif // D2K_PROPERTIES_SOURCELOOPS_H
