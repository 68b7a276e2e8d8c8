// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree of a PTX module. It keeps everything that ptxas can see and
// nothing else: comments, spacing and the spelling of constants are gone, the
// order of directives, statements and modifiers is kept.
//
// A *name* is an interned identifier. An *entity* is what a name stands for: a
// register, a variable, a label, a function, a table. Operands point to
// entities, never to names; the parser resolves them with PTX's lexical scopes,
// so two registers of the same name in sibling scopes are two entities.
//
// Every node lives in the arena of its Module and is trivially destructible.
// Lists are ArrayRefs into the arena. Nodes may be changed in place; a Mnemonic
// is shared by all instructions that spell it, so replace it, do not change it.

#ifndef D2K_FRONTEND_PTX_AST_H
#define D2K_FRONTEND_PTX_AST_H

#include "d2k/Frontend/PTX/Opcodes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/SMLoc.h"

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace d2k::ptx {

struct Block;
struct BranchTargets;
struct CallPrototype;
struct Function;
struct FunctionSymbol;
struct Instruction;
struct Operand;
struct RegisterDecl;
struct Statement;
struct VariableDecl;

/// A position in the text: byte offset from the start of the buffer.
using Offset = uint32_t;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// An interned identifier, valid in its Module. 0 is "no name".
enum class Name : uint32_t { None = 0 };

/// Identifiers of one module. Text handed in is copied into the arena.
class NameTable {
public:
  explicit NameTable(llvm::BumpPtrAllocator &arena);

  /// The name spelled \p text; made on first sight.
  Name intern(llvm::StringRef text);
  /// The text of \p name; empty for Name::None.
  llvm::StringRef get(Name name) const {
    return texts[static_cast<uint32_t>(name)];
  }
  /// Number of names, Name::None included: names are smaller than this.
  unsigned size() const { return texts.size(); }

private:
  void grow();

  llvm::BumpPtrAllocator &arena;
  std::vector<llvm::StringRef> texts;
  std::vector<uint32_t> hashes;
  /// Open addressing, power-of-two size, 0 is free.
  std::vector<uint32_t> buckets;
};

//===----------------------------------------------------------------------===//
// Mnemonics
//===----------------------------------------------------------------------===//

/// m, n and k of a matrix shape; k is 0 where the shape has none.
struct MatrixShape {
  uint16_t m = 0, n = 0, k = 0;
  bool operator==(const MatrixShape &other) const {
    return m == other.m && n == other.n && k == other.k;
  }
};

/// A modifier in a mnemonic, with its payload.
struct ModifierUse {
  Modifier kind = Modifier::Unknown;
  /// Meaningful when kind is Modifier::Shape.
  MatrixShape shape;
  /// Meaningful when kind is Modifier::Unknown: the spelling without the dot.
  Name unknownName = Name::None;
};

/// Opcode and modifiers of an instruction. Immutable and shared: two
/// instructions of one module that spell the same have the same Mnemonic, so
/// consumers may cache what they derive from it, by ordinal.
struct Mnemonic {
  Opcode opcode = Opcode::Unknown;
  /// Dense, from 0, within the module.
  uint32_t ordinal = 0;
  /// The first dotted part when the opcode is Unknown.
  Name unknownName = Name::None;
  /// In source order.
  llvm::ArrayRef<ModifierUse> modifiers;

  bool has(Modifier kind) const {
    for (const ModifierUse &use : modifiers)
      if (use.kind == kind)
        return true;
    return false;
  }
  /// The \p index-th modifier of \p category, or null.
  const ModifierUse *find(ModifierCategory category, unsigned index = 0) const {
    for (const ModifierUse &use : modifiers)
      if (getCategory(use.kind) == category && index-- == 0)
        return &use;
    return nullptr;
  }
  /// The \p index-th type (`.f32.s32`: 0 is f32), or Modifier::Unknown.
  Modifier type(unsigned index = 0) const {
    const ModifierUse *use = find(ModifierCategory::Type, index);
    return use ? use->kind : Modifier::Unknown;
  }
  /// The \p index-th state space, or Modifier::Unknown for none (generic).
  Modifier space(unsigned index = 0) const {
    const ModifierUse *use = find(ModifierCategory::Space, index);
    return use ? use->kind : Modifier::Unknown;
  }
  /// Number of vector elements: 1, 2, 4 or 8.
  unsigned vectorWidth() const {
    return has(Modifier::V8)   ? 8
           : has(Modifier::V4) ? 4
           : has(Modifier::V2) ? 2
                               : 1;
  }
  /// The m×n×k shape, or null.
  const MatrixShape *shape() const {
    for (const ModifierUse &use : modifiers)
      if (use.kind == Modifier::Shape)
        return &use.shape;
    return nullptr;
  }
  /// True when the opcode or a modifier is unknown.
  bool isOpaque() const {
    return opcode == Opcode::Unknown || has(Modifier::Unknown);
  }
};

//===----------------------------------------------------------------------===//
// Entities
//===----------------------------------------------------------------------===//

enum class EntityKind : uint8_t {
  Register,
  Variable,
  Label,
  Function,
  /// The label of .branchtargets or .calltargets.
  TargetTable,
  /// The label of .callprototype.
  Prototype,
  /// A label in a .section.
  SectionLabel,
  /// Used and never declared; an error was reported.
  Unresolved,
};

/// What a name stands for.
struct Entity {
  EntityKind kind;
  /// Position of the declaration; of the first use when Unresolved.
  Offset loc = 0;
  Name name = Name::None;
  /// Dense, from 0: a register, label or table within its function; a variable
  /// within its function (parameters first) or, at module scope, within the
  /// module; a function within the module.
  uint32_t ordinal = 0;

  Entity(EntityKind kind, Name name, Offset loc)
      : kind(kind), loc(loc), name(name) {}
};

/// A virtual register. One of `.reg .b32 %r<100>` is made on its first use.
struct Register : Entity {
  const RegisterDecl *decl = nullptr;
  /// Number within `<count>`; 0 for a plain declaration.
  uint32_t index = 0;

  Register(Name name, Offset loc) : Entity(EntityKind::Register, name, loc) {}
  static bool classof(const Entity *e) {
    return e->kind == EntityKind::Register;
  }
  inline Modifier getType() const;
  /// 1, 2 or 4.
  inline unsigned getVectorWidth() const;
};

/// How a symbol is seen by other modules.
enum class Linkage : uint8_t { Internal, Visible, Extern, Weak, Common };

/// A variable in some space, or a parameter that is not a register.
struct Variable : Entity {
  const VariableDecl *decl = nullptr;
  /// Number within `<count>`; 0 for a plain declaration.
  uint32_t index = 0;
  /// True for a parameter or return parameter of a function or prototype, as
  /// opposed to a .param variable declared in a body.
  bool isParameter = false;
  /// True for variables declared at module scope.
  bool isGlobalScope = false;

  Variable(Name name, Offset loc) : Entity(EntityKind::Variable, name, loc) {}
  static bool classof(const Entity *e) {
    return e->kind == EntityKind::Variable;
  }
};

/// A label in a body.
struct Label : Entity {
  /// The scope that declares it, and where in its statement list; the statement
  /// there is a LabelStatement.
  const Block *block = nullptr;
  uint32_t position = 0;

  Label(Name name, Offset loc) : Entity(EntityKind::Label, name, loc) {}
  static bool classof(const Entity *e) { return e->kind == EntityKind::Label; }
};

/// A function name with all its declarations.
struct FunctionSymbol : Entity {
  /// The one with a body, or null.
  Function *definition = nullptr;
  /// The first in the text, never null in a parsed module.
  Function *first = nullptr;

  FunctionSymbol(Name name, Offset loc)
      : Entity(EntityKind::Function, name, loc) {}
  static bool classof(const Entity *e) {
    return e->kind == EntityKind::Function;
  }
};

/// The label before .branchtargets or .calltargets.
struct TargetTable : Entity {
  const BranchTargets *statement = nullptr;

  TargetTable(Name name, Offset loc)
      : Entity(EntityKind::TargetTable, name, loc) {}
  static bool classof(const Entity *e) {
    return e->kind == EntityKind::TargetTable;
  }
};

/// The label before .callprototype.
struct Prototype : Entity {
  const CallPrototype *statement = nullptr;

  Prototype(Name name, Offset loc) : Entity(EntityKind::Prototype, name, loc) {}
  static bool classof(const Entity *e) {
    return e->kind == EntityKind::Prototype;
  }
};

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

enum class OperandKind : uint8_t {
  /// A register, perhaps negated (`!%p1`) or with a selector (`%v.x`).
  Register,
  /// An integer constant: 64 bits and a signedness.
  Integer,
  /// `0f` constant: 32 bits.
  Float32,
  /// `0d` or decimal constant: 64 bits.
  Float64,
  /// A special register, perhaps with a component.
  Special,
  /// The address of a variable, a function or a label, plus an offset.
  Symbol,
  /// `[base+offset]` or `[base+offset, more, ...]`: the first element is the
  /// base.
  Address,
  /// `{a, b, ...}`
  Vector,
  /// `(a, b, ...)` of a call.
  List,
  /// `p|q`
  Pair,
  /// `_`
  Sink,
  /// Initialisers and sections only: `first - second`, two Symbols.
  Difference,
  /// Sections only: the name of a section, plus an offset.
  Section,
  /// Initialisers of textures, samplers and surfaces only: `field = value`, a
  /// Word and a Word or an Integer.
  Field,
  /// The name of a field of such an initialiser, or of its value.
  Word,
};

/// Which part of a register an operand means.
struct Selector {
  enum Kind : uint8_t {
    None,
    /// `.x` `.y` `.z` `.w`; `.r` `.g` `.b` `.a` mean the same. One lane.
    Component,
    /// `.b0` ... `.b3`, `.b7654` ...: bytes of 32 or 64 bits.
    Bytes,
    /// `.h0` `.h1` `.h10` `.h32` ...: halfwords.
    Halves,
  };
  Kind kind = None;
  /// Number of lanes, 1 to 4.
  uint8_t count = 0;
  /// Four bits a lane; the lane written first is in the lowest bits.
  uint16_t lanes = 0;

  unsigned lane(unsigned i) const { return (lanes >> (4 * i)) & 0xf; }
  explicit operator bool() const { return kind != None; }
};

/// One operand. Which members mean something follows from the kind.
struct Operand {
  OperandKind kind = OperandKind::Sink;
  /// Register: `!` before it.
  bool isNegated : 1;
  /// Register: `-` before it (vmad).
  bool isMinus : 1;
  /// Integer: the constant is unsigned (`U` suffix, or too large for s64).
  bool isUnsigned : 1;
  /// Symbol: written `generic(symbol)`.
  bool isGeneric : 1;
  /// Integer: written WARP_SZ.
  bool isWarpSize : 1;
  /// Address, Symbol: an offset is written, even if it is 0. Without
  /// optimisation ptxas adds it then. Implied by an offset that is not 0.
  bool hasOffset : 1;
  /// Parser only: the name is looked up at the end of the scope.
  bool isPending : 1;
  /// Initialisers, Symbol: which byte `0xFF00(symbol)` keeps, 1 to 8; 0 for the
  /// whole address.
  uint8_t maskByte = 0;
  Offset loc = 0;
  union {
    Entity *entity;
    /// Address, Vector, List, Pair, Difference, Field.
    Operand *elementData;
    /// Integer, Float32 (low half), Float64.
    uint64_t bits;
    SpecialRegisterUse special;
    /// Section, Word.
    Name name;
  };
  /// Address, Symbol, Section: added to the base, in bytes.
  int64_t offset = 0;
  uint32_t elementCount = 0;
  /// Register and Special.
  Selector selector;

  Operand()
      : isNegated(false), isMinus(false), isUnsigned(false), isGeneric(false),
        isWarpSize(false), hasOffset(false), isPending(false), bits(0) {}

  llvm::MutableArrayRef<Operand> elements() const {
    switch (kind) {
    case OperandKind::Address:
    case OperandKind::Vector:
    case OperandKind::List:
    case OperandKind::Pair:
    case OperandKind::Difference:
    case OperandKind::Field:
      return {elementData, elementCount};
    default:
      return {};
    }
  }
  bool is(OperandKind k) const { return kind == k; }
  /// The register of a Register operand, else null. A name that was never
  /// declared is a Symbol with an Unresolved entity.
  Register *getRegister() const {
    return kind == OperandKind::Register
               ? llvm::cast<Register>(static_cast<Entity *>(entity))
               : nullptr;
  }
  /// The entity of a Symbol operand when it is a \p T, else null.
  template <typename T>
  T *getSymbol() const {
    return kind == OperandKind::Symbol ? llvm::dyn_cast<T>(entity) : nullptr;
  }
  Label *getLabel() const { return getSymbol<Label>(); }
  Variable *getVariable() const { return getSymbol<Variable>(); }
  FunctionSymbol *getFunction() const { return getSymbol<FunctionSymbol>(); }
  /// The base of an Address: a Register, Symbol or Integer operand.
  const Operand &base() const {
    assert(kind == OperandKind::Address && elementCount > 0 &&
           "only an address has a base");
    return elementData[0];
  }
  std::optional<int64_t> getInteger() const {
    if (kind != OperandKind::Integer)
      return std::nullopt;
    return static_cast<int64_t>(bits);
  }
};

static_assert(sizeof(Operand) <= 32, "operands are copied a lot: keep small");

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

enum class StatementKind : uint8_t {
  Instruction,
  LabelStatement,
  Block,
  RegisterDecl,
  VariableDecl,
  Location,
  Pragma,
  BranchTargets,
  CallPrototype,
  // Module scope only.
  Function,
  File,
  Section,
  Alias,
  /// A directive without a kind of its own, kept as words.
  Unknown,
};

/// Anything that stands in a body or at module scope.
struct Statement {
  StatementKind kind;
  Offset loc;

protected:
  Statement(StatementKind kind, Offset loc) : kind(kind), loc(loc) {}
};

/// `@!%p1 mnemonic operands;`
struct Instruction : Statement {
  /// Null without a guard.
  Register *guard = nullptr;
  bool isGuardNegated = false;
  const Mnemonic *mnemonic = nullptr;
  llvm::MutableArrayRef<Operand> operands;

  explicit Instruction(Offset loc)
      : Statement(StatementKind::Instruction, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Instruction;
  }
  Opcode opcode() const { return mnemonic->opcode; }
  bool has(Modifier kind) const { return mnemonic->has(kind); }
};

struct LabelStatement : Statement {
  Label *label;

  LabelStatement(Label *label, Offset loc)
      : Statement(StatementKind::LabelStatement, loc), label(label) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::LabelStatement;
  }
};

