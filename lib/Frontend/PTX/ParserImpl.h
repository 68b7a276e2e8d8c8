// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser's state. One class, four files: Parser.cpp (module, functions,
// names), ParseStatements.cpp (bodies, declarations, sections),
// ParseOperands.cpp (mnemonics, operands) and ParseConstants.cpp.
//
// Parse functions return true on failure, as LLVM's assembly parsers do, and
// have reported the error then. Whoever parses a statement recovers.

#ifndef D2K_LIB_FRONTEND_PTX_PARSERIMPL_H
#define D2K_LIB_FRONTEND_PTX_PARSERIMPL_H

#include "Cursor.h"
#include "d2k/Frontend/PTX/Parser.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <deque>

namespace d2k::ptx {

/// `%r<100>`: names resolve to registers that are made on demand.
struct RegisterRange {
  RegisterDecl *decl;
  uint32_t count;
  uint32_t depth;
  /// The range of the same prefix that this one hides, or null.
  RegisterRange *hidden;
  std::vector<Register *> used;
};

/// An operand whose name was not declared when it was read: a label further
/// down, as a rule.
struct PendingName {
  Operand *operand;
  Name name;
};

/// What a scope has to undo and to resolve at its end.
struct Scope {
  struct Hidden {
    Name name;
    Entity *entity;
    uint32_t depth;
  };
  Block *block = nullptr;
  std::vector<Hidden> hidden;
  std::vector<RegisterRange *> ranges;
  std::vector<PendingName> pending;

  void clear() {
    block = nullptr;
    hidden.clear();
    ranges.clear();
    pending.clear();
  }
};

/// A constant while it is folded.
struct Constant {
  enum Kind : uint8_t { Integer, Float32, Float64 };
  Kind kind = Integer;
  bool isUnsigned = false;
  bool isWarpSize = false;
  uint64_t bits = 0;

  double asDouble() const;
  bool isTrue() const;
};

class Parser {
public:
  Parser(llvm::SourceMgr &sourceMgr, llvm::StringRef text,
         DiagnosticHandler handler, const ParseOptions &options,
         Module &module);

  /// Parses the whole text; returns the number of errors.
  unsigned run();

private:
  //===--- Diagnostics ----------------------------------------------------===//

  /// Reports and returns true.
  bool error(const char *position, const llvm::Twine &message);
  bool error(const llvm::Twine &message) {
    return error(cursor.position(), message);
  }
  void remark(const char *position, const llvm::Twine &message);
  /// Passes a message on with its place, and its line unless that is very long.
  void report(llvm::SourceMgr::DiagKind kind, const char *position,
              const llvm::Twine &message);
  /// `expected <what>`, or that the text ended.
  bool expected(const llvm::Twine &what);
  bool expect(char c, const llvm::Twine &what);
  const char *pointerTo(Offset offset) const { return text.begin() + offset; }

  //===--- Module (Parser.cpp) --------------------------------------------===//

  bool parseModuleStatement();
  bool parseVersion();
  bool parseTarget();
  bool parseAddressSize();
  bool parseFunction(Linkage linkage, bool isEntry, const char *start);
  bool parseParameters(char open, char close, bool isPrototype,
                       llvm::SmallVectorImpl<Parameter> &parameters);
  bool parseParameter(bool isPrototype, Parameter &parameter);
  bool
  parseFunctionAttributes(llvm::SmallVectorImpl<FunctionAttribute> &attributes);
  bool parseAttributeValues(llvm::SmallVectorImpl<uint64_t> &values,
                            unsigned maxValues);
  bool parseAlias(const char *start);
  /// Reads `.visible`, `.extern`, ... if \p word is one.
  static bool isLinkage(llvm::StringRef word, Linkage &linkage);
  FunctionSymbol *getFunctionSymbol(Name name, const char *position);
  void finishFunction(Function &function);
  void finishModule();

  /// Skips to the end of the broken statement: past the next `;`, or before a
  /// brace, or, in directives without `;`, before the next line that starts
  /// with a dot. Always moves on.
  void recover();
  void recoverAtModuleScope();

  //===--- Names (Parser.cpp) ---------------------------------------------===//

  uint32_t depth() const { return numScopes; }
  Scope &scope() { return scopes[numScopes]; }
  void pushScope(Block *block);
  void popScope();
  Entity *lookup(Name name);
  /// The register \p name of the deepest range whose depth is at least
  /// \p minDepth, made and bound; or null.
  Entity *lookupInRanges(Name name, uint32_t minDepth);
  /// Binds \p name in scope \p depth; an error when that scope has it already.
  bool declare(Name name, Entity *entity, const char *position);
  void bind(Name name, Entity *entity, uint32_t depth);
  /// What \p name is bound to in exactly the current scope, or null.
  Entity *lookupHere(Name name);
  void growBindings();
  Register *makeRegister(RegisterDecl *decl, Name name, const char *position);
  Variable *makeVariable(VariableDecl *decl, Name name, const char *position);

