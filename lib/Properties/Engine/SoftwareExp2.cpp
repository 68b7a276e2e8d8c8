// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/SoftwareExp2.h"

#include "d2k/Dialect/Kern/Kern.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>
#include <map>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;
using llvm::APFloat;

/// Bits of the fraction of a float: where its exponent begins.
static constexpr uint64_t kFractionBits = 23;
/// Arguments are tried from minus this to this.
static constexpr double kLargestArgument = 12;
static constexpr int kNumSamples = 41;
/// A chord of 2^f is off by 0.06, a parabola by 0.002.
static constexpr double kTolerance = 1.0 / 128;
/// Operations that one power is made of, at most.
static constexpr unsigned kMaxDepth = 64;
/// Operations from the shift to the power.
static constexpr unsigned kMaxSteps = 4;

static APFloat toFloat(uint64_t bits) {
  return APFloat(APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffff));
}

static uint64_t toBits(const APFloat &number) {
  return number.bitcastToAPInt().getZExtValue();
}

/// Of instructions without a mode, and of conversions to whole numbers, too.
static std::optional<APFloat::roundingMode>
getMode(std::optional<kern::Rounding> rounding) {
  switch (rounding.value_or(kern::Rounding::Rn)) {
  case kern::Rounding::Rn:
  case kern::Rounding::Rni:
    return APFloat::rmNearestTiesToEven;
  case kern::Rounding::Rz:
  case kern::Rounding::Rzi:
    return APFloat::rmTowardZero;
  case kern::Rounding::Rm:
  case kern::Rounding::Rmi:
    return APFloat::rmTowardNegative;
  case kern::Rounding::Rp:
  case kern::Rounding::Rpi:
    return APFloat::rmTowardPositive;
  default:
    return std::nullopt;
  }
}

static std::optional<uint64_t> computeFloat(kern::ArithOp op,
                                            llvm::ArrayRef<uint64_t> in) {
  std::optional<APFloat::roundingMode> mode = getMode(op.getRounding());
  if (!mode || op.getSaturate() || in.empty())
    return std::nullopt;
  APFloat a = toFloat(in[0]);
  auto b = [&] { return toFloat(in[1]); };
  switch (op.getKind()) {
  case kern::ArithKind::Add:
    a.add(b(), *mode);
    return toBits(a);
  case kern::ArithKind::Sub:
    a.subtract(b(), *mode);
    return toBits(a);
  case kern::ArithKind::Mul:
    a.multiply(b(), *mode);
    return toBits(a);
  case kern::ArithKind::Fma:
    a.fusedMultiplyAdd(b(), toFloat(in[2]), *mode);
    return toBits(a);
  case kern::ArithKind::Neg:
    a.changeSign();
    return toBits(a);
  case kern::ArithKind::Min:
    return toBits(llvm::minnum(a, b()));
  case kern::ArithKind::Max:
    return toBits(llvm::maxnum(a, b()));
  default:
    return std::nullopt;
  }
}

static std::optional<uint64_t> computeInteger(kern::ArithOp op,
                                              llvm::ArrayRef<uint64_t> in) {
  auto wrap = [](uint64_t bits) { return bits & 0xffffffff; };
  switch (op.getKind()) {
  case kern::ArithKind::Add:
    return wrap(in[0] + in[1]);
  case kern::ArithKind::Sub:
    return wrap(in[0] - in[1]);
  case kern::ArithKind::MulLo:
    return wrap(in[0] * in[1]);
  case kern::ArithKind::MadLo:
    return wrap(in[0] * in[1] + in[2]);
  case kern::ArithKind::And:
    return in[0] & in[1];
  case kern::ArithKind::Or:
    return in[0] | in[1];
  case kern::ArithKind::Shl:
    return in[1] < 32 ? wrap(in[0] << in[1]) : 0;
  default:
    return std::nullopt;
  }
}

static std::optional<uint64_t> convert(kern::ConvertOp op, uint64_t in) {
  std::optional<APFloat::roundingMode> mode = getMode(op.getRounding());
  if (!mode || op.getSaturate() || op.getRelu())
    return std::nullopt;
  using kern::ElementType;
  bool toSigned = op.getTo() == ElementType::S32;
  bool fromSigned = op.getFrom() == ElementType::S32;
  if (op.getFrom() == ElementType::F32 && op.getTo() == ElementType::F32) {
    APFloat number = toFloat(in);
    if (op.getRounding())
      number.roundToIntegral(*mode);
    return toBits(number);
  }
  if (op.getFrom() == ElementType::F32 &&
      (toSigned || op.getTo() == ElementType::U32)) {
    llvm::APSInt whole(32, /*isUnsigned=*/!toSigned);
    bool isExact = false;
    if (toFloat(in).convertToInteger(whole, *mode, &isExact) ==
        APFloat::opInvalidOp)
      return std::nullopt;
    return whole.getZExtValue();
  }
  if (op.getTo() == ElementType::F32 &&
      (fromSigned || op.getFrom() == ElementType::U32)) {
    APFloat number(APFloat::IEEEsingle());
    number.convertFromAPInt(llvm::APInt(32, in & 0xffffffff), fromSigned,
                            *mode);
    return toBits(number);
  }
  return std::nullopt;
}