/// `{ ... }`: a scope. The body of a function is one.
struct Block : Statement {
  /// Null for the body itself.
  Block *parent = nullptr;
  llvm::MutableArrayRef<Statement *> statements;
  /// Position of the closing brace.
  Offset end = 0;

  explicit Block(Offset loc) : Statement(StatementKind::Block, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Block;
  }
};

/// One name of a `.reg` declaration: `.reg .v4 .f32 %a, %b<10>;` is two.
struct RegisterDecl : Statement {
  Modifier type = Modifier::Unknown;
  /// 1, 2 or 4.
  uint8_t vectorWidth = 1;
  /// `%b` of `%b<10>`.
  Name name = Name::None;
  /// Number of registers of a parameterised declaration.
  std::optional<uint32_t> count;
  /// The registers that are used (all of them for a plain declaration); those
  /// of a parameterised one by first use.
  llvm::ArrayRef<Register *> registers;

  explicit RegisterDecl(Offset loc)
      : Statement(StatementKind::RegisterDecl, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::RegisterDecl;
  }
};

Modifier Register::getType() const { return decl->type; }
unsigned Register::getVectorWidth() const { return decl->vectorWidth; }

/// One name of a variable declaration, or a parameter.
struct VariableDecl : Statement {
  Linkage linkage = Linkage::Internal;
  /// A Space modifier.
  Modifier space = Modifier::Unknown;
  Modifier type = Modifier::Unknown;
  /// 1, 2, 4 or 8.
  uint8_t vectorWidth = 1;
  /// Parameters: `.ptr` given; the space it points into (Unknown for generic)
  /// and `.align` after it (0 for none).
  bool isPointer = false;
  Modifier pointerSpace = Modifier::Unknown;
  uint32_t pointerAlignment = 0;
  /// `.attribute(.managed)`.
  bool isManaged = false;
  /// `.attribute(.unified(high, low))`.
  std::optional<std::pair<uint64_t, uint64_t>> unifiedId;
  /// `.const[bank]`, kept and printed.
  std::optional<uint32_t> bank;
  /// In bytes; 0 when not given.
  uint32_t alignment = 0;
  Name name = Name::None;
  std::optional<uint32_t> count;
  /// The size of each dimension; nullopt-like -1 for `[]`.
  llvm::ArrayRef<int64_t> dimensions;
  /// One entry, more with `<count>`.
  llvm::ArrayRef<Variable *> variables;
  /// Null without one. Braces are Vector operands.
  Operand *initializer = nullptr;

