// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of SASS as values of kern: registers, immediates, addresses, and
// what the driver keeps in constant bank 0.

#include "Lifter.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OperandKind;

//===----------------------------------------------------------------------===//
// Constant bank 0
//===----------------------------------------------------------------------===//

namespace {
/// Where the driver keeps what a kernel reads in front of its parameters; -1
/// for what is not there. Read off what ptxas 13.0 makes of the PTX special
/// registers, for each architecture.
struct BankLayout {
  /// %ntid.x and %nctaid.x; y and z follow.
  int64_t ntid, nctaid;
  /// Initial stack pointer (32 bits).
  int64_t stack;
  /// Memory descriptor of global accesses (64 bits).
  int64_t descriptor;
  /// Generic address of parameter offset 0 (64 bits).
  int64_t parameters;
  /// Generic address of the shared memory window (64 bits).
  int64_t sharedWindow;
  /// %dynamic_smem_size.
  int64_t dynamicShared;
};
} // namespace

static BankLayout getLayout(sass::Target target) {
  if (target.number < 90)
    return {0x0, 0xc, 0x28, 0x118, -1, 0x18, 0x2c};
  if (target.number < 100)
    return {0x0, 0xc, 0x28, 0x208, 0x198, -1, 0x2c};
  return {0x360, 0x370, 0x37c, 0x358, 0x348, -1, -1};
}

/// Keys of values of the function's start that are no entries of a bank, whose
/// keys are bank, offset and width.
static constexpr uint64_t kBanks = uint64_t(1) << 60,
                          kCasts = uint64_t(1) << 62, kSums = uint64_t(1) << 63;

Value FunctionLifter::atStart(uint64_t key,
                              llvm::function_ref<Operation *()> make) {
  auto it = startValues.find(key);
  if (it != startValues.end())
    return it->second;
  Operation *made = make();
  ssa.insertInPrologue(made);
  return startValues[key] = made->getResult(0);
}

/// The parameter that holds byte `offset` of the parameters.
static std::optional<unsigned> findParameter(const sass::FunctionInfo &info,
                                             int64_t offset) {
  for (auto [i, parameter] : llvm::enumerate(info.parameters))
    if (offset >= parameter.offset &&
        offset < int64_t(parameter.offset) + parameter.size)
      return static_cast<unsigned>(i);
  return std::nullopt;
}

bool FunctionLifter::isPointerLike(uint32_t offset) const {
  uint32_t low = offset & ~7u;
  return readHalves.contains(low) && readHalves.contains(low + 4);
}

