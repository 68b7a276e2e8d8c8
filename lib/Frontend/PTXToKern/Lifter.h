// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of the translation. A ModuleLifter holds what functions share: symbols,
// and what was derived from each mnemonic. A FunctionLifter translates one
// function: it finds the blocks, places phi nodes, and walks the dominator tree
// with the current value of every register. Families of instructions are in
// Lift*.cpp, two functions each: one *decodes* a mnemonic once into the
// properties that all its operations share, the other *lifts* an instruction.

#ifndef D2K_LIB_FRONTEND_PTXTOKERN_LIFTER_H
#define D2K_LIB_FRONTEND_PTXTOKERN_LIFTER_H

#include "Words.h"
#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Frontend/Lifting/SSABuilder.h"
#include "d2k/Frontend/PTX/AST.h"
#include "d2k/Frontend/PTXToKern/Lift.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"

namespace d2k::lift {

class FunctionLifter;
class ModuleLifter;
struct Decoded;

/// Translates one instruction; false, before it made anything, when its
/// operands are not what the mnemonic asks for (it becomes opaque then).
using LiftFn = bool (*)(FunctionLifter &, const ptx::Instruction &,
                        const Decoded &);

/// What follows from a mnemonic alone.
struct Decoded {
  mlir::StringAttr spelling;
  LiftFn lift = nullptr;
  mlir::OperationName name;
  /// `mov`: the operation that splits a register.
  mlir::OperationName secondName;
  /// Properties of the operation, in the decoder's arena; copied for each
  /// instruction and completed.
  void *properties = nullptr;
  /// Type of an immediate by operand, from the second operand on; the last
  /// stands for all that follow.
  mlir::IntegerType immediate[4];
  /// Type of a result that goes nowhere (`_`).
  mlir::IntegerType sink;
  /// Operands that the signature allows.
  unsigned minOperands = 0, maxOperands = ~0u;
  /// Leading operands that are written, unless they are addresses.
  uint8_t numWrites = 0;
  /// The written operands are read too.
  bool readsWritten = false;
  bool readsCarry = false, writesCarry = false;
  /// The last operand is a cache policy.
  bool hasPolicy = false;
  /// `mov` between vector registers or braces needs the number of bits.
  unsigned bits = 0;
  bool hasMulticast = false;
  bool isControl = false, isCall = false;
  /// Not modelled: every register operand is read and written.
  bool isOpaque = false;
  uint8_t number = 0;

  explicit Decoded(mlir::OperationName name) : name(name), secondName(name) {}
  mlir::IntegerType immediateOf(unsigned operand) const {
    return immediate[operand == 0 ? 0 : std::min(operand - 1, 3u)];
  }
};

/// Helper of the decode functions.
struct Decoder {
  ModuleLifter &module;
  const ptx::Mnemonic &mnemonic;
  Decoded &out;

  bool has(ptx::Modifier modifier) const { return mnemonic.has(modifier); }
  mlir::MLIRContext *context() const;
  mlir::IntegerType integer(unsigned bits) const;
  mlir::IntegerAttr number(int64_t value) const;
  mlir::StringAttr word(llvm::StringRef text) const;
  mlir::UnitAttr unit(bool isSet) const {
    return isSet ? mlir::UnitAttr::get(context()) : mlir::UnitAttr();
  }
  /// An attribute of an enumerator; null for nothing.
  template <typename AttrT, typename Enum>
  AttrT attr(Enum value) const {
    return AttrT::get(context(), value);
  }
  template <typename AttrT, typename Enum>
  AttrT attr(std::optional<Enum> value) const {
    return value ? AttrT::get(context(), *value) : AttrT();
  }
  kern::ElementTypeAttr element(unsigned index = 0) const {
    return attr<kern::ElementTypeAttr>(elementOf(mnemonic, index));
  }
  kern::SpaceAttr space(kern::Space value) const {
    return attr<kern::SpaceAttr>(value);
  }
  kern::SemanticsAttr semantics() const {
    return attr<kern::SemanticsAttr>(semanticsOf(mnemonic));
  }
  kern::ScopeAttr scope() const {
    return attr<kern::ScopeAttr>(scopeOf(mnemonic));
  }
  /// Register type of an element; 32 bits for sub-word oddities.
  mlir::IntegerType registerOf(kern::ElementType element) const;
  /// All immediates are of \p type.
  void immediates(mlir::IntegerType type) {
    std::fill(std::begin(out.immediate), std::end(out.immediate), type);
  }
  /// Names the operation and its lift function, and makes its properties.
  template <typename OpT>
  typename OpT::Properties &make(LiftFn lift);
};

/// Decodes with the function of the family that \p kind belongs to.
bool decodeFamily(Decoder &decoder, ptx::OpcodeClass kind);

/// Decode functions, by family; false when the mnemonic is not modelled.
bool decodeCompute(Decoder &decoder);
bool decodeWarp(Decoder &decoder);
bool decodeMemory(Decoder &decoder);
bool decodeAsync(Decoder &decoder);
bool decodeBulk(Decoder &decoder);
bool decodeMBarrier(Decoder &decoder);
bool decodeMatrix(Decoder &decoder);
bool decodeTensorMemory(Decoder &decoder);
bool decodeSync(Decoder &decoder);
bool decodeControl(Decoder &decoder);

//===----------------------------------------------------------------------===//
// ModuleLifter
//===----------------------------------------------------------------------===//

class ModuleLifter {
public:
  ModuleLifter(const ptx::Module &module, llvm::MemoryBufferRef buffer,
               mlir::MLIRContext &context, LiftStatistics &statistics);

