// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups copies into sites, follows their addresses through the iterations of
// the loop, and counts the distinct ones.

#include "d2k/Analysis/RingSlots.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

std::optional<CopyOperands> analysis::getCopyToShared(Operation *op) {
  CopyOperands operands;
  if (auto copy = dyn_cast<kern::AsyncCopyOp>(op)) {
    operands.target = copy.getDst();
    operands.targetOffset = copy.getDstOffset();
    return operands;
  }
  auto copy = dyn_cast<kern::BulkCopyOp>(op);
  if (!copy || copy.getKind() != kern::BulkKind::Copy ||
      copy.getSrcSpace() != kern::Space::Global || copy.getDst().empty() ||
      (copy.getDstSpace() != kern::Space::Shared &&
       copy.getDstSpace() != kern::Space::SharedCluster))
    return std::nullopt;
  operands.target = copy.getDst().front();
  operands.targetOffset = copy.getDstOffset();
  operands.barrier = copy.getBarrier();
  operands.barrierOffset = copy.getBarrierOffset();
  operands.bulk = true;
  return operands;
}

RingSlots::RingSlots(const KernelIndex &index, const ConstantValues &constants,
                     const Dominance &dominance, const LoopNest &loops,
                     const MemoryRoots &memory, IterationValues &values)
    : index(index), constants(constants), dominance(dominance), loops(loops),
      memory(memory), values(values) {}

llvm::ArrayRef<OpId> RingSlots::getOrder(uint32_t loop) const {
  auto [it, isNew] = orders.try_emplace(loop);
  std::vector<OpId> &order = it->second;
  if (!isNew)
    return order;
  for (BlockId block : dominance.getOrder()) {
    if (loop != kNone && !loops.contains(loop, block))
      continue;
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op)
      if (constants.mayRun(op))
        order.push_back(op);
  }
  return order;
}

unsigned RingSlots::getIterations(uint32_t loop) const {
  if (loop == kNone)
    return 1;
  std::optional<int64_t> trip = loops.getLoop(loop).trip;
  return trip && *trip > 0 && *trip < kIterations ? unsigned(*trip)
                                                  : kIterations;
}

std::vector<CopySite>
RingSlots::findSites(uint32_t loop, llvm::ArrayRef<uint32_t> main) const {
  // By kind, and by the roots of the source.
  std::map<std::pair<bool, std::vector<uint32_t>>, size_t> numbers;
  std::vector<CopySite> sites;
  for (OpId op : getOrder(loop)) {
    std::optional<CopyOperands> copy = getCopyToShared(index.getOp(op));
    if (!copy)
      continue;
    uint32_t owner = loops.getInnermostWorking(index.getBlockOf(op));
    while (owner != kNone && !llvm::is_contained(main, owner))
      owner = loops.getLoop(owner).parent;
    if (owner != loop)
      continue;
    llvm::ArrayRef<AccessInfo> accesses = memory.getAccessesOf(op);
    std::vector<uint32_t> roots;
    if (!accesses.empty())
      roots.assign(accesses[0].roots.begin(), accesses[0].roots.end());
    auto [it, isNew] =
        numbers.try_emplace({copy->bulk, std::move(roots)}, sites.size());
    if (isNew)
      sites.push_back({loop, copy->bulk, {}});
    sites[it->second].clones.push_back(op);
  }
  return sites;
}

IterationValue RingSlots::getAddress(Value address, int64_t offset, OpId user,
                                     uint32_t loop, unsigned iteration) {
  IterationValue value =
      values.getWhereRuns(index.getId(address), user, loop, iteration);
  value.constant += offset;
  return value;
}

IterationValue RingSlots::getTarget(OpId op, uint32_t loop,
                                    unsigned iteration) {
  CopyOperands copy = *getCopyToShared(index.getOp(op));
  return getAddress(copy.target, copy.targetOffset, op, loop, iteration);
}

