// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Value.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace d2k::cuda;

/// Arrays of more elements are not modelled one by one: they hold data.
static constexpr uint64_t kMaxElements = 1 << 10;
/// Cells of one object.
static constexpr unsigned kMaxDepth = 32;

bool d2k::cuda::isSameValue(const Value &a, const Value &b) {
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case Value::Kind::Unknown:
  case Value::Kind::Record:
    return false;
  case Value::Kind::Integer:
  case Value::Kind::TensorMap:
    return a.integer == b.integer;
  case Value::Kind::Real:
    return a.real == b.real;
  case Value::Kind::Pointer:
    return a.cell == b.cell && a.offset == b.offset;
  case Value::Kind::Device:
    return a.integer == b.integer && a.byteOffset == b.byteOffset &&
           a.byteOffset.has_value();
  case Value::Kind::Function:
    return a.function == b.function && a.text == b.text;
  case Value::Kind::Handle:
    return a.handle == b.handle && a.integer == b.integer;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Making storage
//===----------------------------------------------------------------------===//

/// The type of the object in a buffer of bytes that nodes of libstdc++'s
/// containers hold it in; null for other records.
static clang::QualType getHeldType(const clang::CXXRecordDecl *record) {
  const auto *buffer =
      llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(record);
  if (!buffer || (buffer->getName() != "__aligned_membuf" &&
                  buffer->getName() != "__aligned_buffer"))
    return {};
  const clang::TemplateArgumentList &arguments = buffer->getTemplateArgs();
  if (arguments.size() != 1 ||
      arguments[0].getKind() != clang::TemplateArgument::Type)
    return {};
  return arguments[0].getAsType();
}

void Storage::build(Cell *cell, unsigned depth) {
  clang::QualType type = cell->type.getCanonicalType();
  if (depth > kMaxDepth) {
    cell->isOpaque = true;
    return;
  }
  auto addChild = [&](clang::QualType childType) {
    Cell &child = cells.emplace_back();
    child.number = cells.size() - 1;
    child.type = childType;
    child.parent = cell;
    child.index = cell->children.size();
    cell->children.push_back(&child);
    build(&child, depth + 1);
  };
  if (const auto *array =
          llvm::dyn_cast<clang::ConstantArrayType>(type.getTypePtr())) {
    uint64_t size = array->getSize().getLimitedValue(kMaxElements + 1);
    if (size > kMaxElements) {
      cell->isOpaque = true;
      return;
    }
    cell->isArray = true;
    for (uint64_t i = 0; i < size; ++i)
      addChild(array->getElementType());
    return;
  }
  if (type->isArrayType()) {
    cell->isOpaque = true;
    return;
  }
  if (const auto *record = type->getAsRecordDecl()) {
    record = record->getDefinition();
    const auto *cxx = llvm::dyn_cast_or_null<clang::CXXRecordDecl>(record);
    if (!record || record->isInvalidDecl() || (cxx && cxx->getNumVBases())) {
      cell->isOpaque = true;
      return;
    }
    cell->isRecord = true;
    if (cxx)
      for (const clang::CXXBaseSpecifier &base : cxx->bases())
        addChild(base.getType());
    // Members of a union get storage of their own: reading another member than
    // the one written is undefined and gives unknown here.
    clang::QualType held = getHeldType(cxx);
    for (const clang::FieldDecl *field : record->fields()) {
      addChild(held.isNull() ? field->getType() : held);
      if (field->isBitField() && !field->getBitWidth()->isValueDependent())
        cell->children.back()->fieldBits = field->getBitWidthValue();
    }
  }
}

Cell *Storage::make(clang::QualType type) {
  Cell &cell = cells.emplace_back();
  cell.number = cells.size() - 1;
  cell.type = type.getNonReferenceType();
  build(&cell, 0);
  return &cell;
}

Cell *Storage::makeRaw(std::optional<int64_t> bytes) {
  Cell &cell = cells.emplace_back();
  cell.number = cells.size() - 1;
  cell.rawBytes = bytes;
  cell.isOpaque = true;
  return &cell;
}

void Storage::giveType(Cell *cell, clang::QualType element) {
  if (!cell->type.isNull() || element.isNull() || element->isVoidType() ||
      element->isIncompleteType() || element->isDependentType() ||
      element->isFunctionType() || !cell->rawBytes)
    return;
  int64_t size = context->getTypeSizeInChars(element).getQuantity();
  if (size <= 0)
    return;
  llvm::APInt count(64, uint64_t(*cell->rawBytes / size));
  cell->type = context->getConstantArrayType(
      element, count, nullptr, clang::ArraySizeModifier::Normal, 0);
  cell->isOpaque = false;
  build(cell, 0);
}

/// Whether both declare one class, perhaps in different units: these have a
/// declaration each of what a header defines.
static bool isSameRecord(const clang::RecordDecl *a,
                         const clang::RecordDecl *b) {
  if (&a->getASTContext() == &b->getASTContext())
    return a->getCanonicalDecl() == b->getCanonicalDecl();
  return a->isExternallyVisible() && b->isExternallyVisible() &&
         a->getQualifiedNameAsString() == b->getQualifiedNameAsString() &&
         llvm::range_size(a->fields()) == llvm::range_size(b->fields());
}

Cell *Storage::getField(Cell *record, const clang::FieldDecl *field) {
  if (!record->isRecord)
    return nullptr;
  const auto *declared = record->type.getCanonicalType()->getAsRecordDecl();
  if (!declared)
    return nullptr;
  declared = declared->getDefinition();
  unsigned bases = 0;
  if (const auto *cxx = llvm::dyn_cast<clang::CXXRecordDecl>(declared))
    bases = cxx->getNumBases();
  if (isSameRecord(field->getParent(), declared)) {
    unsigned index = bases + field->getFieldIndex();
    return index < record->children.size() ? record->children[index] : nullptr;
  }
  for (unsigned i = 0; i < bases; ++i)
    if (Cell *found = getField(record->children[i], field))
      return found;
  return nullptr;
}

Cell *Storage::getTarget(const Value &pointer) {
  if (pointer.kind != Value::Kind::Pointer || !pointer.cell)
    return nullptr;
  if (pointer.offset == 0)
    return pointer.cell;
  Cell *parent = pointer.cell->parent;
  if (!parent || !parent->isArray)
    return nullptr;
  int64_t index = int64_t(pointer.cell->index) + pointer.offset;
  if (index < 0 || index >= int64_t(parent->children.size()))
    return nullptr;
  return parent->children[index];
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// The value of an integer kept in `bits` bits.
static int64_t truncate(int64_t value, unsigned bits, bool isSigned) {
  if (bits >= 64)
    return value;
  uint64_t low = uint64_t(value) & ((uint64_t(1) << bits) - 1);
  if (isSigned && (low >> (bits - 1)) & 1)
    low |= ~uint64_t(0) << bits;
  return int64_t(low);
}

void Storage::write(Cell *cell, Value value) {
  log.emplace_back(cell, cell->value);
  if (cell->fieldBits && value.isInteger())
    value.integer = truncate(value.integer, cell->fieldBits,
                             cell->type->isSignedIntegerOrEnumerationType());
  cell->value = value;
}

void Storage::copy(Cell *to, Cell *from) {
  if (to == from)
    return;
  bool matches = to->isScalar() == from->isScalar() &&
                 to->children.size() == from->children.size();
  if (!matches || from->isOpaque || to->isOpaque) {
    fill(to, makeUnknown("a copy between objects of different types"));
    return;
  }
  write(to, from->value);
  for (size_t i = 0; i < to->children.size(); ++i)
    copy(to->children[i], from->children[i]);
}

void Storage::fill(Cell *cell, const Value &value) {
  write(cell, value);
  for (Cell *child : cell->children)
    fill(child, value);
}

void Storage::fillZero(Cell *cell) {
  if (cell->isScalar()) {
    clang::QualType type = cell->type.getCanonicalType();
    if (type->isRealFloatingType())
      write(cell, Value::makeReal(0));
    else if (type->isAnyPointerType() || type->isNullPtrType() ||
             type->isBlockPointerType())
      write(cell, Value::makePointer(nullptr));
    else if (type->isIntegralOrEnumerationType())
      write(cell, Value::makeInteger(0));
    else
      write(cell, makeUnknown("a value of type " + type.getAsString()));
    return;
  }
  write(cell, Value());
  for (Cell *child : cell->children)
    fillZero(child);
}

Changes Storage::getChanges(size_t mark) const {
  llvm::SmallPtrSet<Cell *, 32> seen;
  Changes result;
  for (size_t i = mark; i < log.size(); ++i)
    if (seen.insert(log[i].first).second)
      result.emplace_back(log[i].first, log[i].first->value);
  return result;
}

Changes Storage::getOldValues(size_t mark) const {
  llvm::SmallPtrSet<Cell *, 32> seen;
  Changes result;
  for (size_t i = mark; i < log.size(); ++i)
    if (seen.insert(log[i].first).second)
      result.push_back(log[i]);
  return result;
}

Changes Storage::rollBack(size_t mark) {
  Changes result = getChanges(mark);
  while (log.size() > mark) {
    log.back().first->value = log.back().second;
    log.pop_back();
  }
  return result;
}

void Storage::join(const Changes &changes, const std::string *reason,
                   Origins origins) {
  for (const auto &[cell, value] : changes) {
    if (isSameValue(cell->value, value))
      continue;
    // Records have no value of their own, unless they are tensor maps.
    if (!cell->isScalar() && cell->value.isUnknown() && value.isUnknown())
      continue;
    Value unknown;
    unknown.text = reason;
    unknown.origins = cell->value.origins | value.origins | origins;
    write(cell, unknown);
  }
}

void Storage::havocEscaped(const std::string *reason) {
  Value unknown;
  unknown.text = reason;
  for (size_t i = 0; i < escaped.size(); ++i)
    fill(escaped[i], unknown);
}

void Storage::escape(const Value &value) {
  if (value.kind == Value::Kind::Device)
    escapedBuffers.insert(value.integer);
  if (value.kind != Value::Kind::Pointer && value.kind != Value::Kind::Record)
    return;
  if (!value.cell)
    return;
  Cell *root = value.cell->getRoot();
  if (root->isEscaped)
    return;
  root->isEscaped = true;
  escaped.push_back(root);
  escapeTargets(Value::makePointer(root));
}

void Storage::escapeTargets(const Value &value) {
  if (value.kind != Value::Kind::Pointer && value.kind != Value::Kind::Record)
    return;
  // A pointer to a part reaches all of the object.
  std::vector<Cell *> work;
  if (value.cell)
    work.push_back(value.cell->getRoot());
  while (!work.empty()) {
    Cell *cell = work.back();
    work.pop_back();
    if (cell->isScalar())
      escape(cell->value);
    work.insert(work.end(), cell->children.begin(), cell->children.end());
  }
}

const std::string *Storage::intern(std::string text) {
  return &strings.emplace_back(std::move(text));
}

Value Storage::makeUnknown(std::string reason, Origins origins) {
  Value result;
  result.text = intern(std::move(reason));
  result.origins = origins;
  return result;
}
