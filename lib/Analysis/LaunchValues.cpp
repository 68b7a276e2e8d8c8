// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of a launch: the numbers of the launch go into constant
// propagation, conditions and zero factors come out; then it is asked whether
// any work on data is decided away.

#include "d2k/Analysis/LaunchValues.h"

#include "ConstantFolding.h"

#include "d2k/Analysis/KernelContext.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

/// Sources of a decision that a sentence names.
static constexpr size_t kMaxNamed = 3;
/// Operations behind a condition in which its sources are looked for.
static constexpr size_t kMaxSlice = 256;

namespace {
/// Puts the numbers of a launch in the place of loads and special registers.
class Seeds {
public:
  /// \p trial: which of the two numbers an address gets.
  Seeds(KernelContext &kernel, const LaunchValues &launch, unsigned trial);

  const KnownValues &getKnown() const { return known; }
  /// "argument 3 is 0", by the value that was read.
  const llvm::DenseMap<ValueId, std::string> &getTexts() const { return texts; }

private:
  void addLoad(OpId op);
  void addSpecial(OpId op);
  std::optional<uint64_t> getAddress(const LaunchPointer &pointer) const;

  KernelContext &kernel;
  const KernelIndex &index;
  const LaunchValues &launch;
  unsigned trial;
  KnownValues known;
  llvm::DenseMap<ValueId, std::string> texts;
};

/// Compares what is constant with and without the launch.
class Decider {
public:
  Decider(KernelContext &kernel, const LaunchValues &launch)
      : kernel(kernel), index(kernel.getIndex()),
        constants(kernel.getConstants()), first(kernel, launch, 0),
        second(kernel, launch, 1), withFirst(index, &first.getKnown()),
        withSecond(index, &second.getKnown()) {}

  LaunchDecisions run(const LaunchValues &launch);

private:
  /// What \p value is under the launch when that is not known without it.
  std::optional<uint64_t> decide(ValueId value) const;
  void collect();
  void explain();
  bool hasData(ValueId value) {
    const Provenance &provenance = kernel.getProvenance();
    return provenance.isUnknown(value) || !provenance.getTerms(value).empty();
  }
  bool killsWork(BlockId start, const ConstantValues &decided);
  bool losesData(uint32_t edge);
  void name(ValueId decision);

  KernelContext &kernel;
  const KernelIndex &index;
  const ConstantValues &constants;
  Seeds first, second;
  ConstantValues withFirst, withSecond;
  LaunchDecisions decisions;
  std::vector<std::string> reasons;
};
} // namespace

//===----------------------------------------------------------------------===//
// Numbers of the launch
//===----------------------------------------------------------------------===//

Seeds::Seeds(KernelContext &kernel, const LaunchValues &launch, unsigned trial)
    : kernel(kernel), index(kernel.getIndex()), launch(launch), trial(trial) {
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (index.getGuard(op) != kNone)
      continue;
    if (isa<kern::LoadOp>(index.getOp(op)))
      addLoad(op);
    else if (isa<kern::SpecialOp>(index.getOp(op)))
      addSpecial(op);
  }
}

std::optional<uint64_t> Seeds::getAddress(const LaunchPointer &pointer) const {
  // Both halves are odd multiples of something, and the order of buffers is
  // not the same in both trials.
  uint64_t buffer = pointer.buffer & 0xffff;
  uint64_t base = trial == 0 ? (0x100 + buffer) << 36 | 0x40000000
                             : (0x50000 - buffer) << 28 | 0x3fffff00;
  // What is not known of the low bits is different, too.
  if (!pointer.offset)
    return base + (trial == 0 ? 0x1000 : 0xab5);
  if (trial == 1 && pointer.alignment < 256)
    base += 256 - pointer.alignment;
  return base + uint64_t(*pointer.offset);
}