  mlir::OwningOpRef<mlir::ModuleOp> run();

  mlir::MLIRContext *getContext() const { return &context; }
  mlir::IntegerType integer(unsigned bits) const {
    switch (bits) {
    case 1:
      return i1;
    case 8:
      return i8;
    case 16:
      return i16;
    case 64:
      return i64;
    case 128:
      return i128;
    default:
      return i32;
    }
  }
  /// Attribute of a 64-bit number; offsets repeat a lot.
  mlir::IntegerAttr number(int64_t value) {
    // The two largest magnitudes are keys that the table keeps for itself.
    if (value > (int64_t(1) << 48) || value < -(int64_t(1) << 48))
      return mlir::IntegerAttr::get(i64, value);
    mlir::IntegerAttr &attr = numbers[value];
    if (!attr)
      attr = mlir::IntegerAttr::get(i64, value);
    return attr;
  }
  /// Type of a register declared with \p type.
  mlir::IntegerType registerType(ptx::Modifier type) const {
    return integer(ptx::getBitWidth(type));
  }
  const Decoded &decode(const ptx::Mnemonic &mnemonic);
  mlir::StringAttr spell(const ptx::Mnemonic &mnemonic) const;

  /// Location of a position in the text.
  mlir::FileLineColLoc locate(ptx::Offset offset);
  mlir::Location locate(ptx::Offset offset, mlir::LocationAttr source);
  /// Source location of a `.loc` directive.
  mlir::LocationAttr getSource(const ptx::Location &directive);

  /// Symbol of a variable of module scope.
  mlir::FlatSymbolRefAttr getSymbol(const ptx::Variable *variable);
  /// Makes the object of a variable of a function, or of a temporary.
  mlir::FlatSymbolRefAttr makeObject(const ptx::VariableDecl &decl,
                                     llvm::StringRef name, mlir::Location loc,
                                     mlir::FlatSymbolRefAttr function);
  /// Makes an object like \p decl for an argument that has none of its own.
  mlir::FlatSymbolRefAttr makeParamObject(llvm::StringRef name,
                                          const ptx::VariableDecl &decl,
                                          mlir::Location loc,
                                          mlir::FlatSymbolRefAttr function);
  kern::FuncOp getFunction(const ptx::FunctionSymbol *symbol);
  /// The declaration that decides the parameters of \p symbol.
  const ptx::Function *getDeclaration(const ptx::FunctionSymbol *symbol) const;

  void countOpaque(const Decoded &decoded, mlir::Location loc);

