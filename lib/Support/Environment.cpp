// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Environments and argument lists.

#include "d2k/Support/Environment.h"

#include <map>
#include <string_view>

using namespace d2k;

extern char **environ;

std::vector<std::string> d2k::makeEnvironment(
    const std::vector<std::pair<std::string, std::optional<std::string>>>
        &changes,
    bool clear) {
  std::map<std::string, std::string> variables;
  if (!clear)
    for (char **entry = environ; *entry; ++entry) {
      std::string_view text = *entry;
      size_t equals = text.find('=');
      if (equals != std::string_view::npos)
        variables[std::string(text.substr(0, equals))] =
            std::string(text.substr(equals + 1));
    }
  for (const auto &[name, value] : changes) {
    if (value)
      variables[name] = *value;
    else
      variables.erase(name);
  }
  std::vector<std::string> list;
  for (const auto &[name, value] : variables)
    list.push_back(name + "=" + value);
  return list;
}

std::vector<char *> d2k::makePointers(std::vector<std::string> &strings) {
  std::vector<char *> pointers;
  for (std::string &string : strings)
    pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}
