// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Server-sent events (HTML Living Standard, section 9.2.6), from bytes that
// arrive in any pieces.

#ifndef D2K_LIB_AGENT_HTTP_EVENTSTREAM_H
#define D2K_LIB_AGENT_HTTP_EVENTSTREAM_H

#include <functional>
#include <string>
#include <string_view>

namespace d2k::agent {

class EventStream {
public:
  /// \p receive gets the data of each event, its lines joined by line feeds.
  /// The name of an event is not handed on: the providers repeat it in the
  /// data.
  explicit EventStream(std::function<void(const std::string &)> receive)
      : receive(std::move(receive)) {}

  void feed(std::string_view bytes);

private:
  void takeLine();

  std::function<void(const std::string &)> receive;
  std::string line, data;
  bool hasData = false, afterReturn = false;
};

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_HTTP_EVENTSTREAM_H
