// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a failed request is sent again.

#ifndef D2K_LIB_AGENT_RETRY_H
#define D2K_LIB_AGENT_RETRY_H

#include <map>
#include <optional>
#include <string>

namespace d2k::agent {

/// Longest wait between two attempts, whatever the server asks for.
inline constexpr double kMaxRetrySeconds = 600;

/// Whether a later attempt may succeed where one got \p status: time-outs,
/// rate limits, overload and faults of the server; 0 is no answer at all.
bool isTransient(int status);

/// Seconds that the headers retry-after-ms or Retry-After (RFC 9110, section
/// 10.2.3; seconds or a date, of which \p now is the comparison) ask for,
/// between 0 and kMaxRetrySeconds.
std::optional<double>
parseRetryAfter(const std::map<std::string, std::string> &headers, int64_t now);

/// Seconds before attempt \p attempt + 1 without such a header: \p base,
/// doubled with each attempt up to a minute, of which \p random in [0, 1)
/// chooses a part, so that many clients do not come back together.
double getBackoff(unsigned attempt, double base, double random);

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_RETRY_H
