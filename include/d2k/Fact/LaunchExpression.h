// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers that each launch of a kernel determines, as text: what the code of
// the kernel computes from its parameters and from the shape of the launch.
// Kernel analyses write such texts, host analyses evaluate them for a launch.
//
// A text is in prefix notation, its words separated by single blanks:
//   leaves      a decimal number; `grid.x`, `block.y`, `cluster.z`: extents of
//               the launch; `ctaid.x`: the block's own index;
//               `param:I:O:B`: the integer of B bytes at byte O of parameter I
//   operators   add sub mul div rem min max and or xor shl shr, which take two
//               operands; lt le eq, which give 1 or 0; `if C A B`: A when C is
//               not 0, else B
//
// Example: "lt add shr ctaid.x 1 shr grid.x 1 param:4:0:4" says whether the
// second tile of a block, of clusters of two, is one of those that there are.
//
// Arithmetic is that of 64-bit integers: what a kernel computes in 32 bits is
// taken not to wrap.

#ifndef D2K_FACT_LAUNCHEXPRESSION_H
#define D2K_FACT_LAUNCHEXPRESSION_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace d2k {

/// A leaf `param:I:O:B` taken apart.
struct LaunchParameter {
  /// Position among the parameters, from 0.
  unsigned parameter = 0;
  /// Byte of the parameter at which the integer starts.
  int64_t offset = 0;
  /// Its size.
  int64_t bytes = 0;
};

/// The parts of \p leaf; nothing when it names no parameter.
std::optional<LaunchParameter> parseLaunchParameter(std::string_view leaf);

/// The value of \p text. `lookUp` is asked for leaves other than numbers and
/// answers nothing for what it does not know; the first such leaf is put into
/// \p unknown. Nothing also when \p text is malformed, on a division by zero
/// and on a shift by other than 0 to 63.
std::optional<int64_t> evaluateLaunchExpression(
    std::string_view text,
    const std::function<std::optional<int64_t>(std::string_view leaf)> &lookUp,
    std::string *unknown = nullptr);

} // namespace d2k

#endif // D2K_FACT_LAUNCHEXPRESSION_H