  const ptx::Module &module;
  LiftStatistics &statistics;
  llvm::BumpPtrAllocator arena;
  mlir::IntegerType i1, i8, i16, i32, i64, i128;
  mlir::DictionaryAttr noAttributes;
  /// Type of an address that a symbol stands for.
  mlir::IntegerType addressType;

private:
  void makeModuleVariable(const ptx::Variable *variable);
  void makeFunction(const ptx::FunctionSymbol *symbol);
  void setDirectives(kern::FuncOp op, const ptx::Function &function);
  void indexLines();
  void readDebugInfo();
  void readDebugStrings(const ptx::Section &section);
  kern::ObjectOp buildObject(const ptx::VariableDecl &decl,
                             mlir::StringAttr name, mlir::Location loc);
  mlir::StringAttr makeUnique(llvm::StringRef name);
  void decodeInto(const ptx::Mnemonic &mnemonic, Decoded &decoded);

  llvm::MemoryBufferRef buffer;
  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> result;
  /// Objects go before it.
  mlir::Block::iterator objectPoint;

  std::vector<Decoded *> decoded;
  std::vector<uint32_t> lineStarts;
  uint32_t lineHint = 0;
  mlir::StringAttr bufferName, locationKind;
  llvm::DenseMap<int64_t, mlir::IntegerAttr> numbers;
  llvm::DenseMap<const ptx::Entity *, mlir::FlatSymbolRefAttr> symbols;
  llvm::DenseMap<mlir::StringAttr, const ptx::Variable *> moduleVariables;
  llvm::DenseMap<const ptx::FunctionSymbol *, const ptx::FunctionSymbol *>
      aliases;
  llvm::DenseMap<const ptx::FunctionSymbol *, kern::FuncOp> functions;
  llvm::DenseMap<mlir::StringAttr, uint32_t> usedNames;

  llvm::DenseMap<uint64_t, mlir::StringAttr> files;
  /// Bytes of .debug_str, and where each label is.
  std::string debugStrings;
  llvm::DenseMap<const ptx::Entity *, uint32_t> debugLabels;
  /// What was last said about a source position: the frame that an inlined_at
  /// of that position continues with.
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, mlir::LocationAttr> frames;
};

template <typename OpT>
typename OpT::Properties &Decoder::make(LiftFn lift) {
  using Properties = typename OpT::Properties;
  static_assert(std::is_trivially_destructible_v<Properties>);
  auto *properties = new (module.arena.Allocate<Properties>()) Properties();
  properties->mnemonic = out.spelling;
  out.properties = properties;
  out.name = mlir::OperationName(OpT::getOperationName(), context());
  out.lift = lift;
  return *properties;
}

//===----------------------------------------------------------------------===//
// FunctionLifter
//===----------------------------------------------------------------------===//

class FunctionLifter {
public:
  FunctionLifter(ModuleLifter &module, const ptx::Function &function,
                 kern::FuncOp op);

  mlir::LogicalResult run();

  //===--- For lift functions: operands -----------------------------------===//

  /// A base value and a constant offset.
  struct Address {
    mlir::Value base;
    int64_t offset;
  };

  /// The value of a scalar operand; \p immediate is the type of a constant.
  mlir::Value read(const ptx::Operand &operand, mlir::IntegerType immediate);
  /// As read, but a negated predicate is read as it is.
  mlir::Value readPlain(const ptx::Operand &operand,
                        mlir::IntegerType immediate);
  /// Appends all values of an operand: the elements of a vector, the lanes of a
  /// vector register.
  void readAll(const ptx::Operand &operand, mlir::IntegerType immediate,
               llvm::SmallVectorImpl<mlir::Value> &values);
  /// Address operand.
  Address address(const ptx::Operand &operand);
  /// The address as one value, offset added.
  mlir::Value addressValue(const ptx::Operand &operand);
  /// Values of the elements of an address behind the base.
  void readRest(const ptx::Operand &operand, mlir::IntegerType immediate,
                llvm::SmallVectorImpl<mlir::Value> &values);
  /// Current value of the carry flag.
  mlir::Value readCarry() { return ssa.read(carry); }

  mlir::Value constant(uint64_t bits, mlir::IntegerType type,
                       bool isSigned = true) {
    return ssa.constant(bits, type, isSigned);
  }
  /// A value that nothing defines; one a type.
  mlir::Value undefined(mlir::IntegerType type) { return ssa.undefined(type); }
  mlir::Value symbolAddress(const ptx::Entity *entity, bool isGeneric,
                            mlir::IntegerType type);
  /// True while a guarded instruction is lifted.
  bool isGuarded() const { return static_cast<bool>(guard); }

  //===--- For lift functions: results ------------------------------------===//

