// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AnalysisCache.h"

#include "ResultCache.h"

#include "d2k/Properties/Properties.h"
#include "d2k/Report/ReadFacts.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Json.h"
#include "d2k/Support/Subprocess.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <set>

using namespace d2k;

/// Variables that change what nvcc or Clang reads.
static constexpr const char *kVariables[] = {
    "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN", "CPATH",
    "C_INCLUDE_PATH",    "CPLUS_INCLUDE_PATH", "PATH"};

//===----------------------------------------------------------------------===//
// The request
//===----------------------------------------------------------------------===//

/// Path, size and time of a program.
static std::string describeTool(const std::string &path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return path;
  return path + " " + std::to_string(status.getSize()) + " " +
         std::to_string(
             status.getLastModificationTime().time_since_epoch().count());
}

static std::string describeTools() {
  std::string text;
  for (CudaTool tool : {CudaTool::Nvcc, CudaTool::Nvdisasm}) {
    Result<std::string> path = findCudaTool(tool);
    text += (path ? describeTool(*path) : "none") + "\n";
  }
  for (const char *name : {"gcc", "g++"})
    text += describeTool(findProgram(name)) + "\n";
  return text;
}

namespace {
/// Text in which no two different requests are alike: lengths keep its parts
/// apart.
class Description {
public:
  Description &operator<<(std::string_view part) {
    text += std::to_string(part.size()) + ":";
    text += part;
    return *this;
  }
  Description &operator<<(int64_t number) {
    return *this << std::string_view(std::to_string(number));
  }
  Description &operator<<(const std::vector<std::string> &list) {
    *this << int64_t(list.size());
    for (const std::string &part : list)
      *this << part;
    return *this;
  }

  std::string text;
};
} // namespace

static std::string describe(const AnalyzeRequest &request,
                            const std::vector<Input> &inputs) {
  Description text;
  for (const Input &input : inputs)
    text << input.path << input.bytes << input.flags;
  text << request.arch.value_or("") << request.defaultArch
       << int64_t(request.compiler) << request.includeDirectories
       << request.kernelPattern << request.entry << int64_t(request.readSource)
       << int64_t(request.readPtx) << int64_t(request.readSass);
  for (const cuda::HostWorkload &workload : request.workloads) {
    text << workload.id << workload.arguments.workspaceBytes.value_or(-1);
    for (const auto &[name, value] : workload.arguments.integers)
      text << name << value;
    text << "";
    for (const auto &[name, tensor] : workload.arguments.tensors)
      text << name << int64_t(tensor.isOutput) << tensor.bytes.value_or(-1);
    text << "";
  }
  for (const char *variable : kVariables) {
    const char *value = std::getenv(variable);
    text << (value ? value : "");
  }
  llvm::SmallString<256> directory;
  if (!llvm::sys::fs::current_path(directory))
    text << directory.str().str();
  text << describeTools();
  return text.text;
}

