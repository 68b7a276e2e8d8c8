// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tensor_core: matrix instructions that make the output out of inputs.

#include "Engine/SharedContents.h"
#include "Engine/TensorMemorySums.h"

#include "llvm/ADT/DenseSet.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// What one matrix instruction computes; empty where it is not known.
struct Description {
  kern::MatrixShape shape;
  std::string a, b, acc;
};
} // namespace

/// Element type of A or B by its code in the instruction descriptor (PTX ISA,
/// tcgen05 "Instruction descriptor": bits 7-9 and 10-12).
static std::string decodeInput(llvm::StringRef kind, unsigned code) {
  if (kind == "f16")
    return code == 0 ? "f16" : code == 1 ? "bf16" : "";
  if (kind == "tf32")
    return "tf32";
  if (kind == "i8")
    return code == 0 ? "u8" : code == 1 ? "s8" : "";
  if (kind == "f8f6f4" || kind == "mxf8f6f4")
    switch (code) {
    case 0:
      return "e4m3";
    case 1:
      return "e5m2";
    case 3:
      return "e2m3";
    case 4:
      return "e3m2";
    case 5:
      return "e2m1";
    default:
      return "";
    }
  if (kind == "mxf4" || kind == "mxf4nvf4")
    return "e2m1";
  return "";
}

/// K of one tcgen05.mma in elements: 32 bytes of A, 64 of a sparse one (PTX
/// ISA, "Matrix shape" of tcgen05).
static int64_t getDepth(llvm::StringRef kind, bool sparse) {
  int64_t k = kind == "tf32"                                           ? 8
              : kind == "f16"                                          ? 16
              : kind == "f8f6f4" || kind == "i8" || kind == "mxf8f6f4" ? 32
              : kind == "mxf4" || kind == "mxf4nvf4"                   ? 64
                                                                       : 0;
  return sparse ? 2 * k : k;
}

static void decodeTensorMemory(Detector &detector, kern::TmemMmaOp op,
                               Description &result) {
  llvm::StringRef kind = op.getInputKind();
  bool scaled = op.getScaling() != kern::ScaleKind::None;
  // Kinds that name a single type.
  if (kind == "tf32" || kind == "mxf4" || kind == "mxf4nvf4")
    result.a = result.b = decodeInput(kind, 0);
  if (scaled || kind == "tf32")
    result.acc = "f32"; // The only accumulator type of these kinds.
  if (kind == "i8")
    result.acc = "s32";
  // The descriptor follows the address of the sparsity metadata.
  unsigned at = op.getSparse() ? 1 : 0;
  if (op.getExtra().size() <= at)
    return;
  std::optional<uint64_t> word =
      detector.getConstants().get(detector.getIndex().getId(op.getExtra()[at]));
  if (!word)
    return;
  auto field = [&](unsigned low, unsigned bits) {
    return unsigned(*word >> low & ((1u << bits) - 1));
  };
  result.a = decodeInput(kind, field(7, 3));
  result.b = decodeInput(kind, field(10, 3));
  if (!scaled) {
    static constexpr const char *types[] = {"f16", "f32", "s32", ""};
    result.acc = types[field(4, 2)];
  }
  result.shape.n = int64_t(field(17, 6)) << 3;
  result.shape.m = int64_t(field(24, 5)) << 4;
  result.shape.k = getDepth(kind, op.getSparse());
  // Bit 31 of a mxf4 descriptor selects K = 96 instead of 64.
  if ((kind == "mxf4" || kind == "mxf4nvf4") && field(31, 1))
    result.shape.k = op.getSparse() ? 192 : 96;
}

/// Values that an operand is followed through to the loads it is made of.
static constexpr size_t kMaxTraced = 256;

namespace {
/// Operands that are read from shared memory where no input data was put.
class UnfilledOperands {
public:
  explicit UnfilledOperands(Detector &detector)
      : detector(detector), index(detector.getIndex()) {
    SharedContents contents(detector);
    llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
    for (uint32_t i = 0; i < accesses.size(); ++i)
      if (accesses[i].access.read && !accesses[i].access.barrier &&
          accesses[i].space == kern::Space::Shared)
        if (Tristate filled = contents.isFilled(i); filled != Tristate::Yes)
          unfilled[i] = filled;
  }