void Seeds::addLoad(OpId op) {
  auto load = cast<kern::LoadOp>(index.getOp(op));
  if (load.getSpace() != kern::Space::Param &&
      load.getSpace() != kern::Space::Generic &&
      load.getSpace() != kern::Space::Constant)
    return;
  const MemoryRoots &memory = kernel.getMemory();
  ValueId base = index.getId(load.getBase());
  llvm::ArrayRef<RootId> roots = memory.getRoots(base);
  auto offset = memory.getOffset(base);
  if (roots.size() != 1 || !offset || offset->first != offset->second ||
      memory.getRoot(roots[0]).kind != Root::Kind::Parameter)
    return;
  unsigned parameter = memory.getRoot(roots[0]).number;
  unsigned size = kern::getBits(load.getType()) / 8;
  if (size == 0 || size > 8)
    return;
  for (uint32_t i = 0; i < index.getNumResults(op); ++i) {
    int64_t at = offset->first + int64_t(load.getOffset()) + int64_t(i) * size;
    ValueId value = index.getFirstResult(op) + i;
    unsigned width = getWidth(index.getValue(value).getType());
    if (width == 0 || width > 64)
      continue;
    if (auto pointer = launch.pointers.find({parameter, at});
        pointer != launch.pointers.end() && size == 8) {
      if (std::optional<uint64_t> address = getAddress(pointer->second)) {
        known.constants[value] = *address;
        const LaunchPointer &to = pointer->second;
        texts[value] =
            "argument " + std::to_string(parameter + 1) +
            (to.offset && to.alignment > 1
                 ? " is an address that is " +
                       std::to_string(*to.offset & (to.alignment - 1)) +
                       " modulo " + std::to_string(to.alignment)
                 : " is no null pointer");
      }
      continue;
    }
    uint64_t bits = 0;
    bool isKnown = true;
    for (unsigned byte = 0; byte < size && isKnown; ++byte) {
      auto found = launch.bytes.find({parameter, at + byte});
      isKnown = found != launch.bytes.end();
      if (isKnown)
        bits |= uint64_t(found->second) << (8 * byte);
    }
    if (!isKnown)
      continue;
    bool isFloat = kern::isFloat(load.getType());
    int64_t number = isSignedType(load.getType()) || size == 4
                         ? asSigned(bits, size * 8)
                         : int64_t(bits);
    if (isSignedType(load.getType()))
      bits = uint64_t(number);
    known.constants[value] = mask(bits, width);
    std::string text = std::to_string(number);
    if (isFloat && size == 4) {
      text.clear();
      llvm::raw_string_ostream(text)
          << llvm::format("%g", double(llvm::bit_cast<float>(uint32_t(bits))));
    }
    texts[value] =
        "argument " + std::to_string(parameter + 1) +
        (at == 0 ? " is " + text
                 : " has " + text + " at byte " + std::to_string(at));
  }
}

