// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes server-sent events apart.

#include "Http/EventStream.h"

using namespace d2k::agent;

void EventStream::takeLine() {
  if (line.empty()) {
    // An event without data is none.
    if (hasData)
      receive(data);
    data.clear();
    hasData = false;
    return;
  }
  std::string_view rest = line;
  constexpr std::string_view kField = "data";
  if (rest.substr(0, kField.size()) == kField &&
      (rest.size() == kField.size() || rest[kField.size()] == ':')) {
    rest.remove_prefix(std::min(kField.size() + 1, rest.size()));
    if (!rest.empty() && rest.front() == ' ')
      rest.remove_prefix(1);
    if (hasData)
      data += '\n';
    data += rest;
    hasData = true;
  }
  line.clear();
}

void EventStream::feed(std::string_view bytes) {
  // Lines end in "\n", "\r" or "\r\n".
  for (char c : bytes) {
    if (c == '\n' && afterReturn) {
      afterReturn = false;
      continue;
    }
    afterReturn = c == '\r';
    if (c == '\n' || c == '\r')
      takeLine();
    else
      line += c;
  }
}
