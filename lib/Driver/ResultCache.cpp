// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ResultCache.h"

#include "d2k/Properties/Properties.h"
#include "d2k/Report/ReadFacts.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Json.h"
#include "d2k/Support/Sha256.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace d2k;

/// A digest of the running program: another build may see another thing in the
/// same bytes.
static const std::string &getProgram() {
  static const std::string program = [] {
    std::string path = llvm::sys::fs::getMainExecutable(
        nullptr, reinterpret_cast<void *>(&getExitCode));
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return path;
    llvm::XXH128_hash_t hash =
        llvm::xxh3_128bits(llvm::arrayRefFromStringRef((*buffer)->getBuffer()));
    return std::to_string(hash.high64) + " " + std::to_string(hash.low64);
  }();
  return program;
}

std::string
ResultCache::makeKey(std::initializer_list<std::string_view> parts) {
  // Lengths keep parts apart.
  std::string text = getProgram();
  for (std::string_view part : parts)
    text += " " + std::to_string(part.size()) + ":" + sha256Hex(part);
  return sha256Hex(text);
}

std::string ResultCache::getPath(const std::string &key) const {
  return joinPath(joinPath(*folder, key.substr(0, 2)), key + ".json");
}

std::optional<TierResult> ResultCache::find(const std::string &key) const {
  if (!folder)
    return std::nullopt;
  std::string path = getPath(key);
  if (!isRegularFile(path))
    return std::nullopt;
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return std::nullopt;
  json::Cursor root = document->getRoot();
  TierResult result;
  Result<std::string> target = root.getString("target");
  Result<std::string> tool = root.getString("tool");
  Result<json::Cursor> remarks = root.get("remarks");
  Result<json::Cursor> kernels = root.get("kernels");
  if (!target || !tool || !remarks || !kernels)
    return std::nullopt;
  result.target = std::move(*target);
  result.tool = std::move(*tool);
  Result<std::vector<std::string>> texts = remarks->asStrings();
  Result<std::vector<json::Cursor>> list = kernels->asArray();
  if (!texts || !list)
    return std::nullopt;
  result.remarks = std::move(*texts);
  for (const json::Cursor &entry : *list) {
    Result<KernelFacts> kernel =
        report::readKernelFacts(entry, properties::getCatalog());
    if (!kernel)
      return std::nullopt;
    result.kernels.push_back(std::move(*kernel));
  }
  return result;
}

Result<void> ResultCache::add(const std::string &key,
                              const TierResult &result) const {
  if (!folder)
    return {};
  std::string path = getPath(key);
  if (std::error_code error = llvm::sys::fs::create_directories(
          joinPath(*folder, key.substr(0, 2))))
    return fail(FailureKind::Environment,
                *folder + ": cannot create the cache's folder: " +
                    error.message() + "; leave --cache out or name another");
  json::Array kernels;
  for (const KernelFacts &kernel : result.kernels)
    kernels.push_back(report::writeKernelFacts(kernel));
  json::Object document{
      {"target", result.target},
      {"tool", result.tool},
      {"remarks", json::Array(result.remarks.begin(), result.remarks.end())},
      {"kernels", std::move(kernels)}};
  return writeFile(path, json::dump(std::move(document), /*pretty=*/false));
}
