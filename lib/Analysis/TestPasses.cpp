// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that print the result of one analysis each as remarks; FileCheck and
// -verify-diagnostics read them.

#include "d2k/Analysis/TestPasses.h"
#include "d2k/Analysis/InFlight.h"
#include "d2k/Analysis/KernelContext.h"
#include "d2k/Analysis/LaneAddresses.h"
#include "d2k/Analysis/LaunchValues.h"
#include "d2k/Analysis/MatrixDescriptors.h"
#include "d2k/Analysis/RingSlots.h"
#include "d2k/Analysis/SharedObjects.h"
#include "d2k/Analysis/UnrolledBody.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

namespace {
/// A pass over a module that calls `Derived::test` for each kernel.
template <typename Derived>
struct KernelTestPass : public PassWrapper<Derived, OperationPass<ModuleOp>> {
  void runOnOperation() final {
    SymbolTableCollection symbols;
    for (auto func : this->getOperation().template getOps<kern::FuncOp>())
      if (!func.getBody().empty()) {
        KernelContext kernel(func, symbols);
        static_cast<Derived *>(this)->test(kernel);
      }
  }
};

/// Name of a value for remarks: `result 1 of kern.load`, or the argument.
std::string rangeText(Range range) {
  if (range.full)
    return "full";
  return "[" + std::to_string(range.low) + ", " + std::to_string(range.high) +
         "]";
}

struct TestConstants : KernelTestPass<TestConstants> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestConstants)
  StringRef getArgument() const final { return "test-constants"; }
  StringRef getDescription() const final {
    return "print constants, ranges and dead code";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    const ConstantValues &constants = kernel.getConstants();
    for (OpId op = 0; op < index.getNumOps(); ++op) {
      InFlightDiagnostic remark = index.getOp(op)->emitRemark();
      if (!constants.mayRun(op))
        remark << "dead ";
      for (uint32_t i = 0; i < index.getNumResults(op); ++i) {
        ValueId value = index.getFirstResult(op) + i;
        if (std::optional<uint64_t> bits = constants.get(value))
          remark << "constant " << *bits << " ";
        else
          remark << "range " << rangeText(constants.getRange(value)) << " ";
      }
    }
  }
};

struct TestLoops : KernelTestPass<TestLoops> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestLoops)
  StringRef getArgument() const final { return "test-loops"; }
  StringRef getDescription() const final { return "print the loop nest"; }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    const LoopNest &loops = kernel.getLoops();
    for (const Loop &loop : loops.getLoops()) {
      OpId first = index.getOps(loop.header).first;
      InFlightDiagnostic remark = index.getOp(first)->emitRemark();
      remark << loop.id << " depth " << loop.depth << " blocks "
             << loop.blocks.size();
      if (loop.trip)
        remark << " trip " << *loop.trip;
      if (loop.spin)
        remark << " spin";
    }
    if (loops.isIrreducible())
      kernel.getFunc().emitRemark("irreducible");
  }
};

struct TestLinearForms : KernelTestPass<TestLinearForms> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestLinearForms)
  StringRef getArgument() const final { return "test-linear-forms"; }
  StringRef getDescription() const final {
    return "print the form of each value that is stored or an address";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    LinearForms &forms = kernel.getForms();
    for (const AccessInfo &info : kernel.getMemory().getAccesses()) {
      InFlightDiagnostic remark = index.getOp(info.op)->emitRemark();
      remark << "at "
             << forms.toString(forms.get(index.getId(info.access.address)));
      if (auto store = dyn_cast<kern::StoreOp>(index.getOp(info.op)))
        for (Value value : store.getValues())
          remark << ", stores "
                 << forms.toString(forms.get(index.getId(value)));
    }
  }
};

