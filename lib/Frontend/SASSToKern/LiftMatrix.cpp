// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of a warp and of a warpgroup, and loads and stores of
// fragments.

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using kern::Space;
using sass::OperandKind;

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

namespace {
/// What the modifiers of LDSM, STSM say: `.16.MT88.4`.
struct Fragment {
  llvm::StringRef shape;
  bool isTransposed = false;
  int64_t count = 1, bytes = 128;
  ElementType type = ElementType::B16;
};
} // namespace

static std::optional<Fragment> getFragment(const Instruction &instruction) {
  Fragment fragment;
  for (const std::string &modifier : instruction.mnemonic->modifiers) {
    llvm::StringRef text = modifier;
    if (text == "16") {
      fragment.type = ElementType::B16;
    } else if (text == "U8" || text == "8") {
      fragment.type = ElementType::B8;
    } else if (text.starts_with("U4x16P64")) {
      fragment.type = ElementType::B4X16;
    } else if (text.starts_with("U6x16P32")) {
      fragment.type = ElementType::B6X16;
    } else if (text == "2" || text == "4" || text == "1") {
      text.getAsInteger(10, fragment.count);
    } else if (text.consume_front("M")) {
      fragment.isTransposed = text.consume_front("T");
      if (text == "88")
        fragment.shape = "m8n8";
      else if (text == "816")
        fragment.shape = "m8n16";
      else if (text == "168")
        fragment.shape = "m16n8";
      else if (text == "1616")
        fragment.shape = "m16n16";
      else
        return std::nullopt;
      if (text == "1616")
        fragment.bytes = 256;
    } else {
      return std::nullopt;
    }
  }
  fragment.bytes *= fragment.count;
  if (fragment.shape.empty())
    return std::nullopt;
  return fragment;
}

template <typename Properties>
static void setFragment(FunctionLifter &lifter, const Fragment &fragment,
                        llvm::StringRef op, Properties &properties) {
  properties.op = lifter.word(op);
  properties.space = lifter.attr<kern::SpaceAttr>(Space::Shared);
  properties.shape = lifter.word(fragment.shape);
  properties.count = lifter.number(fragment.count);
  properties.transposed = lifter.unit(fragment.isTransposed);
  properties.bytes = lifter.number(fragment.bytes);
  properties.type = lifter.type(fragment.type);
}

static bool liftFragmentLoad(FunctionLifter &lifter,
                             const Instruction &instruction) {
  Parts parts(instruction);
  std::optional<Fragment> fragment = getFragment(instruction);
  if (!fragment || !parts.target || parts.values.size() != 1 ||
      parts.values[0]->kind != OperandKind::Memory)
    return false;
  kern::MatrixLoadOp::Properties properties;
  setFragment(lifter, *fragment, "ldmatrix", properties);
  FunctionLifter::Address at =
      lifter.address(parts.values[0]->address, Space::Shared);
  properties.offset = lifter.number(at.offset);
  SmallVector<Dest, 4> results;
  for (unsigned i = 0; i < parts.target->width; ++i)
    results.push_back(lifter.to(parts.target->reg.getNext(i)));
  lifter.emit<kern::MatrixLoadOp>(properties, {1, 0}, {at.base}, results);
  return true;
}

static bool liftFragmentStore(FunctionLifter &lifter,
                              const Instruction &instruction) {
  std::optional<Fragment> fragment = getFragment(instruction);
  if (!fragment || instruction.operands.size() != 2 ||
      instruction.operands[0].kind != OperandKind::Memory)
    return false;
  kern::MatrixStoreOp::Properties properties;
  setFragment(lifter, *fragment, "stmatrix", properties);
  FunctionLifter::Address at =
      lifter.address(instruction.operands[0].address, Space::Shared);
  properties.offset = lifter.number(at.offset);
  SmallVector<Value, 5> inputs = {at.base};
  const Operand &data = instruction.operands[1];
  lifter.readGroup(data, std::max<unsigned>(data.width, 1), inputs);
  lifter.emit<kern::MatrixStoreOp>(
      properties, {1, static_cast<int32_t>(inputs.size()) - 1, 0}, inputs);
  return true;
}

static bool liftTranspose(FunctionLifter &lifter,
                          const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1)
    return false;
  lifter.emit<kern::MatrixTransposeOp>(
      {}, {1}, {lifter.plain(*parts.values[0])}, {lifter.to(*parts.target)});
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
struct Product {
  kern::MatrixShape shape;
  ElementType acc = ElementType::F32, a = ElementType::F16,
              b = ElementType::F16;
};
} // namespace

