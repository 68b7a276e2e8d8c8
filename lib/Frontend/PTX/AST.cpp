// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, and what the tree derives from itself.

#include "d2k/Frontend/PTX/AST.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace d2k::ptx;

//===----------------------------------------------------------------------===//
// NameTable
//===----------------------------------------------------------------------===//

/// Identifiers are short: eight bytes a step, mixed by multiplication.
static uint32_t hashText(llvm::StringRef text) {
  const char *p = text.data();
  size_t n = text.size();
  uint64_t h = 0x9e3779b97f4a7c15ull ^ n;
  while (n >= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    h = (h ^ w) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
    p += 8;
    n -= 8;
  }
  uint64_t w = 0;
  for (size_t i = 0; i < n; ++i)
    w |= uint64_t(static_cast<unsigned char>(p[i])) << (8 * i);
  h = (h ^ w) * 0xff51afd7ed558ccdull;
  h ^= h >> 29;
  return static_cast<uint32_t>(h ^ (h >> 32));
}

NameTable::NameTable(llvm::BumpPtrAllocator &arena) : arena(arena) {
  texts.emplace_back();
  hashes.push_back(0);
  buckets.resize(1024);
}

Name NameTable::intern(llvm::StringRef text) {
  if (text.empty())
    return Name::None;
  uint32_t hash = hashText(text);
  size_t mask = buckets.size() - 1;
  size_t i = hash & mask;
  for (; buckets[i]; i = (i + 1) & mask)
    if (hashes[buckets[i]] == hash && texts[buckets[i]] == text)
      return static_cast<Name>(buckets[i]);
  uint32_t id = texts.size();
  texts.push_back(text.copy(arena));
  hashes.push_back(hash);
  buckets[i] = id;
  if (texts.size() * 2 > buckets.size())
    grow();
  return static_cast<Name>(id);
}

void NameTable::grow() {
  std::vector<uint32_t> larger(buckets.size() * 4);
  size_t mask = larger.size() - 1;
  for (uint32_t id = 1; id < texts.size(); ++id) {
    size_t i = hashes[id] & mask;
    while (larger[i])
      i = (i + 1) & mask;
    larger[i] = id;
  }
  buckets = std::move(larger);
}

//===----------------------------------------------------------------------===//
// VariableDecl
//===----------------------------------------------------------------------===//

uint64_t VariableDecl::getSize() const {
  uint64_t size = getBitWidth(type) == 1 ? 1 : getBitWidth(type) / 8;
  size *= vectorWidth;
  if (dimensions.empty())
    return size;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    int64_t extent = dimensions[i];
    // Only the first extent may be open; the initialiser then decides it.
    if (extent < 0)
      extent = initializer && i == 0 && initializer->is(OperandKind::Vector)
                   ? initializer->elementCount
                   : 0;
    size = llvm::SaturatingMultiply<uint64_t>(size, extent);
  }
  return size;
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

Module::Module() : names(arena) {}
Module::~Module() = default;

llvm::StringRef Module::getArch() const {
  for (llvm::StringRef word : targets)
    if (word.starts_with("sm_") || word.starts_with("compute_"))
      return word;
  return {};
}

Function *Module::lookupFunction(llvm::StringRef name) const {
  for (Function *function : functions)
    if (function->body && names.get(function->symbol->name) == name)
      return function;
  return nullptr;
}