struct TestMemoryRoots : KernelTestPass<TestMemoryRoots> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMemoryRoots)
  StringRef getArgument() const final { return "test-memory-roots"; }
  StringRef getDescription() const final {
    return "print root, offsets and objects of each access";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    const MemoryRoots &memory = kernel.getMemory();
    for (auto [i, info] : llvm::enumerate(memory.getAccesses())) {
      InFlightDiagnostic remark = index.getOp(info.op)->emitRemark();
      remark << (info.access.write ? (info.access.read ? "update" : "write")
                                   : "read")
             << " " << kern::stringifySpace(info.space) << " of";
      if (info.roots.empty())
        remark << " unknown";
      for (RootId root : info.roots)
        remark << " " << memory.describe(root);
      if (info.bounded)
        remark << " bytes [" << info.low << ", " << info.high << ")";
      if (info.access.barrier)
        remark << " barrier";
      for (ObjectId object : memory.getObjectsOf(i))
        remark << " object " << object;
    }
  }
};

struct TestUniformity : KernelTestPass<TestUniformity> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestUniformity)
  StringRef getArgument() const final { return "test-uniformity"; }
  StringRef getDescription() const final {
    return "print which threads agree on each value";
  }
  void test(KernelContext &kernel) {
    static constexpr const char *names[] = {"block", "warp", "thread"};
    const KernelIndex &index = kernel.getIndex();
    for (OpId op = 0; op < index.getNumOps(); ++op)
      for (uint32_t i = 0; i < index.getNumResults(op); ++i)
        index.getOp(op)->emitRemark() << names[unsigned(
            kernel.getUniformity().get(index.getFirstResult(op) + i))];
  }
};

struct TestProvenance : KernelTestPass<TestProvenance> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestProvenance)
  StringRef getArgument() const final { return "test-provenance"; }
  StringRef getDescription() const final {
    return "print terms and reach of values, and the output stores";
  }
  void test(KernelContext &kernel) {
    static constexpr const char *names[] = {"none", "control", "may", "must"};
    const KernelIndex &index = kernel.getIndex();
    const Provenance &provenance = kernel.getProvenance();
    for (OpId op = 0; op < index.getNumOps(); ++op) {
      if (index.getNumResults(op) == 0 ||
          isa<kern::ConstantOp, kern::AddressOfOp>(index.getOp(op)))
        continue;
      ValueId value = index.getFirstResult(op);
      index.getOp(op)->emitRemark()
          << "terms " << provenance.getTerms(value).toString()
          << (provenance.isUnknown(value) ? " unknown" : "") << " reach "
          << names[unsigned(provenance.getReach(value))];
    }
    for (const OutputStore &store : provenance.getOutputStores())
      index.getOp(store.op)->emitRemark() << "output " << store.terms.toString()
                                          << (store.unknown ? " unknown" : "")
                                          << (store.rooted ? "" : " unrooted");
  }
};

struct TestResidue : KernelTestPass<TestResidue> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestResidue)
  StringRef getArgument() const final { return "test-residue"; }
  StringRef getDescription() const final {
    return "print what is left of values when matrix products are zero";
  }
  void test(KernelContext &kernel) {
    static constexpr const char *names[] = {"none", "few", "fold", "mixed"};
    const KernelIndex &index = kernel.getIndex();
    const Residue &residue = kernel.getResidue();
    for (OpId op = 0; op < index.getNumOps(); ++op) {
      Operation *operation = index.getOp(op);
      if (isa<kern::ArithOp, kern::MathOp, kern::SelectOp, kern::MmaOp>(
              operation))
        operation->emitRemark()
            << names[unsigned(residue.get(index.getFirstResult(op)))];
    }
    for (const OutputStore &store : kernel.getProvenance().getOutputStores())
      index.getOp(store.op)->emitRemark()
          << "output " << names[unsigned(residue.getWritten(store.op))];
  }
};

