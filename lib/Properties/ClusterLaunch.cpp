// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cluster_launch: thread block clusters of more than one block.

#include "Engine/Detector.h"
#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Operations that make sense in a cluster only.
static llvm::SmallVector<OpId, 4> findClusterUse(Detector &detector) {
  llvm::SmallVector<OpId, 4> uses;
  const KernelIndex &index = detector.getIndex();
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    if (!detector.getConstants().mayRun(id))
      continue;
    mlir::Operation *op = index.getOp(id);
    bool use = llvm::isa<kern::MapSharedOp, kern::ClusterBarrierOp>(op);
    if (auto special = llvm::dyn_cast<kern::SpecialOp>(op))
      use = special.getReg().starts_with("cluster_") ||
            special.getReg().starts_with("clusterid") ||
            special.getReg().starts_with("ncluster") ||
            special.getReg() == "is_explicit_cluster";
    if (auto copy = llvm::dyn_cast<kern::BulkCopyOp>(op))
      use = copy.getMulticast() || copy.getCtaGroup() > 1;
    if (auto commit = llvm::dyn_cast<kern::TmemCommitOp>(op))
      use = commit.getMulticast() || commit.getCtaGroup() > 1;
    if (use)
      uses.push_back(id);
  }
  return uses;
}

/// Whether the target of the kernel's code has clusters: sm_90 and later (PTX
/// ISA, "Cluster of Cooperative Thread Arrays").
static bool hasClusters(kern::FuncOp func) {
  auto target =
      func->getParentOfType<mlir::ModuleOp>()->getAttrOfType<mlir::StringAttr>(
          "kern.target");
  if (!target)
    return true;
  llvm::StringRef name = target.getValue();
  unsigned number = 0;
  return !name.consume_front("sm_") || name.consumeInteger(10, number) ||
         number >= 90;
}

static void detect(Detector &detector) {
  kern::FuncOp func = detector.getFunc();
  if (auto shape = func.getDirective3("kern.reqnctapercluster")) {
    AttributeMap attributes;
    attributes["x"] = (*shape)[0];
    attributes["y"] = (*shape)[1];
    attributes["z"] = (*shape)[2];
    if ((*shape)[0] * (*shape)[1] * (*shape)[2] > 1)
      detector.addKernelFact(std::move(attributes));
    else
      detector.addNearMiss(
          "the kernel asks for clusters of 1x1x1, which is one block: nothing "
          "can be shared",
          findClusterUse(detector));
    return;
  }
  llvm::SmallVector<OpId, 4> uses = findClusterUse(detector);
  bool explicitly = func->hasAttr("kern.explicitcluster");
  // The launch may ask for clusters that the kernel takes no notice of.
  if (!hasClusters(func))
    return;
  detector.addUndecided(
      uses.empty() && explicitly
          ? "the kernel must be launched in clusters, whose shape is given at "
            "the launch"
      : uses.empty()
          ? "the kernel does not use a cluster, and the launch says whether it "
            "runs in one"
          : "the kernel uses its cluster at " + detector.describe(uses) +
                ", but the shape of the cluster is given at the launch",
      "host code: the cluster dimension attribute of the launch", uses);
}

/// The cluster that a launch attribute sets; the kernel's own directive was
/// seen in its code.
static void detectHost(HostDetector &detector) {
  std::set<size_t> open;
  std::set<size_t> launched;
  for (const cuda::HostTrace &trace : detector.getTraces())
    for (const cuda::Event *event : detector.getLaunches(trace)) {
      std::optional<size_t> kernel = detector.findKernel(*event);
      if (!kernel)
        continue;
      launched.insert(*kernel);
      static constexpr const char *kNames[] = {"x", "y", "z"};
      AttributeMap attributes;
      int64_t blocks = 1;
      std::string unknown;
      for (int i = 0; i < 3; ++i) {
        const cuda::Quantity &extent = event->cluster[i];
        if (!extent.value) {
          unknown = extent.unknown;
          continue;
        }
        attributes[kNames[i]] = *extent.value;
        blocks *= *extent.value;
      }
      if (!unknown.empty()) {
        open.insert(*kernel);
        detector.addUndecided(trace, kernel,
                              "the cluster of the launch at " +
                                  HostDetector::describe(event->where) +
                                  " depends on " + unknown,
                              kLaunchList, {event->where});
        continue;
      }
      if (blocks > 1)
        detector.addEvent(trace, kernel, *event, std::move(attributes));
    }
  for (size_t kernel : launched)
    if (!open.contains(kernel))
      detector.settle(kernel);
}

namespace d2k::properties {
Property makeClusterLaunch() {
  PropertyInfo info;
  info.id = "cluster_launch";
  info.group = 'C';
  info.summary = "the kernel runs in clusters of more than one block, by an "
                 "attribute of the kernel or of its launch";
  info.attributes = {{"x", AttrType::Integer, {}, "blocks of a cluster in x"},
                     {"y", AttrType::Integer, {}, "blocks of a cluster in y"},
                     {"z", AttrType::Integer, {}, "blocks of a cluster in z"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx};
  info.detectorTiers = {Tier::Source, Tier::Ptx};
  return {info, detect, detectHost};
}
} // namespace d2k::properties
