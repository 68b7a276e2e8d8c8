// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// library_call: a library runs work on the device in a call of the entry.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

/// The spelling of the attribute: "cuBLAS" is `cublas`.
static std::string toAttribute(llvm::StringRef library) {
  return library.lower();
}

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces())
    for (const Event &event : trace.events) {
      if (event.kind != EventKind::Library)
        continue;
      AttributeMap attributes;
      attributes["library"] = toAttribute(event.library);
      detector.addEvent(trace, std::nullopt, event, std::move(attributes));
    }
}

namespace d2k::properties {
Property makeLibraryCall() {
  PropertyInfo info;
  info.id = "library_call";
  info.group = 'E';
  info.summary = "a kernel library is called on the launch path";
  info.attributes = {{"library",
                      AttrType::String,
                      {"cublas", "cudnn", "cub", "thrust", "cutlass", "nccl",
                       "cufft", "cusparse", "cusolver", "curand", "cutensor",
                       "nvrtc", "npp", "nvshmem"},
                      "which"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  info.inverse = true;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