  explicit VariableDecl(Offset loc)
      : Statement(StatementKind::VariableDecl, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::VariableDecl;
  }
  /// Size of one variable in bytes, from type, vector width and dimensions, or
  /// of the initialiser when the first dimension is open; 0 when unknown.
  uint64_t getSize() const;
};

/// `.loc file line column[, function_name label[+offset], inlined_at file line
/// column]`
struct Location : Statement {
  uint32_t file = 0, line = 0, column = 0;
  /// Null when not given.
  Operand *functionName = nullptr;
  struct InlinedAt {
    uint32_t file = 0, line = 0, column = 0;
  };
  std::optional<InlinedAt> inlinedAt;

  explicit Location(Offset loc) : Statement(StatementKind::Location, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Location;
  }
};

/// `.pragma "a", "b";` in a body, at module scope, or of a function.
struct Pragma : Statement {
  /// Without quotes; escapes as written.
  llvm::ArrayRef<llvm::StringRef> strings;

  explicit Pragma(Offset loc) : Statement(StatementKind::Pragma, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Pragma;
  }
};

/// `name: .branchtargets a, b;` or `.calltargets`.
struct BranchTargets : Statement {
  bool isCallTargets = false;
  TargetTable *table = nullptr;
  /// Symbols: labels or functions.
  llvm::MutableArrayRef<Operand> targets;