struct TestMainRegion : KernelTestPass<TestMainRegion> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMainRegion)
  StringRef getArgument() const final { return "test-main-region"; }
  StringRef getDescription() const final { return "print the main region"; }
  void test(KernelContext &kernel) {
    const MainRegion &region = kernel.getMainRegion();
    InFlightDiagnostic remark = kernel.getFunc().emitRemark();
    switch (region.getKind()) {
    case MainRegion::Kind::Loops:
      remark << "main loops";
      for (uint32_t loop : region.getLoops())
        remark << " " << kernel.getLoops().getLoop(loop).id;
      break;
    case MainRegion::Kind::Body:
      remark << "main body";
      if (unsigned times =
              countRepeats(kernel.getIndex(), kernel.getConstants(),
                           kernel.getMemory(), region);
          times > 1)
        remark << ", unrolled " << times << " times";
      break;
    case MainRegion::Kind::Unknown:
      remark << "main unknown: " << region.getReason();
      break;
    }
  }
};

struct TestLaneForms : KernelTestPass<TestLaneForms> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestLaneForms)
  StringRef getArgument() const final { return "test-lane-forms"; }
  StringRef getDescription() const final {
    return "print the address of each access by thread";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    LaneForms &forms = kernel.getLaneForms();
    for (const AccessInfo &info : kernel.getMemory().getAccesses()) {
      if (!info.access.address)
        continue;
      const LaneForm &form = forms.get(index.getId(info.access.address));
      InFlightDiagnostic remark = index.getOp(info.op)->emitRemark();
      remark << "at " << forms.toString(form);
      for (const auto &[symbol, by] : form.terms) {
        const LaneSymbol &s = forms.getSymbol(symbol);
        if (s.values.empty())
          continue;
        remark << (symbol == form.terms[0].first ? "" : ",") << " ring"
               << symbol << " in";
        for (int64_t value : s.values)
          remark << " " << value;
      }
      if (!form.known && form.blocker != kNone)
        remark << " behind " << index.getOp(form.blocker)->getName();
    }
  }
};

struct TestLaneAddresses : KernelTestPass<TestLaneAddresses> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestLaneAddresses)
  StringRef getArgument() const final { return "test-lane-addresses"; }
  StringRef getDescription() const final {
    return "print sectors and bank conflicts of each access";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    LaneAddresses &lanes = kernel.getLaneAddresses();
    for (auto [i, info] : llvm::enumerate(kernel.getMemory().getAccesses())) {
      if (info.access.barrier)
        continue;
      if (info.isGlobal()) {
        InFlightDiagnostic remark = index.getOp(info.op)->emitRemark();
        if (std::optional<SectorCount> count = lanes.getSectors(i))
          remark << count->touched << " sectors of " << count->least
                 << (count->broadcast ? " broadcast" : "")
                 << (count->inside ? " inside" : "");
        else
          remark << "sectors unknown";
      } else if (info.space == kern::Space::Shared) {
        InFlightDiagnostic remark = index.getOp(info.op)->emitRemark();
        if (std::optional<unsigned> degree = lanes.getConflicts(i))
          remark << "conflict degree " << *degree;
        else
          remark << "conflicts unknown";
      }
    }
  }
};

struct TestMatrixDescriptors : KernelTestPass<TestMatrixDescriptors> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMatrixDescriptors)
  StringRef getArgument() const final { return "test-matrix-descriptors"; }
  StringRef getDescription() const final {
    return "print the fields of matrix descriptors";
  }
  void test(KernelContext &kernel) {
    for (auto [i, info] : llvm::enumerate(kernel.getMemory().getAccesses())) {
      if (info.access.form != kern::MemoryAccess::Form::Descriptor)
        continue;
      InFlightDiagnostic remark =
          kernel.getIndex().getOp(info.op)->emitRemark();
      if (auto descriptor = getMatrixDescriptor(kernel, i))
        remark << "leading " << descriptor->leading << " stride "
               << descriptor->stride << " swizzle " << descriptor->swizzle;
      else
        remark << "descriptor unknown";
    }
  }
};

