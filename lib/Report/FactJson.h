// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON of the facts model.

#ifndef D2K_REPORT_FACTJSON_H
#define D2K_REPORT_FACTJSON_H

#include "d2k/Fact/Fact.h"
#include "d2k/Support/Json.h"

#include <string>
#include <vector>

namespace d2k::report {

json::Value toJson(const std::vector<SourceLocation> &where);
json::Value toJson(const std::vector<std::string> &strings);
json::Value toJson(const KernelFacts &kernel);

/// Adds `facts`, `near_misses` and `undecided`.
void addFactSet(const FactSet &facts, json::Object &object);

} // namespace d2k::report

#endif // D2K_REPORT_FACTJSON_H
