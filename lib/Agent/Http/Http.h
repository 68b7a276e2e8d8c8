// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// POST over HTTP, with the answer handed on as it arrives. One of two files
// implements it: Curl.cpp, or None.cpp where libcurl's headers are missing.

#ifndef D2K_LIB_AGENT_HTTP_HTTP_H
#define D2K_LIB_AGENT_HTTP_HTTP_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d2k::agent {

struct HttpRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  double connectSeconds = 30;
  /// Longest time without a byte, and for all of it.
  double idleSeconds = 300;
  double totalSeconds = 3600;
  /// A longer answer is cut.
  uint64_t maxBytes = uint64_t(64) << 20;
};

struct HttpAnswer {
  /// 0 when there was no answer.
  int status = 0;
  /// Names in lower case.
  std::map<std::string, std::string> headers;
  /// The first 64 KiB of the body when the status is not 2xx.
  std::string errorBody;
  /// Why the answer is not whole: no connection, a cut, a time-out.
  std::string problem;
  /// It was longer than maxBytes.
  bool isTooLong = false;

  bool isSuccess() const { return status >= 200 && status < 300; }
};

/// Fails with kind Environment when this program cannot do it.
Result<void> checkHttp();

/// Sends \p request. \p receive gets the body of a 2xx answer piece by piece.
/// Redirections are not followed: the request carries a key. Proxies come from
/// the environment (https_proxy, no_proxy).
HttpAnswer post(const HttpRequest &request,
                const std::function<void(std::string_view)> &receive);

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_HTTP_HTTP_H