  /// What is wrong with A or B of product \p id.
  Judgement judge(OpId id, kern::MatrixProductOpInterface op) {
    if (unfilled.empty())
      return Judgement::proved();
    Judgement result = Judgement::proved();
    for (bool isA : {true, false}) {
      llvm::SmallVector<OpId, 2> where;
      Tristate filled =
          isA ? isFilled(id, op.getAValues(), op.getASource(), where)
              : isFilled(id, op.getBValues(), op.getBSource(), where);
      std::string operand = isA ? "A" : "B";
      if (filled == Tristate::No)
        return Judgement::nearMiss(
            "multiplies no input data: " + operand + " is read by " +
                detector.describe(where) +
                " from a part of shared memory where no input data is put",
            where);
      if (filled == Tristate::Unknown)
        result = Judgement::undecided(
            "may multiply no input data: " + operand + " is read by " +
                detector.describe(where) +
                " behind the beginning of what a copy fills, and how many "
                "bytes the copy brings is not known",
            "the box of the tensor map, or reads from where the copy begins",
            where);
    }
    return result;
  }

private:
  Tristate isFilled(OpId id, mlir::OperandRange values,
                    kern::OperandSource source,
                    llvm::SmallVectorImpl<OpId> &where) {
    const MemoryRoots &memory = detector.getMemory();
    auto note = [&](OpId op, uint32_t access) {
      auto found = unfilled.find(access);
      if (found != unfilled.end() && !llvm::is_contained(where, op))
        where.push_back(op);
      return found == unfilled.end() ? Tristate::Yes : found->second;
    };
    if (source == kern::OperandSource::Descriptor) {
      uint32_t access = memory.getFirstAccess(id);
      for (const AccessInfo &info : memory.getAccessesOf(id)) {
        if (info.access.form == kern::MemoryAccess::Form::Descriptor &&
            llvm::is_contained(values, info.access.address))
          return note(id, access);
        ++access;
      }
      return Tristate::Yes;
    }
    if (source != kern::OperandSource::Registers)
      return Tristate::Yes;
    // No load has brought data: the best of all.
    Tristate best = Tristate::No;
    llvm::SmallVector<ValueId, 16> pending;
    llvm::DenseSet<ValueId> seen;
    auto visit = [&](ValueId value) {
      if (value != kNone && seen.insert(value).second)
        pending.push_back(value);
    };
    for (mlir::Value value : values)
      visit(index.getId(value));
    while (!pending.empty() && best != Tristate::Yes) {
      if (seen.size() > kMaxTraced)
        return Tristate::Yes;
      ValueId value = pending.pop_back_val();
      OpId def = index.getDef(value);
      if (def == kNone) {
        for (const KernelIndex::Incoming &in : index.getIncoming(value))
          if (detector.getConstants().isExecutableEdge(in.edge))
            visit(in.value);
        continue;
      }
      if (!llvm::isa<kern::LoadOp, kern::MatrixLoadOp>(index.getOp(def))) {
        // Other memory may hold anything.
        if (!memory.getAccessesOf(def).empty() ||
            llvm::isa<kern::CallOp, kern::CallIndirectOp, kern::OpaqueOp>(
                index.getOp(def)))
          return Tristate::Yes;
        for (ValueId operand : index.getOperands(def))
          visit(operand);
        continue;
      }
      if (!detector.getConstants().mayRun(def))
        continue;
      if (memory.getAccessesOf(def).empty())
        return Tristate::Yes;
      best = std::max(best, note(def, memory.getFirstAccess(def)));
    }
    return where.empty() ? Tristate::Yes : best;
  }

  Detector &detector;
  const KernelIndex &index;
  /// By access, Unknown or No.
  llvm::DenseMap<uint32_t, Tristate> unfilled;
};
} // namespace