void Seeds::addSpecial(OpId op) {
  llvm::StringRef reg = cast<kern::SpecialOp>(index.getOp(op)).getReg();
  ValueId value = index.getFirstResult(op);
  if (index.getNumResults(op) != 1 || reg.size() < 3 ||
      reg[reg.size() - 2] != '.')
    return;
  unsigned axis = unsigned(reg.back() - 'x');
  llvm::StringRef kind = reg.drop_back(2);
  if (axis > 2)
    return;
  bool ofBlock = kind == "tid" || kind == "ntid";
  bool ofGrid = kind == "ctaid" || kind == "nctaid";
  const std::optional<int64_t> &extent =
      ofBlock ? launch.block[axis] : launch.grid[axis];
  if ((!ofBlock && !ofGrid) || !extent || *extent < 1)
    return;
  if (kind.starts_with("n"))
    known.constants[value] = uint64_t(*extent);
  else if (*extent == 1)
    known.constants[value] = 0;
  else
    known.ranges[value] = Range::of(0, *extent - 1);
  texts[value] = std::string(ofBlock ? "blockDim." : "gridDim.") + reg.back() +
                 " is " + std::to_string(*extent);
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

std::optional<uint64_t> Decider::decide(ValueId value) const {
  if (constants.get(value))
    return std::nullopt;
  std::optional<uint64_t> bits = withFirst.get(value);
  return bits && bits == withSecond.get(value) ? bits : std::nullopt;
}

/// Values that an operation multiplies, or masks, data with: a zero leaves
/// nothing of it.
static llvm::SmallVector<std::pair<Value, kern::ElementType>, 8>
getFactors(Operation *op) {
  llvm::SmallVector<std::pair<Value, kern::ElementType>, 8> factors;
  auto add = [&](ValueRange range, kern::ElementType type) {
    for (Value value : range)
      factors.push_back({value, type});
  };
  if (auto arith = dyn_cast<kern::ArithOp>(op)) {
    bool multiplies =
        kern::isFloat(arith.getType()) && (arith.getKind() == ArithKind::Mul ||
                                           arith.getKind() == ArithKind::Fma);
    if ((multiplies || arith.getKind() == ArithKind::And) &&
        arith.getInputs().size() >= 2)
      add(arith.getInputs().take_front(2), arith.getType());
  } else if (auto product = dyn_cast<kern::MatrixProductOpInterface>(op)) {
    if (product.getASource() == kern::OperandSource::Registers)
      add(product.getAValues(), product.getAElement());
    if (product.getBSource() == kern::OperandSource::Registers)
      add(product.getBValues(), product.getBElement());
  }
  return factors;
}

/// Bits of a number that make it no zero.
static uint64_t dropSigns(uint64_t bits, kern::ElementType type) {
  switch (type) {
  case kern::ElementType::F16:
  case kern::ElementType::BF16:
    return bits & 0x7fff;
  case kern::ElementType::F16X2:
  case kern::ElementType::BF16X2:
    return bits & 0x7fff7fff;
  case kern::ElementType::F64:
    return bits << 1;
  default:
    return kern::isFloat(type) ? bits & 0x7fffffff : bits;
  }
}

void Decider::collect() {
  auto keep = [&](ValueId value) {
    if (std::optional<uint64_t> bits = decide(value))
      decisions.known.constants[value] = *bits;
  };
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    if (!constants.mayRun(id) || !withFirst.isReachable(index.getBlockOf(id)) ||
        !withSecond.isReachable(index.getBlockOf(id)))
      continue;
    Operation *op = index.getOp(id);
    if (ValueId guard = index.getGuard(id); guard != kNone)
      keep(guard);
    if (isa<kern::CondBranchOp, kern::SwitchOp, kern::SelectOp>(op))
      keep(index.getOperands(id)[0]);
    for (auto [value, type] : getFactors(op)) {
      ValueId factor = index.getId(value);
      if (std::optional<uint64_t> bits = decide(factor);
          bits && dropSigns(*bits, type) == 0)
        decisions.known.constants[factor] = *bits;
    }
  }
}

/// Whether an operation is part of a design, and not of finding a place or a
/// way.
static bool isWork(Operation *op) {
  if (op->getNumSuccessors() != 0 ||
      isa<kern::ConstantOp, kern::UndefOp, kern::AddressOfOp, kern::SpecialOp,
          kern::SpaceCastOp, kern::CompareOp, kern::ConvertOp, kern::SelectOp,
          kern::PackOp, kern::UnpackOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (auto load = dyn_cast<kern::LoadOp>(op))
    return load.getSpace() != kern::Space::Param;
  if (auto arith = dyn_cast<kern::ArithOp>(op))
    return kern::isFloat(arith.getType()) ||
           arith.getKind() == ArithKind::Dp2a ||
           arith.getKind() == ArithKind::Dp4a;
  return true;
}

/// Whether work stands in the blocks that only the launch makes dead and that
/// `start` leads to.
bool Decider::killsWork(BlockId start, const ConstantValues &decided) {
  llvm::BitVector seen(index.getNumBlocks());
  llvm::SmallVector<BlockId, 8> stack{start};
  while (!stack.empty()) {
    BlockId block = stack.pop_back_val();
    if (seen.test(block) || decided.isReachable(block) ||
        !constants.isReachable(block))
      continue;
    seen.set(block);
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op)
      if (constants.mayRun(op) && isWork(index.getOp(op)))
        return true;
    llvm::append_range(stack, index.getSuccessors(block));
  }
  return false;
}

/// Whether `edge` passes data on.
bool Decider::losesData(uint32_t edge) {
  return llvm::any_of(index.getPassed(edge), [&](ValueId value) {
    return value != kNone && hasData(value);
  });
}

/// Adds what `decision` was made from to the reasons.
void Decider::name(ValueId decision) {
  llvm::SmallVector<ValueId, 8> stack{decision};
  llvm::DenseSet<ValueId> seen;
  while (!stack.empty() && seen.size() < kMaxSlice) {
    ValueId value = stack.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto text = first.getTexts().find(value);
        text != first.getTexts().end()) {
      if (!llvm::is_contained(reasons, text->second))
        reasons.push_back(text->second);
      continue;
    }
    if (OpId def = index.getDef(value); def != kNone)
      llvm::append_range(stack, index.getOperands(def));
    else
      for (const KernelIndex::Incoming &in : index.getIncoming(value))
        if (in.value != kNone)
          stack.push_back(in.value);
  }
}