  /// Adds the registers of \p operand to the results of the operation under
  /// construction.
  void addResults(const ptx::Operand &operand, mlir::IntegerType sink);
  void addResult(uint32_t variable);
  void addCarryResult() { addResult(carry); }
  /// A result that goes nowhere.
  void addSink(mlir::IntegerType type);

  /// Makes the operation from `operands` (its own ones) and the results added;
  /// \p segments are the sizes of its own operand groups. Guard and old values
  /// are added here. Null, and the instruction becomes opaque, when an
  /// operation of one result has another number of them.
  template <typename OpT>
  mlir::Operation *finish(typename OpT::Properties &properties,
                          llvm::ArrayRef<int32_t> segments,
                          mlir::OperationName name);
  template <typename OpT>
  mlir::Operation *finish(typename OpT::Properties &properties,
                          llvm::ArrayRef<int32_t> segments,
                          const Decoded &decoded) {
    return finish<OpT>(properties, segments, decoded.name);
  }
  /// Makes an unguarded operation with \p properties complete but for the sizes
  /// of the operand groups, the last two of which are empty.
  template <typename OpT>
  mlir::Operation *synthesize(typename OpT::Properties &properties,
                              llvm::ArrayRef<mlir::Value> values,
                              llvm::ArrayRef<int32_t> segments,
                              llvm::ArrayRef<mlir::Type> types);
  /// Makes an unguarded operation that no instruction asks for by itself.
  template <typename OpT, typename... Args>
  OpT create(Args &&...args) {
    mlir::OpBuilder builder(module.getContext());
    auto op = OpT::create(builder, loc, std::forward<Args>(args)...);
    ssa.append(op);
    return op;
  }
  /// Gives the registers of \p operand new values, one for each lane. A guarded
  /// instruction writes through selects.
  void assign(const ptx::Operand &operand, mlir::ValueRange values);

  bool liftOpaque(const ptx::Instruction &instruction, const Decoded &decoded);
  bool liftCall(const ptx::Instruction &instruction, const Decoded &decoded);
  bool liftMove(const ptx::Instruction &instruction, const Decoded &decoded);

  ModuleLifter &module;
  mlir::Location loc;
  /// Operands of the operation under construction; empty when a lift function
  /// is called.
  llvm::SmallVector<mlir::Value, 32> operands;

private:
  friend struct OperandScan;

  //===--- Structure (FunctionLifter.cpp) ---------------------------------===//

  /// One instruction with its source location.
  struct Item {
    const ptx::Instruction *instruction;
    const Decoded *decoded;
    mlir::LocationAttr source;
  };
  enum class Exit : uint8_t {
    /// Goes on with the next block.
    Fall,
    Branch,
    /// Successors: taken when the guard is on, when it is off.
    Conditional,
    Switch,
    Return,
    /// `exit`
    Exit,
    /// Nothing comes here.
    Unreachable,
  };
  struct BasicBlock {
    /// Items, the control instruction excluded.
    uint32_t first = 0, last = 0;
    Exit exit = Exit::Fall;
    /// Item of the control instruction, or none.
    uint32_t control = ~0u;
  };

  void collect(const ptx::Block &body);
  mlir::LogicalResult findBlocks();
  uint32_t addBlock(uint32_t first, uint32_t last);
  uint32_t getExitBlock(Exit exit, uint32_t control);
  void numberVariables();
  void scanBlocks(const FlowGraph &graph, AccessScan &accesses);
  void countUnreachable(const FlowGraph &graph);
  void makeArguments();
  void liftBlock(uint32_t index);
  void liftItem(const Item &item);
  void liftExit(uint32_t index);
  bool isNoReturn(const Item &item) const;

  //===--- Variables ------------------------------------------------------===//

  uint32_t variableOf(const ptx::Register *reg, unsigned lane = 0) const {
    return firstVariable[reg->ordinal] + lane;
  }
  unsigned lanesOf(const ptx::Operand &operand, unsigned &first) const;
  void setGuard(const ptx::Instruction &instruction);
  mlir::Value special(const ptx::Operand &operand, unsigned component);
  mlir::Value fit(mlir::Value value, mlir::IntegerType type);
  mlir::Value addOffset(mlir::Value base, int64_t offset);

