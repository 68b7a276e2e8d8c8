// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Architectures.

#include "ModuleBuilder.h"

#include <algorithm>
#include <cctype>
#include <iterator>

using namespace d2k::sass;

std::string Target::getName() const {
  std::string name = "sm_" + std::to_string(number);
  if (suffix)
    name += suffix;
  return name;
}

std::optional<Target> d2k::sass::parseTarget(std::string_view text) {
  for (std::string_view prefix : {"sm_", "compute_"})
    if (text.substr(0, prefix.size()) == prefix)
      text.remove_prefix(prefix.size());
  Target target;
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(uint8_t(text[digits])))
    ++digits;
  if (digits < 2 || digits > 3 || text.size() > digits + 1)
    return std::nullopt;
  for (char digit : text.substr(0, digits))
    target.number = target.number * 10 + unsigned(digit - '0');
  if (text.size() > digits) {
    target.suffix = text[digits];
    if (target.suffix != 'a' && target.suffix != 'f')
      return std::nullopt;
  }
  return target;
}

bool d2k::sass::isSupported(Target target) {
  static constexpr unsigned kNumbers[] = {80,  86,  87,  88,  89,  90,
                                          100, 101, 103, 110, 120, 121};
  return std::find(std::begin(kNumbers), std::end(kNumbers), target.number) !=
         std::end(kNumbers);
}

Target d2k::sass::findTarget(unsigned number, std::string_view options) {
  Target target{number, 0};
  std::string name = target.getName();
  // `-arch sm_90a`, `-arch=sm_90a`, `--gpu-name sm_90a`
  for (size_t at = options.find(name); at != std::string_view::npos;
       at = options.find(name, at + 1)) {
    char next =
        at + name.size() < options.size() ? options[at + name.size()] : ' ';
    if (next == 'a' || next == 'f')
      target.suffix = next;
  }
  return target;
}
