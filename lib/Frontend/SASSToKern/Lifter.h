// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of the translation. A ModuleLifter holds what functions share: symbols,
// spellings, and which registers each routine needs and changes. A
// FunctionLifter translates one routine. Families of instructions are in
// Lift*.cpp: `find*` names the function that lifts an opcode.

#ifndef D2K_LIB_FRONTEND_SASSTOKERN_LIFTER_H
#define D2K_LIB_FRONTEND_SASSTOKERN_LIFTER_H

#include "Locator.h"

#include "d2k/Frontend/Lifting/SSABuilder.h"
#include "d2k/Frontend/SASSToKern/Lift.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace d2k::sasslift {

using kern::ArithKind;
using kern::ElementType;
using lift::AccessScan;
using lift::FlowGraph;
using lift::SSABuilder;
using mlir::IntegerType;
using mlir::Operation;
using mlir::Value;
using sass::Instruction;
using sass::Opcode;
using sass::Operand;
using sass::Register;
using sass::RegisterFile;

class FunctionLifter;

/// Translates one instruction; false, before it made anything that has an
/// effect, when its form is not modelled (it becomes opaque then).
using LiftFn = bool (*)(FunctionLifter &, const Instruction &);

/// Lift functions by family; null when the opcode is not of it.
LiftFn findInteger(Opcode opcode);
LiftFn findLogic(Opcode opcode);
LiftFn findFloat(Opcode opcode);
LiftFn findConvert(Opcode opcode);
LiftFn findWarp(Opcode opcode);
LiftFn findMemory(Opcode opcode);
LiftFn findTexture(Opcode opcode);
LiftFn findAsync(Opcode opcode);
LiftFn findBulk(Opcode opcode);
LiftFn findMatrix(Opcode opcode);
LiftFn findTensorMemory(Opcode opcode);
LiftFn findSync(Opcode opcode);

/// The operands of an instruction by what happens to registers: written ones,
/// and all others. Operands that are read and written are in both.
struct Parts {
  explicit Parts(const Instruction &instruction);

  llvm::SmallVector<const Operand *, 4> written;
  llvm::SmallVector<const Operand *, 8> read;
  /// Of `read`, those that are no predicates; and the predicates.
  llvm::SmallVector<const Operand *, 8> values;
  llvm::SmallVector<const Operand *, 2> predicates;
  /// Of `written`, the predicates; and the one that is none, or null.
  llvm::SmallVector<const Operand *, 2> writtenPredicates;
  const Operand *target = nullptr;
};

/// Whether each modifier is one of \p known.
bool hasOnly(const Instruction &instruction,
             std::initializer_list<std::string_view> known);
