// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop of the oracle and of the worker: a request, a reply, until the
// parent closes the channel.

#ifndef D2K_RUNNER_SERVER_SERVER_H
#define D2K_RUNNER_SERVER_SERVER_H

#include "d2k/Runner/Channel.h"
#include "d2k/Runner/Sandbox.h"
#include "d2k/Support/Json.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace d2k::runner {

/// Answers one operation: the members of the reply beside `id` and `ok`. A
/// Failure becomes {"ok": false, "kind", "message"}.
using Handler = std::function<Result<json::Object>(const json::Cursor &)>;

/// The operations \p members of a server that the first request, `hello`, makes
/// by \p make and is then answered by, and `close`.
template <typename Server>
std::map<std::string, Handler>
makeHandlers(std::unique_ptr<Server> &server,
             std::function<Result<std::unique_ptr<Server>>()> make,
             std::map<std::string,
                      Result<json::Object> (Server::*)(const json::Cursor &)>
                 members) {
  std::map<std::string, Handler> handlers;
  for (auto [name, member] : members)
    handlers[name] =
        [&server, member](const json::Cursor &request) -> Result<json::Object> {
      if (!server)
        return fail(FailureKind::Internal, "the first request must be hello");
      return (server.get()->*member)(request);
    };
  handlers["hello"] =
      [&server, make](const json::Cursor &request) -> Result<json::Object> {
    Result<std::unique_ptr<Server>> made = make();
    if (!made)
      return forwardFailure(std::move(made));
    server = std::move(*made);
    return server->hello(request);
  };
  handlers["close"] = [](const json::Cursor &) -> Result<json::Object> {
    return json::Object{};
  };
  return handlers;
}

/// The list of unsigned numbers in the member \p name of a request.
Result<std::vector<unsigned>> getNumbers(const json::Cursor &request,
                                         std::string_view name);

/// Serves until the channel closes or a handler of the operation "close" has
/// answered. Returns the exit code of the process.
int serve(Channel &channel, const std::map<std::string, Handler> &handlers);

/// The trusted process that owns the buffers.
int serveOracle(Channel &channel);

/// The process that loads one library, a submission or a baseline, and calls
/// it. \p isolation is what enterSandbox reported.
int serveWorker(Channel &channel, Isolation isolation);

/// Bytes as lower-case hexadecimal digits, and back; fromHex gives false for
/// other text or another length.
std::string toHex(const void *bytes, size_t size);
bool fromHex(const std::string &text, void *bytes, size_t size);

/// An unsigned number below 2^53 of a request, or a seed as a string of
/// digits: JSON integers have 63 bits here.
Result<uint64_t> getUnsigned(const json::Cursor &cursor, std::string_view name);

} // namespace d2k::runner

#endif // D2K_RUNNER_SERVER_SERVER_H
