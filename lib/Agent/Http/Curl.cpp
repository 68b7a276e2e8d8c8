// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTTP over libcurl.

#include "Http/Http.h"

#include <cctype>

#include <curl/curl.h>

using namespace d2k;
using namespace d2k::agent;

static constexpr size_t kKeptErrorBytes = 64 << 10;

namespace {

/// What libcurl's callbacks write to.
struct Transfer {
  const HttpRequest &request;
  const std::function<void(std::string_view)> &receive;
  CURL *handle = nullptr;
  HttpAnswer answer;
  uint64_t bytes = 0;
};

} // namespace

static size_t takeBody(char *data, size_t, size_t size, void *user) {
  Transfer &transfer = *static_cast<Transfer *>(user);
  long status = 0;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  transfer.bytes += size;
  std::string_view piece(data, size);
  if (status < 200 || status > 299) {
    std::string &kept = transfer.answer.errorBody;
    kept += piece.substr(0, kKeptErrorBytes - kept.size());
    return transfer.bytes > transfer.request.maxBytes ? 0 : size;
  }
  if (transfer.bytes > transfer.request.maxBytes) {
    transfer.answer.isTooLong = true;
    return 0;
  }
  transfer.receive(piece);
  return size;
}

static size_t takeHeader(char *data, size_t, size_t size, void *user) {
  Transfer &transfer = *static_cast<Transfer *>(user);
  std::string_view line(data, size);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
    line.remove_suffix(1);
  size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    return size;
  std::string name(line.substr(0, colon));
  for (char &c : name)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  line.remove_prefix(colon + 1);
  while (!line.empty() && line.front() == ' ')
    line.remove_prefix(1);
  transfer.answer.headers[name] = std::string(line);
  return size;
}

Result<void> agent::checkHttp() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK)
    return fail(FailureKind::Environment,
                std::string("libcurl does not start: ") +
                    curl_easy_strerror(started));
  return {};
}

HttpAnswer agent::post(const HttpRequest &request,
                       const std::function<void(std::string_view)> &receive) {
  Transfer transfer{request, receive, nullptr, {}, 0};
  if (Result<void> ready = checkHttp(); !ready) {
    transfer.answer.problem = ready.error().message;
    return transfer.answer;
  }
  CURL *handle = transfer.handle = curl_easy_init();
  if (!handle) {
    transfer.answer.problem = "libcurl has no memory";
    return transfer.answer;
  }
  curl_slist *headers = nullptr;
  for (const auto &[name, value] : request.headers)
    headers = curl_slist_append(headers, (name + ": " + value).c_str());
  // Without it, libcurl waits a second before it sends a long body.
  headers = curl_slist_append(headers, "Expect:");

  char problem[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_POST, 1L);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                   curl_off_t(request.body.size()));
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   long(1000 * request.connectSeconds));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                   long(1000 * request.totalSeconds));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME,
                   long(request.idleSeconds < 1 ? 1 : request.idleSeconds));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, takeBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, takeHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, problem);

  CURLcode code = curl_easy_perform(handle);
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  transfer.answer.status = int(status);
  if (code != CURLE_OK && !transfer.answer.isTooLong)
    transfer.answer.problem = problem[0] ? problem : curl_easy_strerror(code);
  curl_slist_free_all(headers);
  curl_easy_cleanup(handle);
  return transfer.answer;
}