namespace {
/// Carries out operations for one number in the place of x.
class Evaluation {
public:
  Evaluation(const KernelIndex &index, const ConstantValues &constants,
             ValueId argument, double number)
      : index(index), constants(constants) {
    uint64_t bits = toBits(APFloat(float(number)));
    // Both of a pair.
    if (index.getValue(argument).getType().isInteger(64))
      bits |= bits << 32;
    known[argument] = bits;
  }

  std::optional<uint64_t> get(ValueId value, unsigned depth = 0);

private:
  std::optional<uint64_t> compute(ValueId value, unsigned depth);

  const KernelIndex &index;
  const ConstantValues &constants;
  std::map<ValueId, std::optional<uint64_t>> known;
};
} // namespace

std::optional<uint64_t> Evaluation::get(ValueId value, unsigned depth) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<uint64_t> result = constants.get(value);
  if (!result && depth < kMaxDepth)
    result = compute(value, depth + 1);
  return known[value] = result;
}

std::optional<uint64_t> Evaluation::compute(ValueId value, unsigned depth) {
  OpId id = index.getDef(value);
  if (id == kNone || index.getGuard(id) != kNone)
    return std::nullopt;
  mlir::Operation *op = index.getOp(id);
  if (!llvm::isa<kern::ArithOp, kern::ConvertOp, kern::PackOp, kern::UnpackOp>(
          op))
    return std::nullopt;
  llvm::SmallVector<uint64_t, 4> in;
  for (ValueId operand : index.getOperands(id)) {
    std::optional<uint64_t> bits = get(operand, depth);
    if (!bits)
      return std::nullopt;
    in.push_back(*bits);
  }
  auto isWidth = [](mlir::Value of, unsigned bits) {
    return of.getType().isInteger(bits);
  };
  if (llvm::isa<kern::PackOp>(op)) {
    if (in.size() != 2 || !isWidth(op->getOperand(0), 32))
      return std::nullopt;
    return in[0] | in[1] << 32;
  }
  if (llvm::isa<kern::UnpackOp>(op)) {
    if (op->getNumResults() != 2 || !isWidth(op->getResult(0), 32))
      return std::nullopt;
    return index.getFirstResult(id) == value ? in[0] & 0xffffffff : in[0] >> 32;
  }
  if (auto conversion = llvm::dyn_cast<kern::ConvertOp>(op))
    return in.size() == 1 ? convert(conversion, in[0]) : std::nullopt;
  auto arith = llvm::cast<kern::ArithOp>(op);
  if (op->getNumResults() != 1)
    return std::nullopt;
  switch (arith.getType()) {
  case kern::ElementType::F32:
    return computeFloat(arith, in);
  case kern::ElementType::F32X2: {
    llvm::SmallVector<uint64_t, 4> high;
    for (uint64_t bits : in)
      high.push_back(bits >> 32);
    std::optional<uint64_t> low = computeFloat(arith, in);
    std::optional<uint64_t> upper = computeFloat(arith, high);
    return low && upper ? std::optional(*low | *upper << 32) : std::nullopt;
  }
  case kern::ElementType::B32:
  case kern::ElementType::U32:
  case kern::ElementType::S32:
    return in.size() >= 2 ? computeInteger(arith, in) : std::nullopt;
  default:
    return std::nullopt;
  }
}

namespace {
/// What may be x: the power is 2^(factor * x).
struct Candidate {
  ValueId argument = kNone;
  double factor = 1;
};

class Finder {
public:
  Finder(const KernelIndex &index, const ConstantValues &constants)
      : index(index), constants(constants) {}

  std::vector<SoftwareExp2> run();

private:
  std::optional<double> getFloat(ValueId value) const;
  void addCandidate(ValueId value, double factor);
  void findCandidates(ValueId whole);
  bool isPower(ValueId value, const Candidate &candidate) const;
  std::optional<SoftwareExp2> findPower(OpId shift) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  std::vector<Candidate> candidates;
};
} // namespace

/// The number; of a pair, both of which have to be the same.
std::optional<double> Finder::getFloat(ValueId value) const {
  std::optional<uint64_t> bits = constants.get(value);
  if (!bits)
    return std::nullopt;
  if (index.getValue(value).getType().isInteger(64) &&
      *bits >> 32 != (*bits & 0xffffffff))
    return std::nullopt;
  return toFloat(*bits).convertToFloat();
}