void Decider::explain() {
  ConstantValues decided(index, &decisions.known);
  auto isDecided = [&](ValueId value) {
    return value != kNone && decisions.known.constants.contains(value);
  };
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    BlockId block = index.getBlockOf(id);
    if (!constants.mayRun(id) || !decided.isReachable(block))
      continue;
    Operation *op = index.getOp(id);
    llvm::ArrayRef<ValueId> in = index.getOperands(id);
    ValueId guard = index.getGuard(id);
    if (isDecided(guard) && !decided.mayRun(id) && isWork(op))
      name(guard);
    if (isa<kern::CondBranchOp, kern::SwitchOp>(op) && isDecided(in[0])) {
      llvm::ArrayRef<BlockId> to = index.getSuccessors(block);
      for (unsigned s = 0; s < to.size(); ++s) {
        uint32_t edge = index.getEdge(block, s);
        if (constants.isExecutableEdge(edge) &&
            !decided.isExecutableEdge(edge) &&
            (killsWork(to[s], decided) || losesData(edge)))
          name(in[0]);
      }
    } else if (isa<kern::SelectOp>(op) && isDecided(in[0])) {
      std::optional<uint64_t> bits = decided.get(in[0]);
      unsigned width = getWidth(index.getValue(in[0]).getType());
      bool chosen = width == 1 ? *bits != 0 : asSigned(*bits, width) >= 0;
      if (hasData(in[chosen ? 2 : 1]))
        name(in[0]);
    } else {
      auto factors = getFactors(op);
      for (auto [value, type] : factors)
        if (ValueId factor = index.getId(value);
            isDecided(factor) && llvm::any_of(factors, [&](auto &other) {
              return other.first != value && hasData(index.getId(other.first));
            }))
          name(factor);
    }
  }
  if (reasons.size() > kMaxNamed)
    reasons.resize(kMaxNamed);
  decisions.because = llvm::join(reasons, " and ");
}

LaunchDecisions Decider::run(const LaunchValues &launch) {
  decisions.unread = launch.unread;
  collect();
  if (!decisions.known.constants.empty())
    explain();
  return std::move(decisions);
}

LaunchDecisions analysis::decideByLaunch(KernelContext &kernel,
                                         const LaunchValues &launch) {
  return Decider(kernel, launch).run(launch);
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

std::optional<LaunchValues> analysis::parseLaunchValues(std::string_view text) {
  LaunchValues values;
  llvm::SmallVector<llvm::StringRef, 8> words;
  llvm::StringRef(text).split(words, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [place, number] = word.split('=');
    llvm::SmallVector<llvm::StringRef, 4> parts;
    place.split(parts, ':');
    int64_t value = 0;
    if (!place.starts_with("unread:") && number.getAsInteger(0, value))
      return std::nullopt;
    if (parts.size() == 1) {
      unsigned axis = unsigned(place.back() - 'x');
      if (axis > 2 ||
          (!place.starts_with("block.") && !place.starts_with("grid.")))
        return std::nullopt;
      (place.starts_with("block.") ? values.block : values.grid)[axis] = value;
      continue;
    }
    unsigned parameter = 0, size = 8;
    int64_t offset = 0;
    if (parts.size() < 3 || parts[1].getAsInteger(10, parameter) ||
        parts[2].getAsInteger(10, offset) ||
        (parts.size() > 3 && parts[3].getAsInteger(10, size)))
      return std::nullopt;
    ParameterPlace at{parameter, offset};
    if (parts[0] == "unread")
      values.unread[at] = number.str();
    else if (parts[0] == "pointer" && value != 0)
      values.pointers[at] = {parameter, 0, value};
    else if (parts[0] == "param" || parts[0] == "pointer")
      for (unsigned byte = 0; byte < size; ++byte)
        values.bytes[{parameter, offset + byte}] =
            uint8_t(uint64_t(value) >> (8 * byte));
    else
      return std::nullopt;
  }
  return values;
}
