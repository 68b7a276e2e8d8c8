// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands for Curl.cpp where this program was built without libcurl.

#include "Http/Http.h"

using namespace d2k;
using namespace d2k::agent;

static constexpr const char *kRemedy =
    "this d2k-run was built without libcurl and cannot reach a model; install "
    "its headers (Debian: apt-get install libcurl4-openssl-dev), configure and "
    "build again";

Result<void> agent::checkHttp() {
  return fail(FailureKind::Environment, kRemedy);
}

HttpAnswer agent::post(const HttpRequest &,
                       const std::function<void(std::string_view)> &) {
  HttpAnswer answer;
  answer.problem = kRemedy;
  return answer;
}
