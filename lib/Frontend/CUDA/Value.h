// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values and storage of the host interpreter.
//
// A Value is what an expression gives: an integer, a real, a pointer into host
// storage, a device address, a function, a handle of a CUDA object, a record,
// or unknown with the reason. A Cell is storage: a scalar holds a Value, a
// record or array holds cells. Writes go through Storage, which keeps an undo
// log, so that both branches of a condition that is not known can be run from
// the same state and joined.

#ifndef D2K_LIB_FRONTEND_CUDA_VALUE_H
#define D2K_LIB_FRONTEND_CUDA_VALUE_H

#include "d2k/Frontend/CUDA/HostTrace.h"

#include "clang/AST/Type.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace clang {
class FieldDecl;
class FunctionDecl;
class ASTContext;
} // namespace clang

namespace d2k::cuda {

class Cell;

/// Kinds of objects that the CUDA runtime and its libraries hand out.
enum class HandleKind : uint8_t {
  Stream,
  Event,
  Graph,
  GraphExec,
  Module,
  Other
};

/// What an expression evaluates to.
struct Value {
  enum class Kind : uint8_t {
    Unknown,
    Integer,
    Real,
    /// Into host storage; null when there is no cell.
    Pointer,
    /// An address in device memory.
    Device,
    /// A function of the program, or one of an API that was looked up by name.
    Function,
    Handle,
    /// A class object by value; `cell` is a temporary that nothing else names.
    Record,
    /// Contents of a CUtensorMap.
    TensorMap,
  };

  Kind kind = Kind::Unknown;
  Origins origins;
  /// Integer; Handle: its number; Device: the buffer; TensorMap: the index.
  int64_t integer = 0;
  double real = 0;
  /// Pointer: the object, moved by `offset` elements in the array around it.
  Cell *cell = nullptr;
  int64_t offset = 0;
  /// Device: byte offset in the buffer, when known.
  std::optional<int64_t> byteOffset;
  const clang::FunctionDecl *function = nullptr;
  /// Function of an API without declaration; Unknown: the reason.
  const std::string *text = nullptr;
  HandleKind handle = HandleKind::Other;

  bool isUnknown() const { return kind == Kind::Unknown; }
  bool isInteger() const { return kind == Kind::Integer; }
  bool isNull() const { return kind == Kind::Pointer && !cell; }

  static Value makeInteger(int64_t value, Origins origins = {}) {
    Value result;
    result.kind = Kind::Integer;
    result.integer = value;
    result.origins = origins;
    return result;
  }
  static Value makeReal(double value, Origins origins = {}) {
    Value result;
    result.kind = Kind::Real;
    result.real = value;
    result.origins = origins;
    return result;
  }
  static Value makePointer(Cell *cell, int64_t offset = 0) {
    Value result;
    result.kind = Kind::Pointer;
    result.cell = cell;
    result.offset = offset;
    return result;
  }
  static Value makeDevice(size_t buffer, std::optional<int64_t> offset) {
    Value result;
    result.kind = Kind::Device;
    result.integer = int64_t(buffer);
    result.byteOffset = offset;
    return result;
  }
  static Value makeFunction(const clang::FunctionDecl *function) {
    Value result;
    result.kind = Kind::Function;
    result.function = function;
    return result;
  }
  static Value makeHandle(HandleKind kind, int64_t number) {
    Value result;
    result.kind = Kind::Handle;
    result.handle = kind;
    result.integer = number;
    return result;
  }
  static Value makeRecord(Cell *cell) {
    Value result;
    result.kind = Kind::Record;
    result.cell = cell;
    return result;
  }
};

/// The low 64 bits of a constant, as values of all integer types are kept:
/// 0xffffffffffffffff is -1.
inline int64_t getBits(const llvm::APSInt &constant) {
  return constant.extOrTrunc(64).APInt::getSExtValue();
}

/// Whether \p a and \p b are the same value; unknown values never are.
bool isSameValue(const Value &a, const Value &b);

/// Storage of one object or of a part of one.
class Cell {
public:
  /// Null for memory whose type is not known yet (malloc).
  clang::QualType type;
  Cell *parent = nullptr;
  /// Position among the parent's children.
  unsigned index = 0;
  /// Elements of an array; bases, then fields, of a record.
  std::vector<Cell *> children;
  bool isArray = false;
  bool isRecord = false;
  /// Its parts are not modelled (too large, virtual bases): reads are unknown.
  bool isOpaque = false;
  /// A pointer to it is known to code that is not followed.
  bool isEscaped = false;
  /// Cells are numbered in the order in which they are made.
  size_t number = 0;
  /// Bits of a bit-field; 0 for other objects.
  unsigned fieldBits = 0;
  /// Bytes of memory without a type.
  std::optional<int64_t> rawBytes;
  /// The contents of a scalar; for a CUtensorMap what it describes.
  Value value;

