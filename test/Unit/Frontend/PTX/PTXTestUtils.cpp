// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the PTX front end share.

#include "PTXTestUtils.h"

#include "TestPaths.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace d2k;
using namespace d2k::ptx;
using namespace d2k::test;

Parsed d2k::test::parseText(llvm::StringRef text,
                            const ptx::ParseOptions &options) {
  Parsed parsed;
  std::string terminated = text.str();
  auto handler = [&](const llvm::SMDiagnostic &diagnostic) {
    const char *kind =
        diagnostic.getKind() == llvm::SourceMgr::DK_Error ? "error" : "remark";
    parsed.diagnostics.push_back(std::to_string(diagnostic.getLineNo()) + ":" +
                                 std::to_string(diagnostic.getColumnNo() + 1) +
                                 ": " + kind + ": " +
                                 diagnostic.getMessage().str());
  };
  ParseOutcome outcome =
      parse(llvm::MemoryBufferRef(terminated, "test.ptx"), handler, options);
  parsed.module = std::move(outcome.module);
  parsed.numErrors = outcome.numErrors;
  return parsed;
}

std::unique_ptr<Module> d2k::test::parseValid(llvm::StringRef text) {
  Parsed parsed = parseText(text);
  for (const std::string &diagnostic : parsed.diagnostics)
    ADD_FAILURE() << diagnostic << "\nin:\n" << text.str();
  return std::move(parsed.module);
}

std::string d2k::test::wrapBody(llvm::StringRef body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k()\n{\n"
         ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<64>;\n"
         ".reg .b64 %d<16>;\n" +
         body.str() + "\n}\n";
}

std::string d2k::test::printText(const Module &module, bool rename) {
  std::string text;
  llvm::raw_string_ostream os(text);
  PrintOptions options;
  options.rename = rename;
  print(module, os, options);
  return text;
}

static void collect(const Block &block, std::vector<Instruction *> &list) {
  for (Statement *statement : block.statements) {
    if (auto *instruction = llvm::dyn_cast<Instruction>(statement))
      list.push_back(instruction);
    else if (auto *inner = llvm::dyn_cast<Block>(statement))
      collect(*inner, list);
  }
}

std::vector<Instruction *>
d2k::test::collectInstructions(const Module &module) {
  std::vector<Instruction *> list;
  for (Function *function : module.functions)
    if (function->body)
      collect(*function->body, list);
  return list;
}

std::vector<std::string> d2k::test::getOpcodeFiles() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(
           getInputPath("Frontend/PTX/opcodes")))
    if (entry.path().extension() == ".ptx")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string d2k::test::readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}
