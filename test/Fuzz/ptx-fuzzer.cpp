// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any text is parsed without a crash; what is accepted prints, and its print
// is accepted and prints the same.

#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTX/Printer.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <cstdlib>
#include <string>

using namespace d2k;

static ptx::ParseOutcome parse(const std::string &text) {
  llvm::MemoryBufferRef buffer(text, "input.ptx");
  return ptx::parse(buffer, [](const llvm::SMDiagnostic &) {});
}

static std::string print(const ptx::Module &module, bool rename) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ptx::print(module, os, {.rename = rename});
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  ptx::ParseOutcome first = parse(text);
  if (!first.succeeded())
    return 0;
  for (bool rename : {false, true}) {
    std::string printed = print(*first.module, rename);
    ptx::ParseOutcome second = parse(printed);
    if (!second.succeeded() || print(*second.module, rename) != printed) {
      llvm::errs() << printed;
      abort();
    }
  }
  return 0;
}
