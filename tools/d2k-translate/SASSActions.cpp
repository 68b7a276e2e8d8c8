// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and printing machine code.

#include "SASSActions.h"

#include "d2k/Frontend/SASS/CallConvention.h"
#include "d2k/Support/Files.h"

#include "llvm/Support/Format.h"

using namespace d2k;
using namespace d2k::sass;

Result<std::vector<Module>> d2k::readSass(const std::string &path,
                                          const std::string &arch) {
  std::vector<Module> modules;
  std::optional<Target> wanted;
  if (!arch.empty()) {
    wanted = parseTarget(arch);
    if (!wanted)
      return fail(FailureKind::Usage,
                  "--arch: '" + arch + "' is no architecture like sm_90a");
  }
  Result<std::string> text = readFile(path);
  if (!text)
    return forwardFailure(std::move(text));
  if (text->substr(0, 1) == "[") {
    Result<Module> module = readNvdisasmJson(*text, path);
    if (!module)
      return forwardFailure(std::move(module));
    modules.push_back(std::move(*module));
    return modules;
  }
  Result<std::vector<Image>> images = listImages(path);
  if (!images)
    return forwardFailure(std::move(images));
  std::string others;
  for (const Image &image : *images) {
    if (wanted && image.target != *wanted) {
      others += (others.empty() ? "" : ", ") + image.target.getName();
      continue;
    }
    Result<Module> module = readImage(image);
    if (!module)
      return forwardFailure(std::move(module));
    modules.push_back(std::move(*module));
  }
  if (modules.empty())
    return fail(FailureKind::Input,
                path + ": has no code for " + arch + ", only for " + others);
  return modules;
}

void d2k::printSassSummary(const std::vector<Module> &modules,
                           llvm::raw_ostream &os) {
  for (const Module &module : modules) {
    size_t instructions = 0, unknown = 0;
    for (const Function &function : module.functions)
      for (const Instruction &instruction : function.instructions) {
        ++instructions;
        unknown += !instruction.isModelled;
      }
    os << module.name << ": " << module.target.getName() << ", "
       << module.functions.size() << " functions, " << instructions
       << " instructions, " << unknown << " not modelled\n";
    for (const Function &function : module.functions) {
      const FunctionInfo &info = function.info;
      os << (function.isKernel ? "kernel " : "function ") << function.name
         << ": " << function.instructions.size() << " instructions";
      if (info.registers)
        os << ", " << *info.registers << " registers";
      if (info.staticShared)
        os << ", " << *info.staticShared << " bytes shared";
      if (info.frameSize)
        os << ", " << *info.frameSize << " bytes local";
      if (info.barriers)
        os << ", " << *info.barriers << " barriers";
      if (info.maxThreads)
        os << ", at most " << (*info.maxThreads)[0] << "x"
           << (*info.maxThreads)[1] << "x" << (*info.maxThreads)[2]
           << " threads";
      if (info.clusterSize)
        os << ", clusters of " << (*info.clusterSize)[0] << "x"
           << (*info.clusterSize)[1] << "x" << (*info.clusterSize)[2];
      if (info.parameterBase)
        os << ", " << info.parameters.size() << " parameters at "
           << llvm::format_hex(*info.parameterBase, 5);
      os << '\n';
    }
  }
}

static void printSet(llvm::StringRef title, const RegisterSet &set,
                     llvm::raw_ostream &os) {
  os << " | " << title;
  for (Register reg : set.getMembers())
    os << ' ' << reg.getName();
}

void d2k::printSassRegisters(const std::vector<Module> &modules,
                             llvm::raw_ostream &os) {
  for (const Module &module : modules)
    for (const Function &function : module.functions) {
      os << "function " << function.name << '\n';
      for (const Instruction &instruction : function.instructions) {
        os << llvm::format_hex_no_prefix(instruction.offset, 4) << " | "
           << instruction.print();
        if (!instruction.isModelled)
          os << " | not modelled";
        RegisterSet reads = getReads(instruction);
        RegisterSet writes = getWrites(instruction);
        if (callsForeignCode(module, instruction)) {
          reads.unite(getForeignCallReads());
          writes.unite(getForeignCallWrites());
        }
        printSet("reads", reads, os);
        printSet("writes", writes, os);
        os << '\n';
      }
    }
}

void d2k::printSassBlocks(const std::vector<Module> &modules,
                          llvm::raw_ostream &os) {
  static constexpr const char *kKinds[] = {"next", "branch", "indirect"};
  for (const Module &module : modules)
    for (const Function &function : module.functions) {
      os << "function " << function.name << '\n';
      auto printOffset = [&](uint32_t index) {
        os << llvm::format_hex_no_prefix(function.instructions[index].offset,
                                         4);
      };
      for (const Block &block : function.blocks) {
        printOffset(block.first);
        os << "..";
        printOffset(block.last - 1);
        for (const Edge &edge : block.successors) {
          os << ' ' << kKinds[unsigned(edge.kind)] << ' ';
          printOffset(function.blocks[edge.target].first);
        }
        os << '\n';
      }
    }
}

void d2k::printSassRemarks(const std::vector<Module> &modules,
                           llvm::raw_ostream &os) {
  for (const Module &module : modules)
    for (const Remark &remark : module.remarks)
      os << module.name << ": " << remark.function << "+"
         << llvm::format_hex(remark.offset, 1) << ": remark: " << remark.message
         << '\n';
}