/// `16816`: M, N and K run together, N being 8 (4 bits at least for DMMA.884).
static std::optional<kern::MatrixShape> readShape(llvm::StringRef text) {
  kern::MatrixShape shape;
  SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, 'x');
  if (parts.size() == 3) {
    if (parts[0].getAsInteger(10, shape.m) ||
        parts[1].getAsInteger(10, shape.n) ||
        parts[2].getAsInteger(10, shape.k))
      return std::nullopt;
    return shape;
  }
  if (parts.size() != 1 ||
      !llvm::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  if (text.consume_front("168"))
    shape.m = 16;
  else if (text.consume_front("88"))
    shape.m = 8;
  else
    return std::nullopt;
  shape.n = 8;
  if (text.getAsInteger(10, shape.k))
    return std::nullopt;
  return shape;
}

/// Shape and types by opcode and modifiers; inputs that are not named have the
/// opcode's own type.
static std::optional<Product> getProduct(const Instruction &instruction) {
  Product product;
  SmallVector<ElementType, 4> types;
  bool hasShape = false;
  for (const std::string &modifier : instruction.mnemonic->modifiers) {
    if (std::optional<kern::MatrixShape> shape =
            hasShape ? std::nullopt : readShape(modifier)) {
      product.shape = *shape;
      hasShape = true;
    } else if (std::optional<ElementType> type = getElement(modifier)) {
      types.push_back(*type);
    }
  }
  if (!hasShape)
    return std::nullopt;
  switch (instruction.getOpcode()) {
  case Opcode::HMMA:
  case Opcode::HGMMA:
    // The accumulator, then the type of both inputs unless it is f16.
    if (types.empty())
      return std::nullopt;
    product.acc = types[0];
    product.a = product.b = types.size() > 1 ? types[1] : ElementType::F16;
    return product;
  case Opcode::IMMA:
  case Opcode::IGMMA:
    if (types.empty())
      return std::nullopt;
    product.acc = ElementType::S32;
    product.a = types[0];
    product.b = types.size() > 1 ? types[1] : types[0];
    return product;
  case Opcode::QMMA:
  case Opcode::QGMMA:
  case Opcode::OMMA:
    if (types.size() < 3)
      return std::nullopt;
    product.acc = types[0];
    product.a = types[1];
    product.b = types[2];
    return product;
  case Opcode::DMMA:
    product.acc = product.a = product.b = ElementType::F64;
    return product;
  case Opcode::BMMA:
  case Opcode::BGMMA:
    product.acc = ElementType::S32;
    product.a = product.b = ElementType::B1;
    return product;
  default:
    return std::nullopt;
  }
}

static bool isSparse(const Instruction &instruction) {
  return instruction.has("SP");
}

/// HMMA and its kin: D, A, B, C, then metadata, selectors and scales.
static bool liftWarpProduct(FunctionLifter &lifter,
                            const Instruction &instruction) {
  std::optional<Product> product = getProduct(instruction);
  if (!product || instruction.operands.size() < 4)
    return false;
  kern::MmaOp::Properties properties;
  properties.family =
      lifter.attr<kern::MatrixFamilyAttr>(kern::MatrixFamily::MmaSync);
  properties.m = lifter.number(product->shape.m);
  properties.n = lifter.number(product->shape.n);
  properties.k = lifter.number(product->shape.k);
  properties.aType = lifter.type(product->a);
  properties.bType = lifter.type(product->b);
  properties.accType = properties.resultType = lifter.type(product->acc);
  properties.sparse = lifter.unit(isSparse(instruction));
  if (instruction.has("SF"))
    properties.scaling = lifter.attr<kern::ScaleKindAttr>(
        instruction.getOpcode() == Opcode::QMMA ? kern::ScaleKind::Mxf8f6f4
        : instruction.has("4X")                 ? kern::ScaleKind::Mxf4nvf4
                                                : kern::ScaleKind::Mxf4);
  else
    properties.scaling =
        lifter.attr<kern::ScaleKindAttr>(kern::ScaleKind::None);
  SmallVector<Value, 16> inputs;
  SmallVector<int32_t, 4> segments;
  const Operand &target = instruction.operands[0];
  for (unsigned i = 1; i < 4; ++i) {
    const Operand &operand = instruction.operands[i];
    unsigned width = std::max<unsigned>(operand.width, 1);
    if (operand.isRegister() && operand.reg.isConstant() && i == 3)
      width = target.width;
    size_t before = inputs.size();
    lifter.readGroup(operand, width, inputs);
    segments.push_back(static_cast<int32_t>(inputs.size() - before));
  }
  size_t before = inputs.size();
  for (const Operand &operand : llvm::drop_begin(instruction.operands, 4))
    if (operand.isRegister() && operand.width > 1)
      lifter.readGroup(operand, operand.width, inputs);
    else if (operand.isRegister() || operand.kind == OperandKind::Integer)
      inputs.push_back(lifter.plain(operand));
  segments.push_back(static_cast<int32_t>(inputs.size() - before));
  SmallVector<Dest, 8> results;
  for (unsigned i = 0; i < target.width; ++i)
    results.push_back(lifter.to(target.reg.getNext(i)));
  lifter.emit<kern::MmaOp>(properties, segments, inputs, results);
  return true;
}