  //===--- Statements (ParseStatements.cpp) -------------------------------===//

  Block *parseBlock(Block *parent);
  bool parseStatement();
  bool parseInstruction(const char *start);
  bool parseLabelled(Name name, const char *start);
  bool parseBodyDirective(const char *start);
  bool parseRegisterDecl(const char *start);
  bool parseVariableDecl(const char *start, llvm::StringRef firstWord,
                         Linkage linkage);
  bool parseDeclarator(VariableDecl &decl);
  bool parseVariableAttribute(VariableDecl &decl);
  bool parseInitializer(Operand &operand, Modifier type, unsigned level);
  bool parseInitializerField(Operand &operand);
  bool parseLocation(const char *start);
  bool parsePragma(const char *start);
  bool parsePragmaStrings(llvm::ArrayRef<llvm::StringRef> &strings);
  bool parseFile(const char *start);
  bool parseSection(const char *start);
  bool parseSectionValue(Operand &operand);
  /// `@@dwarf ...`, debug data of versions before 2.0: one line, kept whole.
  bool parseDwarfLine(const char *start);
  bool parseUnknownDirective(llvm::StringRef word, const char *start);
  bool parseTargets(Name name, bool isCallTargets, const char *start);
  bool parsePrototype(Name name, const char *start);
  void addStatement(Statement *statement) { statements.push_back(statement); }

  //===--- Operands (ParseOperands.cpp) -----------------------------------===//

  const Mnemonic *parseMnemonic();
  const Mnemonic *makeMnemonic(llvm::StringRef text, Name name,
                               const char *position);
  bool parseOperand(Operand &operand);
  bool parseIdentifierOperand(Operand &operand);
  /// Reads what follows a register, vector or sink: `|q`, or nothing.
  bool parsePair(Operand &operand);
  bool parseAddress(Operand &operand);
  bool parseElements(Operand &operand, OperandKind kind, char close);
  bool parseSelector(Operand &operand);
  bool parseOffset(Operand &operand);
  bool parseConstantOperand(Operand &operand);
  bool parseName(Name &name, const llvm::Twine &what);
  /// Notes the pending names in \p operands, which must not move any more.
  void notePending(llvm::MutableArrayRef<Operand> operands);
  void resolveOperand(Operand &operand, Entity *entity);

  //===--- Constants (ParseConstants.cpp) ---------------------------------===//

  bool parseConstant(Constant &constant, unsigned level = 0);
  bool parseBinary(Constant &constant, unsigned minPrecedence, unsigned level);
  bool parseUnary(Constant &constant, unsigned level);
  bool parsePrimary(Constant &constant, unsigned level);
  bool parseNumber(Constant &constant);
  bool parseUnsigned(uint64_t &value, const llvm::Twine &what);
  bool parseUnsigned(uint32_t &value, const llvm::Twine &what);

  llvm::SourceMgr &sourceMgr;
  llvm::StringRef text;
  DiagnosticHandler handler;
  const ParseOptions &options;
  Module &module;
  Cursor cursor;
  unsigned numErrors = 0, numRemarks = 0;

  /// scopes[0] is the module, scopes[1] a function's parameters, scopes[2] its
  /// body. Reused, so that their vectors keep their capacity.
  std::deque<Scope> scopes;
  uint32_t numScopes = 0;
  struct Binding {
    Entity *entity = nullptr;
    /// Scope that binds it.
    uint32_t depth = 0;
  };
  /// By name. Grown lazily to the number of names.
  std::vector<Binding> bindings;
  std::vector<RegisterRange *> ranges;
  std::vector<const Mnemonic *> mnemonics;
  std::deque<RegisterRange> rangeStorage;
  /// Ranges declared in a scope inside a body: they may hide a register of an
  /// outer range that is bound already.
  unsigned numNestedRanges = 0;

  /// Statements of all open blocks, one behind the other.
  llvm::SmallVector<Statement *, 0> statements;
  /// Where the innermost open block starts in it.
  size_t blockStart = 0;
  /// The list that operands of one instruction are collected in.
  llvm::SmallVector<Operand, 16> operandStack;
  bool sawPending = false;
  /// Whether a parenthesis opens a list (call) or a constant expression.
  bool isCall = false;
  /// The target of a branch may be a label further down that hides a name.
  bool isBranch = false;
  unsigned operandDepth = 0;

  Function *function = nullptr;
  llvm::SmallVector<Register *, 0> registers;
  llvm::SmallVector<Variable *, 0> variables;
  llvm::SmallVector<Label *, 0> labels;
  uint32_t numTables = 0;
  llvm::SmallVector<Variable *, 0> globals;
  llvm::SmallVector<Function *, 0> functions;
  /// Labels and variables of all bodies and labels of sections, for sections
  /// and .loc; the first of a name wins.
  llvm::DenseMap<Name, Entity *> localNames;
  llvm::SmallVector<llvm::StringRef, 4> targets;
};

} // namespace d2k::ptx

#endif // D2K_LIB_FRONTEND_PTX_PARSERIMPL_H