struct TestSharedObjects : KernelTestPass<TestSharedObjects> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestSharedObjects)
  StringRef getArgument() const final { return "test-shared-objects"; }
  StringRef getDescription() const final {
    return "print the shared object and the slot of each access";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    const SharedObjects &shared = kernel.getSharedObjects();
    for (auto [i, object] : llvm::enumerate(shared.getObjects()))
      kernel.getFunc().emitRemark()
          << "object " << i << " " << shared.describe(i);
    for (auto [i, info] : llvm::enumerate(kernel.getMemory().getAccesses())) {
      const SharedPlace &place = shared.getPlace(i);
      if (place.object == kNone)
        continue;
      InFlightDiagnostic remark = index.getOp(info.op)->emitRemark();
      remark << "in object " << place.object << " [" << place.low << ", "
             << (place.bounded ? std::to_string(place.high) : "?") << ")";
      if (shared.getObject(place.object).stride != 0) {
        remark << " slot " << place.slot;
        if (place.ring != kNone)
          remark << " + ring" << place.ring;
        if (place.step != 1)
          remark << " times " << place.step;
      }
    }
    for (uint32_t access : shared.getUnplaced())
      index.getOp(kernel.getMemory().getAccesses()[access].op)->emitRemark()
          << "not placed";
  }
};

struct TestWarpRoles : KernelTestPass<TestWarpRoles> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestWarpRoles)
  StringRef getArgument() const final { return "test-warp-roles"; }
  StringRef getDescription() const final {
    return "print the warps that run barriers and memory accesses, roles and "
           "hand-overs";
  }
  static std::string describe(WarpSet warps) {
    std::string text;
    for (unsigned warp = 0; warp < 32; ++warp)
      if (warps >> warp & 1)
        text += " " + std::to_string(warp);
    return text.empty() ? " none" : text;
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    WarpRoles &roles = kernel.getRoles();
    for (OpId op = 0; op < index.getNumOps(); ++op)
      if (isa<kern::MemoryAccessOpInterface, kern::BarrierOpInterface,
              kern::MatrixProductOpInterface, kern::SetMaxRegistersOp>(
              index.getOp(op)))
        index.getOp(op)->emitRemark()
            << "warps" << describe(roles.getWarps(op));
    if (!roles.isKnown())
      kernel.getFunc().emitRemark("roles not known");
    for (auto [number, role] : llvm::enumerate(roles.getRoles())) {
      InFlightDiagnostic remark = kernel.getFunc().emitRemark();
      remark << "role " << number << " " << getDutyName(role.duty) << " warps"
             << describe(role.warps) << " loops";
      for (uint32_t loop : role.loops)
        remark << " " << kernel.getLoops().getLoop(loop).id;
    }
    for (const HandOver &over : roles.getHandOvers())
      index.getOp(over.arrive)->emitRemark()
          << "hands over from role " << over.from << " to role " << over.to
          << (over.possible ? " perhaps" : "");
  }
};

struct TestAppliedOperations : KernelTestPass<TestAppliedOperations> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestAppliedOperations)
  StringRef getArgument() const final { return "test-applied-operations"; }
  StringRef getDescription() const final {
    return "print what is done to data before and behind the main products";
  }
  static std::string describe(uint8_t kinds) {
    static constexpr const char *names[] = {" operand", " scale", " nonlinear",
                                            " widening"};
    std::string text;
    for (unsigned i = 0; i < 4; ++i)
      if (kinds >> i & 1)
        text += names[i];
    return text.empty() ? " nothing" : text;
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    const AppliedOperations &applied = kernel.getApplied();
    if (!applied.isKnown()) {
      kernel.getFunc().emitRemark("not known");
      return;
    }
    for (OpId op : applied.getProducts()) {
      AppliedWay way = applied.getPrologue(op);
      index.getOp(op)->emitRemark() << "before: must" << describe(way.must)
                                    << ", may" << describe(way.may);
    }
    for (const OutputStore &store : kernel.getProvenance().getOutputStores()) {
      AppliedWay way = applied.getEpilogue(store.op);
      if (way.on)
        index.getOp(store.op)->emitRemark()
            << "after: must" << describe(way.must) << ", may"
            << describe(way.may);
      else
        index.getOp(store.op)->emitRemark("after: no product");
    }
  }
};