AnalysisCache::AnalysisCache(const AnalyzeRequest &request,
                             const std::vector<Input> &inputs)
    : request(request) {
  bool onlySources = llvm::all_of(
      inputs, [](const Input &input) { return input.kind == InputKind::Cuda; });
  if (!request.cacheFolder || !onlySources || request.withPtx ||
      request.withCubin)
    return;
  std::string key =
      ResultCache::makeKey({"analysis", describe(request, inputs)});
  path =
      joinPath(joinPath(*request.cacheFolder, key.substr(0, 2)), key + ".json");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Digest of a file's contents; empty when it cannot be read.
static std::string digest(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return "";
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef((*buffer)->getBuffer()));
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

namespace {
/// Reads an entry; the first thing that is not as it was written stops it.
class EntryReader {
public:
  std::optional<AnalyzeOutcome> read(const json::Cursor &root);

private:
  template <typename T>
  T take(Result<T> value) {
    if (value)
      return std::move(*value);
    isDamaged = true;
    return T();
  }
  bool areFilesTheSame(const json::Cursor &root);
  TierStatus readTier(const json::Cursor &tier);

  bool isDamaged = false;
};
} // namespace

bool EntryReader::areFilesTheSame(const json::Cursor &root) {
  Result<json::Cursor> files = root.get("files");
  if (!files)
    return false;
  auto members = files->asObject();
  if (!members)
    return false;
  for (const auto &[name, cursor] : *members) {
    Result<std::string> kept = cursor.asString();
    if (!kept || kept->empty() || digest(name) != *kept)
      return false;
  }
  return true;
}

TierStatus EntryReader::readTier(const json::Cursor &tier) {
  TierStatus status;
  int64_t state = take(tier.getInteger("state"));
  if (state < 0 || state > int64_t(TierState::Failed))
    isDamaged = true;
  else
    status.state = TierState(state);
  status.reason = take(tier.getString("reason"));
  status.tool = take(tier.getString("tool"));
  if (Result<json::Cursor> list = tier.get("diagnostics"))
    status.diagnostics = take(list->asStrings());
  else
    isDamaged = true;
  return status;
}

std::optional<AnalyzeOutcome> EntryReader::read(const json::Cursor &root) {
  if (!areFilesTheSame(root))
    return std::nullopt;
  const PropertyCatalog &catalog = properties::getCatalog();
  AnalyzeOutcome outcome;
  Analysis &analysis = outcome.analysis;
  analysis.target = take(root.getString("target"));
  analysis.hostAnalysed = take(root.getBoolean("host_analysed"));
  Result<json::Cursor> tiers = root.get("tiers");
  Result<json::Cursor> kernels = root.get("kernels");
  Result<json::Cursor> host = root.get("host");
  Result<json::Cursor> remarks = root.get("remarks");
  Result<json::Cursor> inputs = root.get("inputs");
  if (!tiers || !kernels || !host || !remarks || !inputs)
    return std::nullopt;
  for (const json::Cursor &input : take(inputs->asArray()))
    analysis.inputs.push_back(
        {take(input.getString("path")), take(input.getString("sha256"))});
  for (const auto &[name, cursor] : take(tiers->asObject())) {
    std::optional<Tier> tier = parseTier(name);
    if (!tier)
      return std::nullopt;
    analysis.tiers[*tier] = readTier(cursor);
  }
  for (const json::Cursor &cursor : take(kernels->asArray()))
    analysis.kernels.push_back(take(report::readKernelFacts(cursor, catalog)));
  analysis.host = take(report::readKernelFacts(*host, catalog));
  outcome.remarks = take(remarks->asStrings());
  if (isDamaged)
    return std::nullopt;
  return outcome;
}

std::optional<AnalyzeOutcome> AnalysisCache::find() const {
  if (path.empty() || !isRegularFile(path))
    return std::nullopt;
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return std::nullopt;
  return EntryReader().read(document->getRoot());
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Not where a tool failed or was missing: it may work the next time.
bool AnalysisCache::isKeepable(const Analysis &analysis) const {
  auto isThere = [&](Tier tier, bool wanted) {
    TierState state = analysis.getTierState(tier);
    return !wanted || state == TierState::Ok || state == TierState::Partial;
  };
  return isThere(Tier::Source, request.readSource) &&
         isThere(Tier::Ptx, request.readPtx) &&
         isThere(Tier::Sass, request.readSass);
}

Result<void> AnalysisCache::add(const AnalyzeOutcome &outcome,
                                const std::vector<std::string> &files) const {
  if (path.empty() || !isKeepable(outcome.analysis))
    return {};
  const Analysis &analysis = outcome.analysis;
  json::Object digests;
  for (const std::string &file : std::set(files.begin(), files.end())) {
    std::string text = digest(file);
    if (text.empty())
      return {};
    digests.append(file, text);
  }
  json::Array inputs;
  for (const InputFile &input : analysis.inputs)
    inputs.push_back(
        json::Object{{"path", input.path}, {"sha256", input.sha256}});
  json::Object tiers;
  for (const auto &[tier, status] : analysis.tiers) {
    json::Object entry{{"state", int64_t(status.state)},
                       {"reason", status.reason},
                       {"tool", status.tool},
                       {"diagnostics", json::Array(status.diagnostics.begin(),
                                                   status.diagnostics.end())}};
    tiers.append(std::string(getTierName(tier)), std::move(entry));
  }
  json::Array kernels;
  for (const KernelFacts &kernel : analysis.kernels)
    kernels.push_back(report::writeKernelFacts(kernel));
  KernelFacts host;
  static_cast<FactSet &>(host) = analysis.host;
  json::Object document{
      {"files", std::move(digests)},
      {"target", analysis.target},
      {"inputs", std::move(inputs)},
      {"host_analysed", analysis.hostAnalysed},
      {"tiers", std::move(tiers)},
      {"host", report::writeKernelFacts(host)},
      {"remarks", json::Array(outcome.remarks.begin(), outcome.remarks.end())},
      {"kernels", std::move(kernels)}};
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return fail(FailureKind::Environment,
                folder.str() + ": cannot create the cache's folder: " +
                    error.message() + "; leave --cache out or name another");
  return writeFile(path, json::dump(std::move(document), /*pretty=*/false));
}