/// RZ, URZ or the number 0, with no sign operation that would matter.
bool isZero(const Operand &operand);
/// An inverted constant predicate is false, an upright one true.
inline bool isTrue(const Operand &operand) {
  return operand.isRegister() && operand.reg.isConstant() && !operand.inverted;
}
inline bool isFalse(const Operand &operand) {
  return operand.isRegister() && operand.reg.isConstant() && operand.inverted;
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

/// Code with one entry that returns to its caller or ends the thread: a kernel,
/// a device function, or a subroutine at the end of a kernel's section.
struct Routine {
  const sass::Function *function = nullptr;
  /// Block of the function where it starts.
  uint32_t entry = 0;
  std::string name;
  bool isKernel = false;
  /// Blocks that control reaches without leaving the routine.
  std::vector<uint32_t> blocks;
  /// Registers whose values it needs, and those it may change.
  sass::RegisterSet reads, writes;
  kern::FuncOp op;
};

class ModuleLifter {
public:
  ModuleLifter(const sass::Module &module, mlir::MLIRContext &context,
               LiftStatistics &statistics);

  mlir::OwningOpRef<mlir::ModuleOp> run();

  mlir::MLIRContext *getContext() const { return &context; }
  mlir::IntegerAttr number(int64_t value) {
    return mlir::IntegerAttr::get(i64, value);
  }
  mlir::StringAttr word(llvm::StringRef text) {
    return mlir::StringAttr::get(&context, text);
  }
  mlir::StringAttr spell(const sass::Mnemonic *mnemonic);
  LiftFn find(Opcode opcode);
  mlir::Location locate(const sass::Function &function, uint32_t offset);

  /// Whether the instruction calls, and is no jump (Function::isJump).
  bool isCall(const Instruction &instruction) const {
    return instruction.getClass() == sass::OpcodeClass::Call &&
           !jumps.contains(&instruction);
  }
  /// The routine that a call reaches; null when the callee is not in the
  /// module or not known.
  const Routine *getCallee(const sass::Function &caller,
                           const Instruction &call) const;
  /// Registers that a call needs and may change.
  void getCallAccesses(const sass::Function &caller, const Instruction &call,
                       sass::RegisterSet &reads,
                       sass::RegisterSet &writes) const;

  /// The shared memory window of a block, the frame of a thread, and a constant
  /// bank other than the parameters'.
  mlir::FlatSymbolRefAttr getSharedWindow(const Routine &routine);
  /// The start of the window, which the driver keeps for itself:
  /// kReservedShared bytes from sm_90 on.
  mlir::FlatSymbolRefAttr getReservedShared(const Routine &routine);
  mlir::FlatSymbolRefAttr getFrame(const Routine &routine);
  mlir::FlatSymbolRefAttr getConstantBank(uint32_t bank);

  void countOpaque(const Instruction &instruction, mlir::Location loc);

  /// What the cubin says about \p function. Where it does not list the
  /// parameters, as in nvdisasm's text, they count as one.
  const sass::FunctionInfo &getInfo(const sass::Function &function);

  const sass::Module &module;
  LiftStatistics &statistics;
  IntegerType i1, i8, i16, i32, i64, i128;
  mlir::DictionaryAttr noAttributes;

private:
  void findJumps(const sass::Function &function);
  void findRoutines();
  std::vector<uint32_t> findReachable(const sass::Function &function,
                                      uint32_t entry) const;
  void summarize();
  bool summarize(Routine &routine);
  void makeFunction(Routine &routine);
  void setDirectives(Routine &routine);
  mlir::FlatSymbolRefAttr makeObject(llvm::StringRef name, kern::Space space,
                                     std::optional<int64_t> size,
                                     int64_t alignment, mlir::Location loc);

  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> result;
  std::vector<std::unique_ptr<Routine>> routines;
  /// By function and entry block.
  llvm::DenseMap<std::pair<const sass::Function *, uint32_t>, Routine *>
      routineAt;
  /// Calls that are jumps.
  llvm::DenseSet<const Instruction *> jumps;
  llvm::DenseMap<const sass::Mnemonic *, mlir::StringAttr> spellings;
  llvm::DenseMap<const sass::Function *, mlir::FlatSymbolRefAttr> windows,
      reserved, frames;
  llvm::DenseMap<uint32_t, mlir::FlatSymbolRefAttr> banks;
  std::map<const sass::Function *, sass::FunctionInfo> infos;
  Locator locator;
};

//===----------------------------------------------------------------------===//
// FunctionLifter
//===----------------------------------------------------------------------===//

/// Bytes at the start of shared memory that are none of the kernel's (CUDA C++
/// Programming Guide: "1 KB reserved for system use per thread block").
constexpr int64_t kReservedShared = 1024;

/// Where a result goes: a register, or nowhere (RZ, PT).
struct Dest {
  IntegerType type;
  Register reg;
};

class FunctionLifter {
public:
  FunctionLifter(ModuleLifter &module, const Routine &routine);

  mlir::LogicalResult run();

  //===--- Operands -------------------------------------------------------===//

  /// Current value of a register, where the guard lets the instruction run;
  /// that of a constant register.
  Value read(Register reg);
  /// Two registers as one number.
  Value readWide(Register low);
  /// An integer operand, minus and complement applied: 32 or 64 bits.
  Value integer(const Operand &operand, unsigned bits = 32);
  /// As `integer`, without minus and complement.
  Value plain(const Operand &operand, unsigned bits = 32);
  /// A predicate operand, negation applied.
  Value predicate(const Operand &operand);
  /// A floating-point operand read as \p type, sign operations applied.
  Value floating(const Operand &operand, ElementType type);
  /// A register operand's \p count registers.
  void readGroup(const Operand &operand, unsigned count,
                 llvm::SmallVectorImpl<Value> &values);
  void readGroup(Register first, unsigned count,
                 llvm::SmallVectorImpl<Value> &values);

  struct Address {
    Value base;
    int64_t offset;
  };
  /// An address in brackets. In shared memory and in the frame it is relative
  /// to the object.
  Address address(const sass::Address &address, kern::Space space);
  /// The cache policy of an access; null for the default one.
  Value policy(const sass::Address &address);
  /// Entry of a constant bank, 32 or 64 bits wide.
  Value constantBank(uint32_t bank, int64_t offset, unsigned bits);
  Value constantEntry(const sass::Address &address, unsigned bits);

  //===--- Values ---------------------------------------------------------===//

  Value constant(uint64_t bits, IntegerType type) {
    return ssa.constant(bits, type);
  }
  Value constant32(uint64_t bits) { return constant(bits, module.i32); }
  /// Number of a constant, looked up through nothing.
  static std::optional<uint64_t> getConstant(Value value);
  /// Pure functions of values, without guard.
  Value arith(ArithKind kind, ElementType type, mlir::ValueRange inputs,
              IntegerType result = {});
  std::pair<Value, Value> arithCarry(ArithKind kind, ElementType type,
                                     mlir::ValueRange inputs);
  Value compare(kern::Compare predicate, ElementType type, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value convert(ElementType from, ElementType to, Value value,
                IntegerType result);
  Value negate(Value predicate);
  Value special(llvm::StringRef name, IntegerType type);
  /// Address of the block's shared memory window, or of the part of it that the
  /// driver keeps.
  Value sharedWindow(bool isReserved = false);
  /// Sum of two 64-bit numbers.
  Value addWide(Value a, Value b);
  /// The 64-bit number with these halves, seen through what made them.
  Value combine(Value low, Value high);

  //===--- Results --------------------------------------------------------===//

  /// Dest in a register, or in a pair when \p bits is 64.
  Dest to(const Operand &operand, unsigned bits = 32) const;
  Dest to(Register reg, unsigned bits = 32) const;
  /// Makes the operation of the instruction: adds guard and old values.
  template <typename OpT>
  Operation *emit(typename OpT::Properties properties,
                  llvm::ArrayRef<int32_t> segments, mlir::ValueRange operands,
                  llvm::ArrayRef<Dest> results = {});
  /// `kern.arith` as the operation of the instruction.
  void emitArith(ArithKind kind, ElementType type, mlir::ValueRange inputs,
                 llvm::ArrayRef<Dest> results,
                 std::optional<kern::Rounding> rounding = {},
                 bool saturate = false, bool flush = false);
  /// A move: no operation unless there is a guard.
  void assign(Register reg, Value value);
  void assignWide(Register low, Value value);

  template <typename AttrT, typename Enum>
  AttrT attr(Enum value) {
    return AttrT::get(module.getContext(), value);
  }
  template <typename AttrT, typename Enum>
  AttrT attr(std::optional<Enum> value) {
    return value ? AttrT::get(module.getContext(), *value) : AttrT();
  }
  mlir::UnitAttr unit(bool isSet) {
    return isSet ? mlir::UnitAttr::get(module.getContext()) : mlir::UnitAttr();
  }
  kern::ElementTypeAttr type(ElementType value) {
    return attr<kern::ElementTypeAttr>(value);
  }
  mlir::IntegerAttr number(int64_t value) { return module.number(value); }
  mlir::StringAttr word(llvm::StringRef text) { return module.word(text); }
  bool isGuarded() const { return static_cast<bool>(guard); }
  const Routine &getRoutine() const { return routine; }
  /// Whether the function commits groups of per-thread, of bulk copies: both
  /// are waited for with the same instruction.
  bool hasCopyGroups = false, hasBulkGroups = false;
  /// What the last reducing barrier of the block found; null when there is
  /// none.
  Value barrierResult;

  ModuleLifter &module;

private:
  friend class OperandReader;

  enum class Exit : uint8_t {
    Jump,
    Conditional,
    Switch,
    Return,
    Exit,
    Nowhere
  };
  struct BasicBlock {
    /// Instructions of the function, the last one excluded when it decides
    /// where control goes.
    uint32_t first = 0, last = 0;
    Exit exit = Exit::Jump;
    /// Of a conditional block: the successor taken when the condition holds
    /// is the first.
    const Instruction *control = nullptr;
  };

  bool isControl(const Instruction &instruction) const;
  uint32_t addBlock(Exit exit, const Instruction *control);
  uint32_t getExitBlock(Exit exit, const Instruction *control);
  void findBlocks();
  void scanBlocks(const FlowGraph &graph, AccessScan &scan);
  void makeArguments();
  void liftBlock(uint32_t index);
  void liftInstruction(const Instruction &instruction);
  void liftOpaque(const Instruction &instruction);
  void liftCall(const Instruction &instruction);
  Value getSwitchIndex(const Instruction &control, uint32_t index);
  void liftExit(uint32_t index);
  Value getCondition(const Instruction &instruction);

  Operation *create(mlir::OperationName name, mlir::TypeRange types,
                    mlir::ValueRange operands, void *properties);
  template <typename OpT>
  Operation *pure(typename OpT::Properties properties,
                  mlir::ValueRange operands, mlir::TypeRange types,
                  llvm::ArrayRef<int32_t> segments);
  void unpackTo(Register low, Value value);
  Value oldValue(const Dest &result);
  /// What a register, or a pair, holds where the guard is off.
  Value readBefore(Register reg, unsigned bits = 32);
  /// A value of the function's start, made once by \p make.
  Value atStart(uint64_t key, llvm::function_ref<Operation *()> make);
  bool isPointerLike(uint32_t offset) const;
  Value parameterAddress(int64_t offset);
  Value combine(Value low, Value high, unsigned depth);
  Value seeThrough(Value low, Value high, unsigned depth);
  Value seeProduct(Value low, Value high, unsigned depth);

  static uint32_t variableOf(Register reg);

  const Routine &routine;
  const sass::Function &function;
  const sass::FunctionInfo &info;
  SSABuilder ssa;
  mlir::Location loc;
  mlir::StringAttr mnemonic;
  Value guard;
  bool guardInverted = false;
  Value parameterBase;

  std::vector<BasicBlock> blocks;
  std::vector<llvm::SmallVector<uint32_t, 2>> successors;
  uint32_t entry = 0, returnBlock = ~0u, exitBlock = ~0u, nowhereBlock = ~0u;
  llvm::SmallVector<Register, 8> argumentRegisters, returnRegisters;

  llvm::DenseMap<uint64_t, Value> startValues;
  /// combine() of this block, by the halves.
  llvm::DenseMap<std::pair<Value, Value>, Value> combined;
  llvm::DenseSet<uint32_t> readHalves;
};

template <typename OpT>
Operation *FunctionLifter::emit(typename OpT::Properties properties,
                                llvm::ArrayRef<int32_t> segments,
                                mlir::ValueRange inputs,
                                llvm::ArrayRef<Dest> results) {
  properties.mnemonic = mnemonic;
  auto &sizes = properties.operandSegmentSizes;
  assert(segments.size() + 2 == sizes.size() && "wrong number of groups");
  std::copy(segments.begin(), segments.end(), sizes.begin());
  sizes[sizes.size() - 2] = guard ? 1 : 0;
  sizes[sizes.size() - 1] = guard ? static_cast<int32_t>(results.size()) : 0;
  llvm::SmallVector<Value, 16> operands(inputs.begin(), inputs.end());
  llvm::SmallVector<mlir::Type, 16> types;
  for (const Dest &result : results)
    types.push_back(result.type);
  if (guard) {
    if (guardInverted)
      properties.guardNegated = unit(true);
    // Old values may need operations: they come before this one.
    llvm::SmallVector<Value, 16> old;
    for (const Dest &result : results)
      old.push_back(oldValue(result));
    operands.push_back(guard);
    operands.append(old);
  }
  Operation *created =
      create(mlir::OperationName(OpT::getOperationName(), module.getContext()),
             types, operands, &properties);
  for (auto [i, result] : llvm::enumerate(results)) {
    if (result.reg.isConstant())
      continue;
    if (result.type.getWidth() > 32)
      unpackTo(result.reg, created->getResult(i));
    else
      ssa.write(variableOf(result.reg), created->getResult(i));
  }
  return created;
}

template <typename OpT>
Operation *FunctionLifter::pure(typename OpT::Properties properties,
                                mlir::ValueRange operands,
                                mlir::TypeRange types,
                                llvm::ArrayRef<int32_t> segments) {
  properties.mnemonic = mnemonic;
  auto &sizes = properties.operandSegmentSizes;
  std::copy(segments.begin(), segments.end(), sizes.begin());
  sizes[sizes.size() - 2] = 0;
  sizes[sizes.size() - 1] = 0;
  return create(
      mlir::OperationName(OpT::getOperationName(), module.getContext()), types,
      operands, &properties);
}

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

/// `S8`, `BF16`, `E4M3`: a number format.
std::optional<ElementType> getElement(std::string_view text);
/// SYS, GPU, SM or CTA among the modifiers.
std::optional<kern::Scope> getScope(const Instruction &instruction);
/// Bytes of LTC128B and the like.
std::optional<int64_t> getL2Prefetch(const Instruction &instruction);
/// ADD, MIN, EXCH, ... among the modifiers.
std::optional<kern::AtomicFunction>
getAtomicFunction(const Instruction &instruction);

/// `GEU`: greater, equal or unordered.
std::optional<kern::Compare> getCompare(std::string_view text);
/// AND, OR or XOR among the modifiers.
std::optional<kern::BoolOp> getBoolOp(const Instruction &instruction);
/// Makes the comparison that is the instruction's operation, combined with the
/// predicate \p with; false when it writes none.
bool emitCompare(FunctionLifter &lifter, const Instruction &instruction,
                 const Parts &parts, kern::Compare predicate, ElementType type,
                 Value a, Value b, const Operand *with);

} // namespace d2k::sasslift

#endif // D2K_LIB_FRONTEND_SASSTOKERN_LIFTER_H