Value FunctionLifter::constantBank(uint32_t bank, int64_t offset,
                                   unsigned bits) {
  uint64_t key = uint64_t(bank) << 40 | uint64_t(offset) << 8 | bits;
  if (auto it = startValues.find(key); it != startValues.end())
    return it->second;
  OpBuilder builder(module.getContext());
  IntegerType resultType = bits == 64 ? module.i64 : module.i32;
  StringAttr saved = mnemonic;
  mnemonic = word(("c[0x" + llvm::Twine::utohexstr(bank) + "][0x" +
                   llvm::Twine::utohexstr(offset) + "]")
                      .str());
  llvm::scope_exit restore([&] { mnemonic = saved; });
  /// A half of a 64-bit entry.
  auto half = [&](Value whole, unsigned index) -> Value {
    kern::UnpackOp::Properties properties;
    properties.mnemonic = mnemonic;
    properties.operandSegmentSizes = {1, 0, 0};
    Operation *parts = Operation::create(
        loc,
        OperationName(kern::UnpackOp::getOperationName(), module.getContext()),
        {module.i32, module.i32}, {whole}, module.noAttributes,
        mlir::OpaqueProperties(&properties), BlockRange(), 0);
    ssa.insertInPrologue(parts);
    uint64_t low = uint64_t(bank) << 40 | uint64_t(offset & ~7) << 8 | 32;
    startValues[low] = parts->getResult(0);
    startValues[low + (4 << 8)] = parts->getResult(1);
    return parts->getResult(index);
  };
  auto load = [&](Value base, int64_t at, kern::Space space) -> Value {
    kern::LoadOp::Properties properties;
    properties.mnemonic = mnemonic;
    properties.space = attr<kern::SpaceAttr>(space);
    properties.type = type(bits == 64 ? ElementType::B64 : ElementType::B32);
    properties.offset = number(at);
    properties.operandSegmentSizes = {1, 0, 0, 0};
    return atStart(key, [&] {
      return Operation::create(
          loc,
          OperationName(kern::LoadOp::getOperationName(), module.getContext()),
          {resultType}, {base}, module.noAttributes,
          mlir::OpaqueProperties(&properties), BlockRange(), 0);
    });
  };
  auto supplied = [&](const llvm::Twine &name) -> Value {
    kern::SpecialOp::Properties properties;
    properties.mnemonic = mnemonic;
    properties.reg = word(name.str());
    properties.operandSegmentSizes = {0, 0};
    return atStart(key, [&] {
      return Operation::create(
          loc,
          OperationName(kern::SpecialOp::getOperationName(),
                        module.getContext()),
          {resultType}, {}, module.noAttributes,
          mlir::OpaqueProperties(&properties), BlockRange(), 0);
    });
  };

  if (bank != 0)
    return load(atStart(kBanks + bank,
                        [&]() -> Operation * {
                          return kern::AddressOfOp::create(
                              builder, loc, module.i64,
                              module.getConstantBank(bank), UnitAttr());
                        }),
                offset, kern::Space::Constant);

  if (routine.isKernel && info.parameterBase) {
    int64_t within = offset - int64_t(*info.parameterBase);
    if (std::optional<unsigned> index = findParameter(info, within)) {
      const sass::Parameter &parameter = info.parameters[*index];
      int64_t at = within - parameter.offset;
      // The halves of a pointer are read one by one as often as together.
      int64_t whole = (offset & ~int64_t(7)) - int64_t(*info.parameterBase) -
                      int64_t(parameter.offset);
      if (bits == 32 && offset % 4 == 0 && whole >= 0 &&
          whole + 8 <= int64_t(parameter.size) &&
          (parameter.size == 8 || isPointerLike(offset)))
        return half(constantBank(0, offset & ~int64_t(7), 64), offset % 8 == 4);
      if (bits == 64 && at + 8 > int64_t(parameter.size)) {
        // Two parameters in one read.
        Value low = constantBank(0, offset, 32);
        Value high = constantBank(0, offset + 4, 32);
        kern::PackOp::Properties properties;
        properties.mnemonic = mnemonic;
        properties.operandSegmentSizes = {2, 0, 0};
        return atStart(key, [&] {
          return Operation::create(
              loc,
              OperationName(kern::PackOp::getOperationName(),
                            module.getContext()),
              {module.i64}, {low, high}, module.noAttributes,
              mlir::OpaqueProperties(&properties), BlockRange(), 0);
        });
      }
      return load(ssa.getEntryBlock()->getArgument(*index), at,
                  kern::Space::Param);
    }
  }

  BankLayout layout = getLayout(module.module.target);
  // 64-bit entries of the driver, whole or in halves.
  for (int64_t wide :
       {layout.descriptor, layout.parameters, layout.sharedWindow}) {
    if (wide < 0 || (offset & ~int64_t(7)) != wide)
      continue;
    if (bits == 32)
      return half(constantBank(0, wide, 64), offset != wide);
    if (wide == layout.descriptor)
      return supplied("memory_descriptor");
    if (wide == layout.sharedWindow)
      return atStart(key, [&]() -> Operation * {
        return kern::AddressOfOp::create(builder, loc, module.i64,
                                         module.getSharedWindow(routine),
                                         builder.getUnitAttr());
      });
    if (!routine.isKernel || info.parameters.empty())
      return supplied("parameter_address");
    return parameterBase = parameterAddress(0);
  }
  if (bits == 32) {
    for (unsigned i = 0; i < 3; ++i) {
      char axis = "xyz"[i];
      if (offset == layout.ntid + 4 * i)
        return supplied(llvm::Twine("ntid.") + llvm::Twine(axis));
      if (offset == layout.nctaid + 4 * i)
        return supplied(llvm::Twine("nctaid.") + llvm::Twine(axis));
    }
    if (offset == layout.dynamicShared)
      return supplied("dynamic_smem_size");
    if (offset == layout.stack)
      return atStart(key, [&]() -> Operation * {
        return kern::AddressOfOp::create(builder, loc, module.i32,
                                         module.getFrame(routine), UnitAttr());
      });
  }
  return supplied("driver_0x" + llvm::Twine::utohexstr(offset));
}