  const ptx::Function &function;
  kern::FuncOp op;
  mlir::FlatSymbolRefAttr symbol;

  std::vector<Item> items;
  /// Position of each label, by ordinal; ~0u for a label that is no target.
  std::vector<uint32_t> labelPositions;
  mlir::LocationAttr source;
  std::vector<BasicBlock> blocks;
  std::vector<llvm::SmallVector<uint32_t, 2>> successors;
  uint32_t entry = 0;
  uint32_t returnBlock = ~0u, exitBlock = ~0u;

  std::vector<uint32_t> firstVariable;
  uint32_t carry = 0;
  /// Registers that `ret` returns.
  llvm::SmallVector<uint32_t, 4> returnVariables;
  SSABuilder ssa;
  llvm::DenseMap<std::pair<const void *, unsigned>, mlir::Value> addresses;
  llvm::DenseMap<const ptx::Entity *, mlir::Value> parameters;
  llvm::DenseMap<const ptx::Entity *, mlir::FlatSymbolRefAttr> objects;

  // The operation under construction.
  static constexpr uint32_t kSink = ~0u;
  mlir::Value guard;
  bool isGuardNegated = false;
  /// Set when the instruction writes other than the operation's one result.
  bool isMisfit = false;
  const Decoded *currentDecoded = nullptr;
  llvm::SmallVector<uint32_t, 32> resultVariables;
  llvm::SmallVector<mlir::Type, 32> resultTypes;
};

template <typename OpT>
mlir::Operation *FunctionLifter::finish(typename OpT::Properties &properties,
                                        llvm::ArrayRef<int32_t> segments,
                                        mlir::OperationName name) {
  auto &sizes = properties.operandSegmentSizes;
  assert(segments.size() + 2 == sizes.size() && "wrong number of groups");
  if constexpr (OpT::template hasTrait<mlir::OpTrait::OneResult>())
    if (resultTypes.size() != 1) {
      isMisfit = true;
      return nullptr;
    }
  std::copy(segments.begin(), segments.end(), sizes.begin());
  sizes[sizes.size() - 2] = 0;
  sizes[sizes.size() - 1] = 0;
  if (guard) {
    operands.push_back(guard);
    sizes[sizes.size() - 2] = 1;
    sizes[sizes.size() - 1] = static_cast<int32_t>(resultTypes.size());
    if (isGuardNegated)
      properties.guardNegated = mlir::UnitAttr::get(module.getContext());
    for (auto [variable, type] : llvm::zip(resultVariables, resultTypes))
      operands.push_back(variable == kSink
                             ? undefined(llvm::cast<mlir::IntegerType>(type))
                             : ssa.read(variable));
  }
  mlir::Operation *created = mlir::Operation::create(
      loc, name, resultTypes, operands, module.noAttributes, &properties,
      mlir::BlockRange(), /*numRegions=*/0);
  ssa.append(created);
  for (unsigned i = 0; i < resultVariables.size(); ++i)
    if (resultVariables[i] != kSink)
      ssa.write(resultVariables[i], created->getResult(i));
  return created;
}

template <typename OpT>
mlir::Operation *FunctionLifter::synthesize(
    typename OpT::Properties &properties, llvm::ArrayRef<mlir::Value> values,
    llvm::ArrayRef<int32_t> segments, llvm::ArrayRef<mlir::Type> types) {
  properties.mnemonic = currentDecoded->spelling;
  auto &sizes = properties.operandSegmentSizes;
  assert(segments.size() + 2 == sizes.size() && "wrong number of groups");
  std::copy(segments.begin(), segments.end(), sizes.begin());
  sizes[sizes.size() - 2] = 0;
  sizes[sizes.size() - 1] = 0;
  mlir::Operation *created = mlir::Operation::create(
      loc, mlir::OperationName(OpT::getOperationName(), module.getContext()),
      types, values, module.noAttributes, &properties, mlir::BlockRange(),
      /*numRegions=*/0);
  ssa.append(created);
  return created;
}

/// Copies the properties that the mnemonic decides.
template <typename OpT>
typename OpT::Properties copyProperties(const Decoded &decoded) {
  return *static_cast<typename OpT::Properties *>(decoded.properties);
}

} // namespace d2k::lift

#endif // D2K_LIB_FRONTEND_PTXTOKERN_LIFTER_H
