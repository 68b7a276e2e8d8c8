// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collection of module images (CUPTI user's guide, "Callback API", resource
// callbacks).

#include "ModuleImages.h"

#include "d2k/Support/Elf.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include <algorithm>
#include <mutex>
#include <set>

using namespace d2k;
using namespace d2k::runner;

std::vector<std::string> runner::readKernelNames(std::string_view image) {
  Result<ElfFile> file = ElfFile::parse(image, "module");
  if (!file)
    return {};
  constexpr std::string_view kPrefix = ".text.";
  std::vector<std::string> kernels;
  for (const ElfSection &section : file->sections)
    if (section.name.starts_with(kPrefix))
      kernels.emplace_back(section.name.substr(kPrefix.size()));
  return kernels;
}

namespace {
struct Shared {
  std::mutex mutex;
  std::vector<ModuleImage> images;
};
} // namespace

static Shared &shared() {
  // Never destroyed: modules are unloaded while the process exits.
  static Shared *shared = new Shared;
  return *shared;
}

static void CUPTIAPI onCallback(void *, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id, const void *data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE ||
      id != CUPTI_CBID_RESOURCE_MODULE_LOADED)
    return;
  const auto *resource = static_cast<const CUpti_ResourceData *>(data);
  const auto *module = static_cast<const CUpti_ModuleResourceData *>(
      resource->resourceDescriptor);
  if (!module || !module->pCubin || module->cubinSize == 0)
    return;
  ModuleImage image;
  image.contents.assign(module->pCubin, module->cubinSize);
  image.sha256 = sha256Hex(image.contents);
  image.kernels = readKernelNames(image.contents);
  Shared &state = shared();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (const ModuleImage &known : state.images)
    if (known.sha256 == image.sha256)
      return;
  state.images.push_back(std::move(image));
}

Result<ModuleCollector *> ModuleCollector::start(const Cupti &cupti) {
  static const Result<ModuleCollector *> kCollector =
      [&]() -> Result<ModuleCollector *> {
    CUpti_SubscriberHandle subscriber = nullptr;
    if (Result<void> done =
            cupti.check(cupti.cuptiSubscribe(&subscriber, onCallback, nullptr),
                        "watch the loading of modules");
        !done)
      return forwardFailure(std::move(done));
    if (Result<void> done = cupti.check(
            cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                      CUPTI_CBID_RESOURCE_MODULE_LOADED),
            "watch the loading of modules");
        !done)
      return forwardFailure(std::move(done));
    return new ModuleCollector;
  }();
  return kCollector;
}

std::vector<ModuleImage> ModuleCollector::getImages() const {
  std::lock_guard<std::mutex> lock(shared().mutex);
  return shared().images;
}

Result<void> ModuleCollector::setSubmission(const std::string &path) {
  Result<std::string> contents = readFile(path);
  if (!contents)
    return forwardFailure(std::move(contents));
  submission = std::move(*contents);
  return {};
}

/// "libcublasLt.so.13, libnccl.so.2": CUDA's libraries in this process that
/// have kernels of their own.
static std::string listCudaLibraries() {
  Result<std::string> maps = readFile("/proc/self/maps");
  if (!maps)
    return {};
  static const char *const kLibraries[] = {
      "libcublas", "libcudnn", "libnccl",     "libcufft",
      "libcurand", "libnpp",   "libcusparse", "libcusolver"};
  std::set<std::string> found;
  size_t begin = 0;
  while (begin < maps->size()) {
    size_t end = std::min(maps->find('\n', begin), maps->size());
    std::string_view line(maps->data() + begin, end - begin);
    std::string_view file = line.substr(line.rfind('/') + 1);
    for (std::string_view library : kLibraries)
      if (file.starts_with(library))
        found.emplace(file);
    begin = end + 1;
  }
  std::string list;
  for (const std::string &file : found)
    list += (list.empty() ? "" : ", ") + file;
  return list;
}

std::string ModuleCollector::attribute(const std::string &kernel) const {
  std::lock_guard<std::mutex> lock(shared().mutex);
  bool isElsewhere = false;
  for (const ModuleImage &image : shared().images) {
    if (std::find(image.kernels.begin(), image.kernels.end(), kernel) ==
        image.kernels.end())
      continue;
    if (submission.find(image.contents) != std::string::npos)
      return "submission";
    isElsewhere = true;
  }
  std::string libraries = listCudaLibraries();
  if (isElsewhere && !libraries.empty())
    return libraries;
  return "unknown";
}