/// Adds x, and what x is a multiple of: `x * c - whole` may be one operation.
void Finder::addCandidate(ValueId value, double factor) {
  candidates.push_back({value, factor});
  OpId id = index.getDef(value);
  auto op = id == kNone ? kern::ArithOp()
                        : llvm::dyn_cast<kern::ArithOp>(index.getOp(id));
  if (op && op.getKind() == kern::ArithKind::Mul)
    for (unsigned i : {0, 1})
      if (std::optional<double> c = getFloat(index.getOperands(id)[i]); c && *c)
        candidates.push_back({index.getOperands(id)[1 - i], factor * *c});
}

/// Follows the whole number back to the rounding of x.
void Finder::findCandidates(ValueId whole) {
  candidates.clear();
  for (unsigned step = 0; step < kMaxSteps; ++step) {
    OpId id = index.getDef(whole);
    if (id == kNone)
      return;
    llvm::ArrayRef<ValueId> in = index.getOperands(id);
    mlir::Operation *op = index.getOp(id);
    if (auto conversion = llvm::dyn_cast<kern::ConvertOp>(op)) {
      if (conversion.getFrom() == kern::ElementType::F32)
        addCandidate(in[0], 1);
      whole = in[0];
      continue;
    }
    if (llvm::isa<kern::UnpackOp>(op)) {
      whole = in[0];
      continue;
    }
    auto arith = llvm::dyn_cast<kern::ArithOp>(op);
    if (!arith)
      return;
    bool isFloat = arith.getType() == kern::ElementType::F32 ||
                   arith.getType() == kern::ElementType::F32X2;
    // x plus a number so large that no fraction is left: the whole number is
    // in its low bits.
    if (isFloat && arith.getKind() == kern::ArithKind::Add) {
      for (unsigned i : {0, 1})
        if (getFloat(in[i]))
          addCandidate(in[1 - i], 1);
      return;
    }
    if (isFloat && arith.getKind() == kern::ArithKind::Fma && getFloat(in[2])) {
      for (unsigned i : {0, 1})
        if (std::optional<double> c = getFloat(in[i]); c && *c)
          candidates.push_back({in[1 - i], *c});
      return;
    }
    // The bias of the exponent.
    if (isFloat || in.size() != 2)
      return;
    whole = constants.get(in[0]) ? in[1] : in[0];
  }
}

bool Finder::isPower(ValueId value, const Candidate &candidate) const {
  for (int i = 0; i < kNumSamples; ++i) {
    double exponent =
        kLargestArgument * (2.0 * i / (kNumSamples - 1) - 1) + 0.0371;
    Evaluation evaluation(index, constants, candidate.argument,
                          exponent / candidate.factor);
    std::optional<uint64_t> bits = evaluation.get(value);
    if (!bits)
      return false;
    double expected = std::exp2(exponent);
    double found = toFloat(*bits).convertToFloat();
    if (!(std::fabs(found - expected) <= kTolerance * expected))
      return false;
  }
  return true;
}

std::optional<SoftwareExp2> Finder::findPower(OpId shift) const {
  llvm::SmallVector<ValueId> values = {index.getFirstResult(shift)};
  for (unsigned step = 0; step < kMaxSteps; ++step) {
    llvm::SmallVector<ValueId> next;
    for (ValueId value : values)
      for (OpId user : index.getUsers(value)) {
        if (!llvm::isa<kern::ArithOp, kern::PackOp, kern::UnpackOp>(
                index.getOp(user)))
          continue;
        for (uint32_t r = 0; r < index.getNumResults(user); ++r) {
          ValueId result = index.getFirstResult(user) + r;
          next.push_back(result);
          if (!index.getValue(result).getType().isInteger(32))
            continue;
          for (const Candidate &candidate : candidates)
            if (isPower(result, candidate))
              return SoftwareExp2{user, shift, candidate.argument};
        }
      }
    values = std::move(next);
  }
  return std::nullopt;
}

std::vector<SoftwareExp2> Finder::run() {
  std::vector<SoftwareExp2> found;
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    auto op = llvm::dyn_cast<kern::ArithOp>(index.getOp(id));
    if (!op || op.getKind() != kern::ArithKind::Shl ||
        op.getType() != kern::ElementType::B32 ||
        constants.get(index.getOperands(id)[1]) != kFractionBits)
      continue;
    findCandidates(index.getOperands(id)[0]);
    if (candidates.empty())
      continue;
    if (std::optional<SoftwareExp2> power = findPower(id))
      found.push_back(*power);
  }
  llvm::sort(found, [](const SoftwareExp2 &a, const SoftwareExp2 &b) {
    return a.op < b.op;
  });
  return found;
}

std::vector<SoftwareExp2>
properties::findSoftwareExp2(const KernelIndex &index,
                             const ConstantValues &constants) {
  return Finder(index, constants).run();
}