  bool isScalar() const { return !isArray && !isRecord && !isOpaque; }
  Cell *getRoot() {
    Cell *cell = this;
    while (cell->parent)
      cell = cell->parent;
    return cell;
  }
};

/// What a stretch of execution wrote.
using Changes = std::vector<std::pair<Cell *, Value>>;

/// Makes cells and writes them with an undo log.
class Storage {
public:
  explicit Storage(const clang::ASTContext &context) : context(&context) {}

  /// Types are those of \p unit from now on.
  void enter(const clang::ASTContext &unit) { context = &unit; }

  /// New storage of \p type with unknown contents.
  Cell *make(clang::QualType type);
  /// New untyped storage.
  Cell *makeRaw(std::optional<int64_t> bytes);
  /// Gives untyped storage the type of an array of \p element.
  void giveType(Cell *cell, clang::QualType element);

  void write(Cell *cell, Value value);
  /// Copies the contents of \p from, part by part.
  void copy(Cell *to, Cell *from);
  /// Sets all scalars of \p cell to \p value; with zero, each to the zero of
  /// its type.
  void fill(Cell *cell, const Value &value);
  void fillZero(Cell *cell);

  /// The cell of \p field in the record \p record; null when it has none.
  Cell *getField(Cell *record, const clang::FieldDecl *field);
  /// The object that the pointer points to; null when out of bounds.
  Cell *getTarget(const Value &pointer);

  /// Number that the next cell gets.
  size_t getNextNumber() const { return cells.size(); }

  /// A point in the undo log.
  size_t mark() const { return log.size(); }
  /// Undoes everything since \p mark and returns what had been written.
  Changes rollBack(size_t mark);
  /// The values that cells written since \p mark have now.
  Changes getChanges(size_t mark) const;
  /// The values that cells written since \p mark had at the mark.
  Changes getOldValues(size_t mark) const;
  /// Makes what was written since \p mark permanent: an initialiser that ran at
  /// its first use, inside of a branch, is not part of the branch.
  void keep(size_t mark) { log.resize(mark); }
  /// Where \p changes differ from what is there, the contents become unknown
  /// for \p reason, unless they agree.
  void join(const Changes &changes, const std::string *reason, Origins origins);

  /// Everything that escaped becomes unknown.
  void havocEscaped(const std::string *reason);
  /// \p value and all that it points to is known outside from now on.
  void escape(const Value &value);
  /// Only what the object that \p value is, or points to, points to.
  void escapeTargets(const Value &value);

  /// Numbers of the device buffers that escaped.
  const std::set<int64_t> &getEscapedBuffers() const { return escapedBuffers; }

  const std::string *intern(std::string text);
  Value makeUnknown(std::string reason, Origins origins = {});

private:
  void build(Cell *cell, unsigned depth);

  const clang::ASTContext *context;
  std::deque<Cell> cells;
  std::deque<std::string> strings;
  std::vector<Cell *> escaped;
  std::set<int64_t> escapedBuffers;
  std::vector<std::pair<Cell *, Value>> log;
};

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_VALUE_H