  explicit BranchTargets(Offset loc)
      : Statement(StatementKind::BranchTargets, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::BranchTargets;
  }
};

/// A parameter of a function or prototype: a Variable in .param space or a
/// Register; `_` in prototypes has no name.
struct Parameter {
  /// VariableDecl or RegisterDecl.
  Statement *decl = nullptr;
  /// Variable or Register.
  Entity *entity = nullptr;
};

/// A performance-tuning or ABI directive of a function.
struct FunctionAttribute {
  enum Kind : uint8_t {
    MaxNReg,
    MaxNTid,
    ReqNTid,
    MinNCtaPerSm,
    /// Deprecated spelling of MinNCtaPerSm.
    MaxNCtaPerSm,
    NoReturn,
    Pragma,
    MaxClusterRank,
    ReqNCtaPerCluster,
    ExplicitCluster,
    BlocksAreClusters,
    AbiPreserve,
    AbiPreserveControl,
    /// `.attribute(.unified(high, low))`
    Unified,
    /// Any other directive with a dot; the spelling is `name`.
    Unknown,
  };
  Kind kind;
  Offset loc = 0;
  /// 0 to 3 numbers.
  llvm::ArrayRef<uint64_t> values;
  /// Pragma.
  llvm::ArrayRef<llvm::StringRef> strings;
  /// Unknown: the spelling without the dot.
  Name name = Name::None;
};