/// The outermost loop that holds \p op.
uint32_t getTestLoop(KernelContext &kernel, OpId op) {
  const LoopNest &loops = kernel.getLoops();
  uint32_t loop = loops.getInnermost(kernel.getIndex().getBlockOf(op));
  while (loop != kNone && loops.getLoop(loop).parent != kNone)
    loop = loops.getLoop(loop).parent;
  return loop;
}

struct TestRingSlots : KernelTestPass<TestRingSlots> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestRingSlots)
  StringRef getArgument() const final { return "test-ring-slots"; }
  StringRef getDescription() const final {
    return "print the slots of each asynchronous copy";
  }
  void test(KernelContext &kernel) {
    IterationValues values(kernel.getIndex(), kernel.getConstants(),
                           kernel.getLoops());
    RingSlots rings(kernel.getIndex(), kernel.getConstants(),
                    kernel.getDominance(), kernel.getLoops(),
                    kernel.getMemory(), values);
    std::vector<uint32_t> all;
    for (uint32_t loop = 0; loop < kernel.getLoops().getLoops().size(); ++loop)
      all.push_back(loop);
    std::vector<uint32_t> places = all;
    places.push_back(kNone);
    for (uint32_t loop : places)
      for (const CopySite &site : rings.findSites(loop, all)) {
        Ring ring = rings.getRing(site);
        InFlightDiagnostic remark =
            kernel.getIndex().getOp(site.clones.front())->emitRemark();
        remark << site.clones.size() << " clones, ";
        if (ring.slots == 0) {
          remark << "unknown: " << ring.reason;
          continue;
        }
        remark << ring.slots << " slots, period " << ring.period << ":";
        for (const IterationValue &address : ring.addresses) {
          std::optional<int64_t> distance =
              values.distance(address, ring.addresses.front());
          remark << " +" << (distance ? std::to_string(*distance) : "?");
        }
      }
  }
};

struct TestInFlight : KernelTestPass<TestInFlight> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestInFlight)
  StringRef getArgument() const final { return "test-in-flight"; }
  StringRef getDescription() const final {
    return "print the ages of asynchronous work at matrix products, waits and "
           "barriers of its loop";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    IterationValues values(index, kernel.getConstants(), kernel.getLoops());
    RingSlots rings(index, kernel.getConstants(), kernel.getDominance(),
                    kernel.getLoops(), kernel.getMemory(), values);
    InFlight inFlight(index, kernel.getConstants(), kernel.getDominance(),
                      kernel.getLoops(), kernel.getBarrierGroups(), values,
                      rings);
    std::vector<std::string> text(index.getNumOps());
    for (auto [number, issue] : llvm::enumerate(inFlight.getIssues())) {
      uint32_t loop = getTestLoop(kernel, issue);
      std::vector<OpId> points;
      for (OpId op = 0; op < index.getNumOps(); ++op)
        if (isa<kern::MatrixProductOpInterface, kern::AsyncWaitOp,
                kern::BarrierOp>(index.getOp(op)) &&
            (loop == kNone ||
             kernel.getLoops().contains(loop, index.getBlockOf(op))))
          points.push_back(op);
      for (auto [point, ages] :
           llvm::zip(points, inFlight.getSteady(issue, loop, points))) {
        text[point] += " #" + std::to_string(number) + " may " +
                       agesText(ages.may) + " must " + agesText(ages.must);
        if (ages.mayUnheard != ages.may || ages.mustUnheard != ages.must)
          text[point] += " unheard may " + agesText(ages.mayUnheard) +
                         " must " + agesText(ages.mustUnheard);
        if (ages.mayApart != ages.mayUnheard ||
            ages.mustApart != ages.mustUnheard)
          text[point] += " apart may " + agesText(ages.mayApart) + " must " +
                         agesText(ages.mustApart);
      }
      InFlightDiagnostic remark = index.getOp(issue)->emitRemark();
      remark << "issue #" << number;
      for (OpId drain : inFlight.getDrains(issue, loop))
        remark << ", drained by "
               << cast<kern::InstOpInterface>(index.getOp(drain)).getMnemonic();
    }
    for (OpId op = 0; op < index.getNumOps(); ++op)
      if (!text[op].empty())
        index.getOp(op)->emitRemark() << "before:" << text[op];
  }
  static std::string agesText(uint32_t ages) {
    std::string result = "{";
    for (unsigned age = 0; age < 32; ++age)
      if (ages >> age & 1)
        result += (result.size() > 1 ? "," : "") + std::to_string(age);
    return result + "}";
  }
};

