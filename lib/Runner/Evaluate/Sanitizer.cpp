// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the summary.

#include "Evaluate/Sanitizer.h"

#include <charconv>

using namespace d2k;
using namespace d2k::runner;

std::optional<uint64_t> runner::findSanitizerErrors(std::string_view output) {
  size_t error = output.rfind("ERROR SUMMARY: ");
  size_t race = output.rfind("RACECHECK SUMMARY: ");
  bool isRace = error == std::string_view::npos ||
                (race != std::string_view::npos && race > error);
  size_t at = isRace ? race : error;
  if (at == std::string_view::npos)
    return std::nullopt;
  output.remove_prefix(output.find(": ", at) + 2);
  uint64_t count = 0;
  auto [end, problem] =
      std::from_chars(output.data(), output.data() + output.size(), count);
  return problem == std::errc() ? std::optional<uint64_t>(count) : std::nullopt;
}
