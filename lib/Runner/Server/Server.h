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
#include <string>

namespace d2k::runner {

/// Answers one operation: the members of the reply beside `id` and `ok`. A
/// Failure becomes {"ok": false, "kind", "message"}.
using Handler = std::function<Result<json::Object>(const json::Cursor &)>;

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
