// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether what is read from tensor memory is what the matrix unit put there.

#ifndef D2K_LIB_PROPERTIES_ENGINE_TENSORMEMORYSUMS_H
#define D2K_LIB_PROPERTIES_ENGINE_TENSORMEMORYSUMS_H

#include "Engine/Detector.h"

namespace d2k::properties {

/// Undecided when threads store to the tensor memory that \p product sums into
/// what no product made, and a read may see that with no product in between:
/// sums that start from stored values are sums all the same, and so are those
/// that are rescaled in place.
Judgement judgeSumsKept(Detector &detector, OpId product);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_TENSORMEMORYSUMS_H