static void detect(Detector &detector) {
  std::optional<UnfilledOperands> unfilled;
  detector.forEach<kern::MatrixProductOpInterface>(
      [&](OpId id, kern::MatrixProductOpInterface op) {
        ProductClass product = getProductClass(op.getMatrixFamily());
        const Provenance &provenance = detector.getProvenance();
        Judgement judgement =
            detector.judgeRuns(id)
                .then([&] {
                  auto [a, b] = provenance.getProductOperands(id);
                  if (!a.empty() && !b.empty())
                    return Judgement::proved();
                  std::string operand = a.empty() && b.empty() ? "A and B are"
                                        : a.empty()            ? "A is"
                                                               : "B is";
                  if (provenance.areProductOperandsUnknown(id))
                    return Judgement::undecided(
                        "multiplies what may be no input: " + operand +
                            " read from memory whose origin is not known",
                        "addresses whose origin can be followed, or machine "
                        "code of the kernel");
                  return Judgement::nearMiss(
                      "multiplies no input data: " + operand +
                      " made from constants only");
                })
                .then([&] {
                  if (!unfilled)
                    unfilled.emplace(detector);
                  return unfilled->judge(id, op);
                })
                .then([&] {
                  return detector.judgeReach(provenance.getProductReach(id),
                                             "its result");
                })
                .then([&] {
                  return llvm::isa<kern::TmemMmaOp>(op.getOperation())
                             ? judgeSumsKept(detector, id)
                             : Judgement::proved();
                })
                .then([&] { return detector.judgeSoleWay(product); });
        Description description;
        description.shape = op.getShape();
        auto type = [](kern::ElementType element) {
          return element == kern::ElementType::NONE ? std::string()
                                                    : getTypeName(element);
        };
        description.a = type(op.getAElement());
        description.b = type(op.getBElement());
        description.acc = type(op.getAccElement());
        AttributeMap attributes;
        if (auto tensor = llvm::dyn_cast<kern::TmemMmaOp>(op.getOperation())) {
          decodeTensorMemory(detector, tensor, description);
          attributes["cta_group"] = int64_t(tensor.getCtaGroup());
        }
        attributes["family"] =
            kern::stringifyMatrixFamily(op.getMatrixFamily()).str();
        if (description.shape.m && description.shape.n && description.shape.k)
          attributes["shape"] = "m" + std::to_string(description.shape.m) +
                                "n" + std::to_string(description.shape.n) +
                                "k" + std::to_string(description.shape.k);
        if (!description.a.empty())
          attributes["a"] = description.a;
        if (!description.b.empty())
          attributes["b"] = description.b;
        if (!description.acc.empty())
          attributes["acc"] = description.acc;
        attributes["sparse"] = op.isSparseProduct();
        attributes["block_scaled"] = op.getScaling() != kern::ScaleKind::None;
        detector.conclude(judgement, std::move(attributes), id);
      });
}

namespace d2k::properties {
Property makeTensorCore() {
  PropertyInfo info;
  info.id = "tensor_core";
  info.group = 'B';
  info.summary =
      "matrix instructions multiply two operands that come from inputs, and "
      "their result is what reaches the output; an output that is also made by "
      "another product, or out of many input values by any other arithmetic, "
      "is undecided, a product of constants or an unused one a near miss";
  info.attributes = {
      {"family",
       AttrType::String,
       {"wmma", "mma_sync", "wgmma", "tcgen05"},
       "instruction family"},
      {"shape",
       AttrType::String,
       {},
       "shape of one instruction, m64n256k16; not known for tcgen05 with a "
       "run-time descriptor"},
      {"a", AttrType::String, {}, "element type of A: bf16, e4m3, tf32, ..."},
      {"b", AttrType::String, {}, "element type of B"},
      {"acc", AttrType::String, {}, "element type of the accumulator"},
      {"sparse", AttrType::Boolean, {}, "A is structured sparse"},
      {"block_scaled",
       AttrType::Boolean,
       {},
       "the instruction scales blocks of its operands"},
      {"cta_group",
       AttrType::Integer,
       {},
       "blocks that share one product; tcgen05 only"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  // A wmma is several HMMA in machine code, and ptxas splits other shapes too.
  info.perTier = {"family", "shape"};
  return {info, detect};
}
} // namespace d2k::properties
