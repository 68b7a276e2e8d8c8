// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorts input files by name and, failing that, by their first bytes.

#include "Inputs.h"

#include "d2k/Frontend/SASS/Module.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Json.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace d2k;

/// Machine code is looked for in these.
static constexpr llvm::StringLiteral kCodeExtensions[] = {".cubin", ".fatbin",
                                                          ".o", ".so", ".a"};

static bool isDisassembly(llvm::StringRef path, llvm::StringRef text) {
  return llvm::sys::path::extension(path) == ".json" &&
         text.ltrim().starts_with("[");
}

static Result<InputKind> classify(const std::string &path,
                                  llvm::StringRef text) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (text.trim().empty())
    return fail(FailureKind::Input, path + ": is empty");
  if (sass::isContainer(text) || llvm::is_contained(kCodeExtensions, extension))
    return InputKind::MachineCode;
  if (isDisassembly(path, text))
    return InputKind::Disassembly;
  if (extension == ".ptx")
    return InputKind::Ptx;
  if (extension == ".cu" || extension == ".cuh" || extension == ".cpp" ||
      extension == ".cc" || extension == ".cxx")
    return InputKind::Cuda;
  if (text.take_front(4096).contains(".version"))
    return InputKind::Ptx;
  return fail(FailureKind::Input,
              path + ": is neither CUDA source (.cu), PTX (.ptx), machine code "
                     "(.cubin, .fatbin, .o, .so, a program) nor what nvdisasm "
                     "-json prints (.json)");
}

Result<Input> d2k::readInput(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return forwardFailure(std::move(bytes));
  Result<InputKind> kind = classify(path, *bytes);
  if (!kind)
    return forwardFailure(std::move(kind));
  return Input{path, *kind, std::move(*bytes), {}, {}};
}

/// Reads Triton's metadata `path`, if it is that: `name`, `num_warps` of a
/// block, and `shared`, the bytes of dynamic shared memory.
static void readTritonMetadata(const std::string &path, Input &input) {
  constexpr int64_t kWarpSize = 32;
  if (!isRegularFile(path))
    return;
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return;
  json::Cursor root = document->getRoot();
  if (!root.getValue().getAsObject())
    return;
  Result<std::string> name = root.getString("name");
  Result<int64_t> warps = root.getInteger("num_warps");
  Result<int64_t> shared = root.getInteger("shared");
  if (name && warps && shared)
    input.launches[*name] = {*warps * kWarpSize, *shared};
}

/// The files of `names` with one of `extensions`.
static Result<std::vector<Input>>
readFiles(const std::string &folder, llvm::ArrayRef<std::string> names,
          llvm::ArrayRef<llvm::StringLiteral> extensions) {
  std::vector<Input> inputs;
  for (const std::string &name : names) {
    std::string path = joinPath(folder, name);
    if (!llvm::is_contained(extensions, llvm::sys::path::extension(name)) ||
        isDirectory(path))
      continue;
    Result<Input> input = readInput(path);
    if (!input)
      return forwardFailure(std::move(input));
    if (llvm::StringRef(path).ends_with(".cubin"))
      readTritonMetadata(llvm::StringRef(path).drop_back(6).str() + ".json",
                         *input);
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

Result<std::vector<Input>> d2k::readFolder(const std::string &path) {
  Result<std::vector<std::string>> names = listDirectory(path);
  if (!names)
    return forwardFailure(std::move(names));
  // A submission is its sources; PTX and cubins beside them are compiler
  // output.
  static constexpr llvm::StringLiteral kSources[] = {".cu"};
  static constexpr llvm::StringLiteral kOutputs[] = {".ptx", ".cubin"};
  for (llvm::ArrayRef<llvm::StringLiteral> extensions :
       {llvm::ArrayRef(kSources), llvm::ArrayRef(kOutputs),
        llvm::ArrayRef(kCodeExtensions)}) {
    Result<std::vector<Input>> inputs = readFiles(path, *names, extensions);
    if (!inputs || !inputs->empty())
      return inputs;
  }
  std::vector<Input> inputs;
  for (const std::string &name : *names) {
    std::string folder = joinPath(path, name);
    if (!isDirectory(folder))
      continue;
    Result<std::vector<std::string>> files = listDirectory(folder);
    if (!files)
      return forwardFailure(std::move(files));
    Result<std::vector<Input>> found = readFiles(folder, *files, kOutputs);
    if (!found)
      return found;
    llvm::move(*found, std::back_inserter(inputs));
  }
  if (inputs.empty())
    return fail(FailureKind::Input, path + ": holds no .cu, .ptx, .cubin, .so "
                                           "or .o file");
  return inputs;
}

/// The architectures that `input` has code for; none when they are not known.
static std::set<std::string> findTargets(const Input &input) {
  std::set<std::string> targets;
  if (input.kind == InputKind::MachineCode) {
    // What is wrong with the file is said when it is read.
    if (Result<std::vector<sass::Image>> images = sass::listImages(input.path))
      for (const sass::Image &image : *images)
        targets.insert(image.target.getName());
  } else if (input.kind == InputKind::Ptx) {
    // `.target sm_90a, texmode_independent`
    llvm::StringRef rest =
        llvm::StringRef(input.bytes).split("\n.target").second;
    llvm::StringRef name = rest.ltrim(" \t").take_until(
        [](char c) { return c == ',' || llvm::isSpace(c); });
    if (!name.empty())
      targets.insert(name.str());
  }
  return targets;
}

Result<void> d2k::pickTarget(const std::string &folder,
                             const std::optional<std::string> &arch,
                             std::vector<Input> &inputs) {
  std::set<std::string> all;
  std::vector<bool> isWanted;
  bool any = false;
  for (const Input &input : inputs) {
    std::set<std::string> targets = findTargets(input);
    all.insert(targets.begin(), targets.end());
    isWanted.push_back(targets.empty() || (arch && targets.count(*arch)));
    any |= isWanted.back();
  }
  if (arch ? any : all.size() <= 1) {
    std::vector<Input> wanted;
    for (size_t i = 0; arch && i < inputs.size(); ++i)
      if (isWanted[i])
        wanted.push_back(std::move(inputs[i]));
    if (arch)
      inputs = std::move(wanted);
    return {};
  }
  std::string list = llvm::join(all, ", ");
  return fail(FailureKind::Usage, arch ? folder +
                                             ": has no code for the --arch " +
                                             *arch + "; it has " + list
                                       : folder + ": has code for " + list +
                                             "; choose one with --arch");
}
