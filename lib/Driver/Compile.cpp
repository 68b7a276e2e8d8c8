// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs nvcc in a private folder and takes the PTX that it keeps there.

#include "d2k/Driver/Compile.h"

#include "d2k/Support/Architecture.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace d2k;

/// The number before \p unit in a line such as "Used 32 registers, 0 barriers,
/// 1024 bytes smem".
static std::optional<int64_t> numberBefore(llvm::StringRef line,
                                           llvm::StringRef unit) {
  size_t end = line.find(unit);
  if (end == llvm::StringRef::npos)
    return std::nullopt;
  llvm::StringRef head = line.take_front(end).rtrim();
  size_t start = head.find_last_not_of("0123456789");
  llvm::StringRef digits =
      start == llvm::StringRef::npos ? head : head.drop_front(start + 1);
  int64_t value = 0;
  if (digits.empty() || digits.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

/// The text between the first pair of single quotes.
static llvm::StringRef quoted(llvm::StringRef line) {
  return line.split('\'').second.split('\'').first;
}

std::map<std::string, KernelResources>
d2k::parseKernelResources(const std::string &log) {
  // ptxas names the function in "Compiling entry function 'f' for 'sm_90a'" or
  // "Function properties for f"; the figures follow.
  std::map<std::string, KernelResources> result;
  std::string current;
  llvm::StringRef rest(log);
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (line.contains("Compiling entry function '")) {
      current = quoted(line).str();
      result[current];
      continue;
    }
    if (current.empty())
      continue;
    KernelResources &resources = result[current];
    if (line.contains("bytes spill stores")) {
      std::optional<int64_t> stores = numberBefore(line, " bytes spill stores");
      std::optional<int64_t> loads = numberBefore(line, " bytes spill loads");
      if (stores && loads && !resources.spillBytes)
        resources.spillBytes = *stores + *loads;
    } else if (line.contains("Used ") && line.contains(" registers")) {
      resources.registers = numberBefore(line, " registers");
      // A kernel without static shared memory has no such part.
      resources.sharedBytes = numberBefore(line, " bytes smem").value_or(0);
      current.clear();
    }
  }
  return result;
}

/// nvcc's messages without the resource lines that we asked for.
static std::vector<std::string> collectDiagnostics(llvm::StringRef log) {
  std::vector<std::string> result;
  llvm::SmallVector<llvm::StringRef> lines;
  log.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    line = line.rtrim();
    bool resourceLine = line.starts_with("ptxas info") ||
                        line.ltrim().contains("bytes stack frame") ||
                        line.ltrim().starts_with("Used ");
    if (!resourceLine && !line.trim().empty())
      result.push_back(line.str());
  }
  return result;
}

/// The files that line markers of the preprocessed `text` name (GCC,
/// "Preprocessor Output").
static void collectFiles(llvm::StringRef text, std::set<std::string> &files) {
  for (size_t at = 0; at != llvm::StringRef::npos; at = text.find("\n# ", at)) {
    llvm::StringRef line = text.drop_front(at).ltrim('\n');
    ++at;
    if (!line.consume_front("# "))
      continue;
    line = line.take_until([](char c) { return c == '\n'; });
    // A number, a name, and what happens there: 1 enters a file.
    llvm::StringRef name = line.split('"').second;
    size_t end = name.rfind('"');
    if (end == llvm::StringRef::npos || !name.drop_front(end).contains(" 1"))
      continue;
    name = name.take_front(end);
    if (!name.starts_with("<"))
      files.insert(name.str());
  }
}

Result<CompiledSource> d2k::compileCuda(const CompileRequest &request) {
  if (!isRegularFile(request.source))
    return fail(FailureKind::Input,
                request.source + ": no such file, or not a regular file");
  Result<std::string> nvcc = findCudaTool(CudaTool::Nvcc);
  if (!nvcc)
    return forwardFailure(std::move(nvcc));
  Result<TemporaryDirectory> scratch = TemporaryDirectory::create();
  if (!scratch)
    return forwardFailure(std::move(scratch));
  const std::string &folder = scratch->getPath();

  Command command;
  command.argv = {*nvcc,        "-cubin",    "-O3",
                  "-std=c++20", "-lineinfo", "-arch=" + request.arch,
                  "-Xptxas=-v", "--keep",    "--keep-dir",
                  folder,       "-o",        joinPath(folder, "kernel.cubin")};
  for (const std::string &directory : request.includeDirectories) {
    command.argv.push_back("-I");
    command.argv.push_back(directory);
  }
  command.argv.insert(command.argv.end(), request.flags.begin(),
                      request.flags.end());
  // A name that starts with a dash would be read as a flag.
  command.argv.push_back(request.source.front() == '-' ? "./" + request.source
                                                       : request.source);
  Result<CommandResult> run = runCommand(command);
  if (!run)
    return forwardFailure(std::move(run));

  std::string log = run->error + run->output;
  if (!run->succeeded()) {
    std::string words;
    for (const std::string &line : collectDiagnostics(log))
      words += "\n  " + line;
    // nvcc says these when a part of the toolkit, not the code, is at fault.
    llvm::StringRef text(log);
    if (!run->exitCode || text.contains("No space left on device") ||
        text.contains(": not found") || text.contains("Failed to preprocess"))
      return fail(FailureKind::Environment,
                  *nvcc + " did not work (" + run->describeEnd() +
                      "); check that the CUDA toolkit is complete (ptxas, "
                      "cudafe++, a host compiler) and the disk not full:" +
                      words);
    if (std::string hint = getArchitectureHint(log, request.arch);
        !hint.empty())
      words += "\n  " + hint;
    return fail(FailureKind::Input, request.source + ": nvcc rejects it for " +
                                        request.arch + " (" +
                                        run->describeEnd() + "):" + words);
  }

  CompiledSource result;
  Result<ToolVersion> version = queryToolVersion(*nvcc);
  result.tool = version ? "nvcc " + version->text : "nvcc";
  result.seconds = run->seconds;
  result.resources = parseKernelResources(log);
  result.diagnostics = collectDiagnostics(log);

  Result<std::vector<std::string>> names = listDirectory(folder);
  if (!names)
    return forwardFailure(std::move(names));
  std::set<std::string> files = {request.source};
  for (const std::string &name : *names) {
    bool isPtx = llvm::StringRef(name).ends_with(".ptx");
    if (!isPtx && !llvm::StringRef(name).ends_with(".ii"))
      continue;
    Result<std::string> text = readFile(joinPath(folder, name));
    if (!text)
      return forwardFailure(std::move(text));
    if (isPtx)
      result.ptx = std::move(*text);
    else
      collectFiles(*text, files);
  }
  if (result.ptx.empty())
    return fail(FailureKind::Environment,
                *nvcc + " kept no PTX in " + folder +
                    "; is it a wrapper that drops --keep-dir?");
  result.files.assign(files.begin(), files.end());
  Result<std::string> cubin = readFile(joinPath(folder, "kernel.cubin"));
  if (!cubin)
    return forwardFailure(std::move(cubin));
  result.cubin = std::move(*cubin);
  return result;
}
