// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All analyses of one kernel, each computed when it is first asked for and then
// kept. Detectors get one of these and nothing else.

#ifndef D2K_ANALYSIS_KERNELCONTEXT_H
#define D2K_ANALYSIS_KERNELCONTEXT_H

#include "d2k/Analysis/AppliedOperations.h"
#include "d2k/Analysis/LinearForms.h"
#include "d2k/Analysis/LoopNest.h"
#include "d2k/Analysis/MainRegion.h"
#include "d2k/Analysis/Provenance.h"
#include "d2k/Analysis/Residue.h"
#include "d2k/Analysis/Uniformity.h"
#include "d2k/Analysis/WarpRoles.h"

#include <memory>

namespace d2k::analysis {

class BarrierGroups;
class LaneAddresses;
class LaneForms;
class SharedObjects;
struct LaunchDecisions;

class KernelContext {
public:
  /// \p symbols keeps the tables of symbols of the kernel's module. With
  /// \p decisions, which have to outlive it, the kernel is what runs under the
  /// launch that makes them.
  KernelContext(kern::FuncOp func, mlir::SymbolTableCollection &symbols,
                const LaunchDecisions *decisions = nullptr);
  ~KernelContext();

  kern::FuncOp getFunc() const { return func; }
  const KernelIndex &getIndex() { return make(index, func); }
  /// Null without a launch. Include LaunchValues.h to use them.
  const LaunchDecisions *getDecisions() const { return decisions; }
  const ConstantValues &getConstants();
  const Dominance &getDominance() {
    return make(dominance, getIndex(), getConstants());
  }
  const LoopNest &getLoops() {
    return make(loops, getIndex(), getConstants(), getDominance());
  }
  const MemoryRoots &getMemory();
  const DataFlow &getFlow() {
    return make(flow, getIndex(), getConstants(), getMemory(),
                getDominance().getOrder());
  }
  const Provenance &getProvenance() {
    return make(provenance, getIndex(), getMemory(), getFlow());
  }
  /// Not const: forms are computed when they are asked for.
  LinearForms &getForms() {
    if (!forms)
      forms =
          std::make_unique<LinearForms>(getIndex(), getConstants(), getLoops());
    return *forms;
  }
  const Residue &getResidue() {
    return make(residue, getIndex(), getConstants(), getDominance(), getLoops(),
                getMemory(), getFlow());
  }
  const Uniformity &getUniformity() {
    return make(uniformity, getIndex(), getConstants());
  }
  /// Not const, like getForms. Include LaneForms.h to use them.
  LaneForms &getLaneForms();
  /// Include LaneAddresses.h to use them.
  LaneAddresses &getLaneAddresses();
  /// Include SharedObjects.h to use them.
  const SharedObjects &getSharedObjects();
  /// Include BarrierGroups.h to use them.
  const BarrierGroups &getBarrierGroups();
  const MainRegion &getMainRegion() {
    return make(mainRegion, getIndex(), getConstants(), getDominance(),
                getLoops(), getMemory(), getProvenance());
  }
  const AppliedOperations &getApplied() {
    return make(applied, getIndex(), getConstants(), getDominance(), getLoops(),
                getMemory(), getSharedObjects(), getFlow(), getProvenance(),
                getMainRegion());
  }
  /// Not const: conditions are worked out when they are asked for.
  WarpRoles &getRoles() {
    if (!roles)
      roles = std::make_unique<WarpRoles>(
          getIndex(), getConstants(), getDominance(), getLoops(), getMemory(),
          getProvenance(), getMainRegion(), getLaneForms(), getSharedObjects());
    return *roles;
  }

private:
  template <typename T, typename... Args>
  static const T &make(std::unique_ptr<T> &slot, Args &&...args) {
    if (!slot)
      slot = std::make_unique<T>(std::forward<Args>(args)...);
    return *slot;
  }

  kern::FuncOp func;
  mlir::SymbolTableCollection &symbols;
  const LaunchDecisions *decisions;
  std::unique_ptr<KernelIndex> index;
  std::unique_ptr<ConstantValues> constants;
  std::unique_ptr<Dominance> dominance;
  std::unique_ptr<LoopNest> loops;
  std::unique_ptr<MemoryRoots> memory;
  std::unique_ptr<DataFlow> flow;
  std::unique_ptr<Provenance> provenance;
  std::unique_ptr<Residue> residue;
  std::unique_ptr<LinearForms> forms;
  std::unique_ptr<Uniformity> uniformity;
  std::unique_ptr<LaneForms> laneForms;
  std::unique_ptr<LaneAddresses> laneAddresses;
  std::unique_ptr<SharedObjects> sharedObjects;
  std::unique_ptr<BarrierGroups> barrierGroups;
  std::unique_ptr<MainRegion> mainRegion;
  std::unique_ptr<AppliedOperations> applied;
  std::unique_ptr<WarpRoles> roles;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_KERNELCONTEXT_H
