// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of retrying.

#include "Retry.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>

using namespace d2k;

bool agent::isTransient(int status) {
  return status == 0 || status == 408 || status == 409 || status == 429 ||
         status >= 500;
}

static std::optional<double> parseSeconds(const std::string &text) {
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(number))
    return std::nullopt;
  return number;
}

std::optional<double>
agent::parseRetryAfter(const std::map<std::string, std::string> &headers,
                       int64_t now) {
  std::optional<double> seconds;
  if (auto found = headers.find("retry-after-ms"); found != headers.end())
    if ((seconds = parseSeconds(found->second)))
      *seconds /= 1000;
  auto found = headers.find("retry-after");
  if (!seconds && found != headers.end()) {
    seconds = parseSeconds(found->second);
    std::tm date = {};
    if (!seconds &&
        ::strptime(found->second.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date))
      seconds = double(int64_t(::timegm(&date)) - now);
  }
  // A clock that is wrong, here or there, must not stop a run for a day.
  if (seconds)
    seconds = std::clamp(*seconds, 0.0, kMaxRetrySeconds);
  return seconds;
}

double agent::getBackoff(unsigned attempt, double base, double random) {
  double longest =
      std::min(60.0, base * std::ldexp(1.0, int(std::min(attempt, 20u)) - 1));
  return longest * (0.5 + 0.5 * random);
}