/// `name: .callprototype (ret) _ (params) attributes;`
struct CallPrototype : Statement {
  Prototype *prototype = nullptr;
  llvm::ArrayRef<Parameter> returns;
  llvm::ArrayRef<Parameter> parameters;
  llvm::ArrayRef<FunctionAttribute> attributes;

  explicit CallPrototype(Offset loc)
      : Statement(StatementKind::CallPrototype, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::CallPrototype;
  }
};

/// `.entry` or `.func`, with or without a body.
struct Function : Statement {
  FunctionSymbol *symbol = nullptr;
  bool isEntry = false;
  Linkage linkage = Linkage::Internal;
  llvm::ArrayRef<Parameter> returns;
  llvm::ArrayRef<Parameter> parameters;
  /// False for `.entry name` without parentheses.
  bool hasParameterList = true;
  /// In source order.
  llvm::ArrayRef<FunctionAttribute> attributes;
  /// Null for a declaration.
  Block *body = nullptr;

  /// Number of registers, variables (parameters included), labels and tables:
  /// the ordinals of a function's entities are smaller.
  uint32_t numRegisters = 0, numVariables = 0, numLabels = 0, numTables = 0;
  /// By ordinal.
  llvm::ArrayRef<Register *> registers;
  llvm::ArrayRef<Variable *> variables;
  llvm::ArrayRef<Label *> labels;