/// Generic address of byte `offset` of the parameters, relative to the
/// parameter that holds it.
Value FunctionLifter::parameterAddress(int64_t offset) {
  const std::vector<sass::Parameter> &parameters = info.parameters;
  unsigned index = findParameter(info, offset).value_or(0);
  StringAttr saved = mnemonic;
  mnemonic = word("c[0x0]");
  kern::SpaceCastOp::Properties properties;
  properties.mnemonic = mnemonic;
  properties.from = attr<kern::SpaceAttr>(kern::Space::Param);
  properties.to = attr<kern::SpaceAttr>(kern::Space::Generic);
  properties.operandSegmentSizes = {1, 0, 0};
  Value base = atStart(kCasts + index, [&] {
    Value argument = ssa.getEntryBlock()->getArgument(index);
    return Operation::create(
        loc,
        OperationName(kern::SpaceCastOp::getOperationName(),
                      module.getContext()),
        {module.i64}, {argument}, module.noAttributes,
        mlir::OpaqueProperties(&properties), BlockRange(), 0);
  });
  int64_t rest = offset - parameters[index].offset;
  if (rest != 0)
    base = atStart(kSums + uint64_t(offset), [&] {
      Value by = constant(static_cast<uint64_t>(rest), module.i64);
      kern::ArithOp::Properties sum;
      sum.mnemonic = mnemonic;
      sum.kind = attr<kern::ArithKindAttr>(ArithKind::Add);
      sum.type = type(ElementType::U64);
      sum.operandSegmentSizes = {2, 0, 0};
      return Operation::create(
          loc,
          OperationName(kern::ArithOp::getOperationName(), module.getContext()),
          {module.i64}, {base, by}, module.noAttributes,
          mlir::OpaqueProperties(&sum), BlockRange(), 0);
    });
  mnemonic = saved;
  return base;
}