struct TestBarrierGroups : KernelTestPass<TestBarrierGroups> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBarrierGroups)
  StringRef getArgument() const final { return "test-barrier-groups"; }
  StringRef getDescription() const final {
    return "print which warps meet at each named barrier";
  }
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    const BarrierGroups &barriers = kernel.getBarrierGroups();
    for (OpId op = 0; op < index.getNumOps(); ++op) {
      auto barrier = dyn_cast<kern::BarrierOp>(index.getOp(op));
      if (!barrier || !barrier.waits())
        continue;
      InFlightDiagnostic remark = barrier.emitRemark();
      if (barriers.isWhole(op)) {
        remark << "whole block";
        continue;
      }
      WarpGroups groups =
          barriers.join([&](OpId other) { return other == op; });
      remark << "meet:";
      for (unsigned group = 0; group < groups.size(); ++group) {
        std::string warps;
        for (unsigned warp = 0; warp < groups.size(); ++warp)
          if (groups[warp] == group)
            warps += (warps.empty() ? "" : ",") + std::to_string(warp);
        if (!warps.empty())
          remark << " {" << warps << "}";
      }
    }
  }
};

struct TestLaunchValues : KernelTestPass<TestLaunchValues> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestLaunchValues)
  TestLaunchValues() = default;
  TestLaunchValues(const TestLaunchValues &other) : KernelTestPass(other) {}
  StringRef getArgument() const final { return "test-launch-values"; }
  StringRef getDescription() const final {
    return "print what a launch decides, and what does not run then";
  }
  Option<std::string> launch{*this, "launch",
                             llvm::cl::desc("numbers of the launch")};
  void test(KernelContext &kernel) {
    const KernelIndex &index = kernel.getIndex();
    std::optional<LaunchValues> values = parseLaunchValues(launch.getValue());
    if (!values) {
      kernel.getFunc().emitError("malformed launch");
      return;
    }
    LaunchDecisions decisions = decideByLaunch(kernel, *values);
    SymbolTableCollection symbols;
    KernelContext decided(kernel.getFunc(), symbols, &decisions);
    kernel.getFunc().emitRemark()
        << (decisions.because.empty() ? "nothing" : decisions.because);
    for (OpId op = 0; op < index.getNumOps(); ++op) {
      std::string text;
      for (uint32_t i = 0; i < index.getNumResults(op); ++i)
        if (auto found =
                decisions.known.constants.find(index.getFirstResult(op) + i);
            found != decisions.known.constants.end())
          text += " decided " + std::to_string(found->second);
      if (kernel.getConstants().mayRun(op) &&
          !decided.getConstants().mayRun(op))
        text += " dead";
      if (!text.empty())
        index.getOp(op)->emitRemark() << StringRef(text).ltrim();
    }
  }
};
} // namespace

void analysis::registerTestPasses() {
  PassRegistration<TestConstants>();
  PassRegistration<TestLoops>();
  PassRegistration<TestLinearForms>();
  PassRegistration<TestMemoryRoots>();
  PassRegistration<TestUniformity>();
  PassRegistration<TestProvenance>();
  PassRegistration<TestResidue>();
  PassRegistration<TestMainRegion>();
  PassRegistration<TestLaneForms>();
  PassRegistration<TestLaneAddresses>();
  PassRegistration<TestMatrixDescriptors>();
  PassRegistration<TestSharedObjects>();
  PassRegistration<TestAppliedOperations>();
  PassRegistration<TestWarpRoles>();
  PassRegistration<TestRingSlots>();
  PassRegistration<TestInFlight>();
  PassRegistration<TestBarrierGroups>();
  PassRegistration<TestLaunchValues>();
}