  explicit Function(Offset loc) : Statement(StatementKind::Function, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Function;
  }
  /// The first attribute of \p kind, or null.
  const FunctionAttribute *find(FunctionAttribute::Kind kind) const {
    for (const FunctionAttribute &a : attributes)
      if (a.kind == kind)
        return &a;
    return nullptr;
  }
};

/// `.file index "name"[, timestamp, size]`
struct File : Statement {
  uint32_t index = 0;
  /// Without quotes; escapes as written.
  llvm::StringRef fileName;
  std::optional<std::pair<uint64_t, uint64_t>> timeAndSize;

  explicit File(Offset loc) : Statement(StatementKind::File, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::File;
  }
};

/// A label in a section.
struct SectionLabel : Entity {
  SectionLabel(Name name, Offset loc)
      : Entity(EntityKind::SectionLabel, name, loc) {}
  static bool classof(const Entity *e) {
    return e->kind == EntityKind::SectionLabel;
  }
};

/// A label, or a line of data, of a section.
struct SectionItem {
  /// Null for data.
  SectionLabel *label = nullptr;
  /// .b8, .b16, .b32 or .b64.
  Modifier type = Modifier::Unknown;
  /// Integer, Symbol, Difference or Section operands.
  llvm::MutableArrayRef<Operand> values;
};

/// `.section .debug_info { ... }`
struct Section : Statement {
  /// With its leading dot.
  Name name = Name::None;
  llvm::MutableArrayRef<SectionItem> items;

  explicit Section(Offset loc) : Statement(StatementKind::Section, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Section;
  }
};

/// `.alias alias, aliasee;`
struct Alias : Statement {
  FunctionSymbol *alias = nullptr;
  FunctionSymbol *aliasee = nullptr;

  explicit Alias(Offset loc) : Statement(StatementKind::Alias, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Alias;
  }
};

/// A directive that the parser does not know, kept as its words.
struct UnknownDirective : Statement {
  /// The words and punctuation up to the end of the directive.
  llvm::ArrayRef<llvm::StringRef> words;

  explicit UnknownDirective(Offset loc)
      : Statement(StatementKind::Unknown, loc) {}
  static bool classof(const Statement *s) {
    return s->kind == StatementKind::Unknown;
  }
};

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

/// A parsed PTX module; owns every node. Does not refer to the text it was
/// parsed from.
class Module {
public:
  Module();
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// Name of the buffer, for locations.
  llvm::StringRef bufferName;
  /// `.version major.minor`; 0.0 when missing.
  unsigned versionMajor = 0, versionMinor = 0;
  /// `.target sm_90a, debug`: every word of every .target directive, in order.
  llvm::ArrayRef<llvm::StringRef> targets;
  /// `.address_size`; nullopt when not given (then 32).
  std::optional<unsigned> addressSize;
  /// Everything else, in order.
  llvm::ArrayRef<Statement *> statements;

  /// Functions with and without bodies, in order.
  llvm::ArrayRef<Function *> functions;
  /// Variables of module scope, by ordinal.
  llvm::ArrayRef<Variable *> variables;
  unsigned numMnemonics = 0;
  unsigned numFunctionSymbols = 0;

  /// `sm_90a` of `.target sm_90a, debug`; empty without one.
  llvm::StringRef getArch() const;

  /// The function named \p name that has a body, or null.
  Function *lookupFunction(llvm::StringRef name) const;

  llvm::StringRef getText(Name name) const { return names.get(name); }
  llvm::StringRef getText(const Entity *entity) const {
    return names.get(entity->name);
  }

  /// \name Making nodes
  /// @{
  llvm::BumpPtrAllocator arena;
  NameTable names;

  template <typename T, typename... Args>
  T *make(Args &&...args) {
    static_assert(std::is_trivially_destructible_v<T>,
                  "the arena never runs destructors");
    return new (arena.Allocate<T>()) T(std::forward<Args>(args)...);
  }
  template <typename T>
  llvm::MutableArrayRef<T> copy(llvm::ArrayRef<T> list) {
    if (list.empty())
      return {};
    T *data = arena.Allocate<T>(list.size());
    std::uninitialized_copy(list.begin(), list.end(), data);
    return {data, list.size()};
  }
  llvm::StringRef copy(llvm::StringRef text) { return text.copy(arena); }
  /// @}
};

} // namespace d2k::ptx

#endif // D2K_FRONTEND_PTX_AST_H
