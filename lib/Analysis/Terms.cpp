// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/Terms.h"

using namespace d2k;
using namespace d2k::analysis;

static constexpr unsigned maskOf(ProductClass product) {
  return 1u << unsigned(product);
}
static constexpr unsigned kMul = maskOf(ProductClass::Mul);
static constexpr unsigned kMac = maskOf(ProductClass::Mac);

Terms Terms::times(Terms other, unsigned through) const {
  uint64_t result = 0;
  forEach([&](unsigned a) {
    other.forEach(
        [&](unsigned b) { result |= uint64_t(1) << (a | b | through); });
  });
  return Terms(result);
}

Terms Terms::summed() const {
  uint64_t result = bits;
  forEach([&](unsigned mask) {
    if (mask & kMul)
      result |= uint64_t(1) << (mask | kMac);
  });
  return Terms(result);
}

bool Terms::has(ProductClass product) const {
  bool found = false;
  forEach([&](unsigned mask) { found |= (mask & maskOf(product)) != 0; });
  return found;
}

unsigned Terms::getRivalsOf(ProductClass product) const {
  unsigned rivals = 0;
  forEach([&](unsigned mask) {
    if (!(mask & maskOf(product)))
      rivals |= mask & ~kMul;
  });
  return rivals;
}

std::string Terms::toString() const {
  static constexpr const char *names[] = {"mul",      "mac",   "wmma",
                                          "mma_sync", "wgmma", "tcgen05"};
  std::string text;
  forEach([&](unsigned mask) {
    if (!text.empty())
      text += " + ";
    if (mask == 0)
      text += "1";
    bool first = true;
    for (unsigned i = 0; i < 6; ++i)
      if (mask >> i & 1) {
        text += first ? "" : "*";
        text += names[i];
        first = false;
      }
  });
  return text.empty() ? "none" : text;
}
