// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The catalog of properties, and what detectors of all kinds take. Without
// MLIR, unlike Properties.h.

#ifndef D2K_PROPERTIES_CATALOG_H
#define D2K_PROPERTIES_CATALOG_H

#include "d2k/Fact/Fact.h"
#include "d2k/Fact/PropertyInfo.h"

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace d2k::properties {

/// Text of line `line` (1-based) of `file`, without leading and trailing
/// blanks; empty when the file cannot be read. `file` is the name in the
/// location: a source file, or the PTX itself when it has no line information.
/// May be called often with the same arguments: it should cache.
using SnippetProvider =
    std::function<std::string(llvm::StringRef file, int64_t line)>;

/// All properties: those with a detector in this library and the rows of the
/// vocabulary without one. Built on the first call, then constant.
const PropertyCatalog &getCatalog();

/// Ids of the properties with a detector in this library, ascending.
std::vector<std::string> getDetectedIds();

} // namespace d2k::properties

#endif // D2K_PROPERTIES_CATALOG_H
