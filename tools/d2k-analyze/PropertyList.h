// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The property vocabulary as data and as a page of documentation.

#ifndef D2K_TOOLS_D2K_ANALYZE_PROPERTYLIST_H
#define D2K_TOOLS_D2K_ANALYZE_PROPERTYLIST_H

#include "d2k/Fact/PropertyInfo.h"

#include <string>

namespace d2k {

/// The catalog as JSON, for `--list-properties=json`.
std::string renderPropertyJson(const PropertyCatalog &catalog);

/// The catalog as docs/Properties.md, for `--list-properties=markdown`.
std::string renderPropertyMarkdown(const PropertyCatalog &catalog);

} // namespace d2k

#endif // D2K_TOOLS_D2K_ANALYZE_PROPERTYLIST_H
