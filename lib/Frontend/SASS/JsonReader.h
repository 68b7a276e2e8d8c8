// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The document that `nvdisasm -json` prints.

#ifndef D2K_LIB_FRONTEND_SASS_JSONREADER_H
#define D2K_LIB_FRONTEND_SASS_JSONREADER_H

#include "ModuleBuilder.h"

#include "d2k/Support/Json.h"

namespace d2k::sass {

/// Reads \p document; the result points into it.
Result<TextModule> readDocument(const json::Document &document);

} // namespace d2k::sass

#endif // D2K_LIB_FRONTEND_SASS_JSONREADER_H
