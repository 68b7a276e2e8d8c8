// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any text either is refused with an error or, written and read again, gives
// an equal value.

#include "d2k/Support/Json.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace d2k;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Result<json::Value> value = json::parse(text, "input");
  if (!value)
    return 0;
  for (bool pretty : {false, true}) {
    Result<json::Value> again =
        json::parse(json::dump(*value, pretty), "output");
    if (!again || !(*again == *value))
      abort();
  }
  return 0;
}