/// HGMMA and its kin: D, [A in registers,] descriptors, C, and the predicate
/// that keeps C. `gsb0` closes the group.
static bool liftGroupProduct(FunctionLifter &lifter,
                             const Instruction &instruction) {
  std::optional<Product> product = getProduct(instruction);
  Parts parts(instruction);
  if (!product || !parts.target)
    return false;
  const Operand *a = nullptr, *descriptors = nullptr, *c = nullptr;
  bool commits = false;
  SmallVector<const Operand *, 2> rest;
  for (const Operand *operand : parts.values) {
    if (operand->kind == OperandKind::Descriptor)
      descriptors = operand;
    else if (operand->kind == OperandKind::Scoreboard)
      commits = true;
    else if (operand->isRegister() && !descriptors && !a)
      a = operand;
    else if (operand->isRegister() && descriptors && !c)
      c = operand;
    else
      rest.push_back(operand);
  }
  if (!descriptors || descriptors->address.uniform.isConstant() || !c)
    return false;
  kern::AsyncMmaOp::Properties properties;
  properties.m = lifter.number(product->shape.m);
  properties.n = lifter.number(product->shape.n);
  properties.k = lifter.number(product->shape.k);
  properties.aType = lifter.type(product->a);
  properties.bType = lifter.type(product->b);
  properties.accType = lifter.type(product->acc);
  properties.sparse = lifter.unit(isSparse(instruction));
  properties.aSource = lifter.attr<kern::OperandSourceAttr>(
      a ? kern::OperandSource::Registers : kern::OperandSource::Descriptor);
  SmallVector<Value, 32> inputs;
  SmallVector<int32_t, 4> segments;
  Register group = descriptors->address.uniform;
  // Descriptors of A and of B, in this order. When A is in registers, the first
  // one has no meaning.
  if (a) {
    lifter.readGroup(*a, std::max<unsigned>(a->width, 1), inputs);
    segments.push_back(static_cast<int32_t>(inputs.size()));
  } else {
    inputs.push_back(lifter.readWide(group));
    segments.push_back(1);
  }
  inputs.push_back(lifter.readWide(group.getNext(2)));
  segments.push_back(1);
  unsigned width = parts.target->width;
  lifter.readGroup(c->reg, width, inputs);
  segments.push_back(static_cast<int32_t>(width));
  size_t before = inputs.size();
  inputs.push_back(parts.predicates.empty()
                       ? lifter.constant(1, lifter.module.i1)
                       : lifter.predicate(*parts.predicates[0]));
  for (const Operand *operand : rest)
    if (operand->isRegister() || operand->kind == OperandKind::Integer)
      inputs.push_back(lifter.plain(*operand));
  segments.push_back(static_cast<int32_t>(inputs.size() - before));
  SmallVector<Dest, 32> results;
  for (unsigned i = 0; i < width; ++i)
    results.push_back(lifter.to(parts.target->reg.getNext(i)));
  lifter.emit<kern::AsyncMmaOp>(properties, segments, inputs, results);
  if (commits) {
    kern::AsyncCommitOp::Properties commit;
    commit.group =
        lifter.attr<kern::CompletionAttr>(kern::Completion::WgmmaGroup);
    lifter.emit<kern::AsyncCommitOp>(commit, {}, {});
  }
  return true;
}

/// WARPGROUP.ARRIVE orders registers before products; DEPBAR waits for groups.
static bool liftGroupSync(FunctionLifter &lifter,
                          const Instruction &instruction) {
  if (instruction.has("ARRIVE")) {
    kern::FenceOp::Properties properties;
    properties.kind = lifter.attr<kern::FenceKindAttr>(kern::FenceKind::Wgmma);
    lifter.emit<kern::FenceOp>(properties, {0}, {});
    return true;
  }
  if (!instruction.has("DEPBAR") || !instruction.has("LE") ||
      instruction.operands.size() < 2 ||
      instruction.operands[1].kind != OperandKind::Integer)
    return false;
  kern::AsyncWaitOp::Properties properties;
  properties.group =
      lifter.attr<kern::CompletionAttr>(kern::Completion::WgmmaGroup);
  properties.pending = lifter.number(instruction.operands[1].integer);
  lifter.emit<kern::AsyncWaitOp>(properties, {}, {});
  return true;
}

LiftFn sasslift::findMatrix(Opcode opcode) {
  switch (opcode) {
  case Opcode::LDSM:
    return liftFragmentLoad;
  case Opcode::STSM:
    return liftFragmentStore;
  case Opcode::MOVM:
    return liftTranspose;
  case Opcode::HMMA:
  case Opcode::IMMA:
  case Opcode::DMMA:
  case Opcode::BMMA:
  case Opcode::QMMA:
  case Opcode::OMMA:
    return liftWarpProduct;
  case Opcode::HGMMA:
  case Opcode::IGMMA:
  case Opcode::QGMMA:
  case Opcode::BGMMA:
    return liftGroupProduct;
  case Opcode::WARPGROUP:
    return liftGroupSync;
  default:
    return nullptr;
  }
}