std::vector<RingSlots::Step> RingSlots::getSteps(const CopySite &site) const {
  std::vector<Step> steps;
  llvm::SmallDenseSet<OpId, 16> clones(site.clones.begin(), site.clones.end());
  for (OpId op : getOrder(site.loop)) {
    Operation *operation = index.getOp(op);
    if (clones.contains(op)) {
      steps.push_back({op, false});
      continue;
    }
    auto effect = dyn_cast<kern::AsyncEffectOpInterface>(operation);
    if (!site.bulk && effect &&
        effect.getAsyncRole() == kern::AsyncRole::Commit &&
        (effect.getCompletion() == kern::Completion::CpAsyncGroup ||
         isa<kern::AsyncArriveOp>(operation)))
      steps.push_back({op, true});
  }
  return steps;
}

std::vector<CopySite> RingSlots::getFixedBatches(const CopySite &site) {
  std::vector<CopySite> batches;
  std::vector<IterationValue> starts;
  bool open = false;
  for (const Step &step : getSteps(site)) {
    if (step.commit) {
      open = false;
      continue;
    }
    if (open) {
      batches.back().clones.push_back(step.op);
      continue;
    }
    open = true;
    IterationValue start = getTarget(step.op, site.loop, 0);
    for (unsigned i = 0; i < getIterations(site.loop); ++i)
      if (IterationValue here = getTarget(step.op, site.loop, i);
          values.isUnknown(here) || !(here == start))
        return {};
    if (llvm::is_contained(starts, start))
      return {};
    starts.push_back(start);
    batches.push_back({site.loop, site.bulk, {step.op}});
  }
  return batches;
}

const Ring &RingSlots::getRing(const CopySite &site) {
  auto [it, isNew] = ringOf.try_emplace(
      {site.loop, std::vector<OpId>(site.clones.begin(), site.clones.end())});
  if (isNew)
    it->second = computeRing(site);
  return it->second;
}

Ring RingSlots::computeRing(const CopySite &site) {
  Ring ring;
  std::vector<Step> steps = getSteps(site);

  unsigned iterations = getIterations(site.loop);
  std::vector<IterationValue> sequence;
  size_t half = 0;
  for (unsigned iteration = 0; iteration < iterations; ++iteration) {
    if (iteration == iterations / 2)
      half = sequence.size();
    // An iteration opens a batch: copies of two iterations are two copies.
    bool open = false;
    std::optional<IterationValue> barrier;
    for (const Step &step : steps) {
      if (step.commit) {
        open = false;
        continue;
      }
      CopyOperands copy = *getCopyToShared(index.getOp(step.op));
      if (copy.barrier) {
        IterationValue here = getAddress(copy.barrier, copy.barrierOffset,
                                         step.op, site.loop, iteration);
        open &= barrier == here;
        barrier = here;
      }
      if (open)
        continue;
      open = true;
      IterationValue target = getTarget(step.op, site.loop, iteration);
      if (values.isUnknown(target)) {
        ring.reason = "the address that it writes is not known from one "
                      "iteration to the next";
        return ring;
      }
      sequence.push_back(target);
    }
  }
  std::set<IterationValue> early(sequence.begin(), sequence.begin() + half);
  std::set<IterationValue> seen;
  for (const IterationValue &value : sequence)
    if (seen.insert(value).second)
      ring.addresses.push_back(value);
  bool whole = site.loop == kNone || iterations < kIterations;
  if (!whole) {
    std::set<IterationValue> late(sequence.begin() + half, sequence.end());
    if (early != late) {
      ring.addresses.clear();
      ring.reason = "it writes to another place in every iteration";
      return ring;
    }
  }
  ring.slots = ring.addresses.size();
  for (size_t period = 1; !whole && period <= half; ++period) {
    bool repeats = true;
    for (size_t i = half; i + period < sequence.size() && repeats; ++i)
      repeats = sequence[i] == sequence[i + period];
    if (repeats) {
      ring.period = period;
      break;
    }
  }
  return ring;
}