Value FunctionLifter::constantEntry(const sass::Address &address,
                                    unsigned bits) {
  bool isIndexed = !address.base.isConstant() || !address.uniform.isConstant();
  if (address.bank && !isIndexed)
    return constantBank(*address.bank, address.offset, bits);
  Value base;
  int64_t offset = address.offset;
  kern::Space space = kern::Space::Constant;
  if (address.handle) {
    base = readWide(*address.handle);
  } else {
    std::optional<unsigned> index;
    if (address.bank == 0u && routine.isKernel && info.parameterBase)
      index = findParameter(info, offset - int64_t(*info.parameterBase));
    if (index) {
      base = ssa.getEntryBlock()->getArgument(*index);
      offset -= *info.parameterBase + info.parameters[*index].offset;
      space = kern::Space::Param;
    } else {
      OpBuilder builder(module.getContext());
      base = atStart(kBanks + address.bank.value_or(0), [&]() -> Operation * {
        return kern::AddressOfOp::create(
            builder, loc, module.i64,
            module.getConstantBank(address.bank.value_or(0)), UnitAttr());
      });
    }
  }
  for (Register reg : {address.base, address.uniform})
    if (!reg.isConstant())
      base = addWide(base, convert(ElementType::S32, ElementType::S64,
                                   read(reg), module.i64));
  kern::LoadOp::Properties properties;
  properties.space = attr<kern::SpaceAttr>(space);
  properties.type = type(bits == 64 ? ElementType::B64 : ElementType::B32);
  properties.offset = number(offset);
  return pure<kern::LoadOp>(properties, {base},
                            {bits == 64 ? module.i64 : module.i32}, {1, 0})
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value FunctionLifter::readWide(Register low) {
  if (low.isConstant())
    return constant(0, module.i64);
  return combine(read(low), read(low.getNext(1)));
}

void FunctionLifter::readGroup(Register first, unsigned count,
                               SmallVectorImpl<Value> &values) {
  for (unsigned i = 0; i < count; ++i)
    values.push_back(read(first.getNext(i)));
}

void FunctionLifter::readGroup(const Operand &operand, unsigned count,
                               SmallVectorImpl<Value> &values) {
  if (operand.isRegister())
    return readGroup(operand.reg, count, values);
  for (unsigned i = 0; i < count; ++i)
    values.push_back(plain(operand));
}

Value FunctionLifter::plain(const Operand &operand, unsigned bits) {
  IntegerType resultType = bits == 64 ? module.i64 : module.i32;
  switch (operand.kind) {
  case OperandKind::Register:
    if (operand.reg.isPredicate())
      return read(operand.reg);
    if (bits == 64 && operand.width < 2 && !operand.reg.isConstant())
      return convert(ElementType::U32, ElementType::U64, read(operand.reg),
                     module.i64);
    return bits == 64 ? readWide(operand.reg) : read(operand.reg);
  case OperandKind::Integer:
    return constant(static_cast<uint64_t>(operand.integer), resultType);
  case OperandKind::Float:
    if (bits == 64)
      return constant(llvm::bit_cast<uint64_t>(operand.real), resultType);
    return constant(llvm::bit_cast<uint32_t>(static_cast<float>(operand.real)),
                    resultType);
  case OperandKind::Constant:
    return constantEntry(operand.address, bits);
  case OperandKind::SpecialRegister:
    return special(operand.name, resultType);
  case OperandKind::Symbol:
    return special("symbol:" + operand.name, resultType);
  default:
    return ssa.undefined(resultType);
  }
}

Value FunctionLifter::integer(const Operand &operand, unsigned bits) {
  Value value = plain(operand, bits);
  if (operand.negated) {
    if (std::optional<uint64_t> number = getConstant(value))
      return constant(0 - *number, cast<IntegerType>(value.getType()));
    return arith(ArithKind::Neg,
                 bits == 64 ? ElementType::S64 : ElementType::S32, {value});
  }
  if (operand.inverted) {
    if (std::optional<uint64_t> number = getConstant(value))
      return constant(~*number, cast<IntegerType>(value.getType()));
    return arith(ArithKind::Not,
                 bits == 64 ? ElementType::B64 : ElementType::B32, {value});
  }
  return value;
}

Value FunctionLifter::predicate(const Operand &operand) {
  if (operand.reg.isConstant())
    return constant(operand.inverted ? 0 : 1, module.i1);
  Value value = read(operand.reg);
  return operand.inverted ? negate(value) : value;
}

Value FunctionLifter::floating(const Operand &operand, ElementType kind) {
  unsigned bits =
      kind == ElementType::F64 || kind == ElementType::F32X2 ? 64 : 32;
  bool isPacked = kind == ElementType::F16X2 || kind == ElementType::BF16X2;
  Value value;
  if (operand.kind == OperandKind::Float && isPacked) {
    llvm::APFloat number(operand.real);
    bool losesInfo;
    number.convert(kind == ElementType::F16X2 ? llvm::APFloat::IEEEhalf()
                                              : llvm::APFloat::BFloat(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    uint64_t half = number.bitcastToAPInt().getZExtValue();
    value = constant32(half << 16 | half);
  } else if (kind == ElementType::F32X2 &&
             (operand.kind == OperandKind::Float || operand.hasSuffix("F32"))) {
    // One number for both.
    value = plain(operand, 32);
    value = combine(value, value);
  } else if (kind == ElementType::F32X2 &&
             (operand.kind == OperandKind::Float ||
              (operand.isRegister() && operand.width < 2 &&
               !operand.reg.isConstant()))) {
    // One number for both halves.
    Value half = plain(operand);
    value = combine(half, half);
  } else {
    value = plain(operand, bits);
  }
  if (isPacked) {
    // One half for both.
    uint64_t selector = operand.hasSuffix("H0_H0")   ? 0x1010
                        : operand.hasSuffix("H1_H1") ? 0x3232
                                                     : 0;
    if (selector && !getConstant(value))
      value = arith(ArithKind::Prmt, ElementType::B32,
                    {value, value, constant32(selector)});
  }
  if (operand.kind == OperandKind::Float)
    return value;
  if (operand.absolute)
    value = arith(ArithKind::Abs, kind, {value});
  if (operand.negated) {
    std::optional<uint64_t> number = getConstant(value);
    if (number && kind == ElementType::F32)
      return constant32(*number ^ 0x80000000u);
    if (number && isPacked)
      return constant32(*number ^ 0x80008000u);
    value = arith(ArithKind::Neg, kind, {value});
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

FunctionLifter::Address FunctionLifter::address(const sass::Address &address,
                                                kern::Space space) {
  bool isWide = space == kern::Space::Global || space == kern::Space::Generic;
  if (space == kern::Space::Shared)
    module.getSharedWindow(routine);
  Value sum;
  auto add = [&](Value value) {
    if (!sum)
      sum = value;
    else
      sum = isWide ? addWide(sum, value)
                   : arith(ArithKind::Add, ElementType::U32, {sum, value});
  };
  auto widen = [&](Value value) {
    return isWide
               ? convert(ElementType::U32, ElementType::U64, value, module.i64)
               : value;
  };
  if (!address.base.isConstant()) {
    Value base = isWide && address.baseWidth == 2 ? readWide(address.base)
                                                  : widen(read(address.base));
    if (address.scale > 1)
      base = arith(ArithKind::Shl, isWide ? ElementType::B64 : ElementType::B32,
                   {base, constant32(llvm::Log2_32(address.scale))});
    add(base);
  }
  if (!address.uniform.isConstant())
    add(isWide && address.uniformWidth == 2 ? readWide(address.uniform)
                                            : widen(read(address.uniform)));
  if (!sum)
    return {constant(static_cast<uint64_t>(address.offset),
                     isWide ? module.i64 : module.i32),
            0};
  return {sum, address.offset};
}

Value FunctionLifter::policy(const sass::Address &address) {
  if (!address.descriptor || address.descriptor->isConstant())
    return {};
  Value value = readWide(*address.descriptor);
  if (value == constantBank(0, getLayout(module.module.target).descriptor, 64))
    return {};
  // Of values that meet it is not known whether one has a policy.
  if (auto pack = value.getDefiningOp<kern::PackOp>())
    for (Value half : pack.getInputs())
      if (isa<BlockArgument>(half))
        return {};
  return value;
}

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

Value FunctionLifter::special(llvm::StringRef name, IntegerType resultType) {
  if (name == "SRZ")
    return constant(0, resultType);
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral>
      kNames[] = {
          {"SR_CgaCtaId", "cluster_ctarank"},
          {"SR_CgaSize", "cluster_nctarank"},
          {"SR_CLOCKLO", "clock"},
          {"SR_CLOCKHI", "clock_hi"},
          {"SR_EQMASK", "lanemask_eq"},
          {"SR_LTMASK", "lanemask_lt"},
          {"SR_LEMASK", "lanemask_le"},
          {"SR_GTMASK", "lanemask_gt"},
          {"SR_GEMASK", "lanemask_ge"},
          {"SR_VIRTUALSMID", "smid"},
          {"SR_GLOBALTIMERLO", "globaltimer_lo"},
          {"SR_GLOBALTIMERHI", "globaltimer_hi"},
          {"SR_SMEMSZ", "reserved_and_total_smem_size"},
          {"SR_SWINHI", "shared_window_high"},
          {"SR_VIRTID", "virtual_id"},
      };
  std::string spelled;
  for (const auto &[from, to] : kNames)
    if (name == from)
      spelled = to.str();
  if (spelled.empty())
    spelled = name.starts_with("SR_") ? name.drop_front(3).lower() : name.str();
  kern::SpecialOp::Properties properties;
  properties.reg = word(spelled);
  return pure<kern::SpecialOp>(properties, {}, {resultType}, {})->getResult(0);
}
