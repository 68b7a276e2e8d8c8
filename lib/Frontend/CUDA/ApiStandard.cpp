// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the C and C++ libraries that have no body in headers and that
// launch paths use: memory, mathematics, output, exit.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"

#include <cmath>

using namespace d2k;
using namespace d2k::cuda;

static Value allocateHost(Interpreter &interpreter, const Value &size) {
  Cell *cell = interpreter.storage.makeRaw(size.isInteger() && size.integer >= 0
                                               ? std::optional(size.integer)
                                               : std::nullopt);
  return Value::makePointer(cell);
}

/// The largest object that starts where \p pointer points and has at most
/// \p bytes bytes.
static Cell *findObject(Interpreter &interpreter, const Value &pointer,
                        const Value &bytes) {
  Cell *cell = interpreter.storage.getTarget(pointer);
  if (!cell || !bytes.isInteger() || cell->type.isNull())
    return nullptr;
  auto size = [&](Cell *part) {
    return interpreter.getContext()
        .getTypeSizeInChars(part->type)
        .getQuantity();
  };
  // A pointer to the first element stands for the array.
  while (cell->parent && cell->index == 0 && !cell->parent->type.isNull() &&
         size(cell->parent) <= bytes.integer)
    cell = cell->parent;
  return size(cell) == bytes.integer ? cell : nullptr;
}

/// Copies \p bytes bytes, whole elements of arrays of the same type. False when
/// they are something else.
static bool copyElements(Interpreter &interpreter, const Value &to,
                         const Value &from, const Value &bytes) {
  Storage &storage = interpreter.storage;
  Cell *target = storage.getTarget(to), *source = storage.getTarget(from);
  if (!source || !bytes.isInteger() || source->type.isNull() ||
      !source->parent || !source->parent->isArray)
    return false;
  // Memory that nothing was written to becomes an array of what is copied.
  if (target && target->type.isNull()) {
    storage.giveType(target, source->type);
    target = target->isArray && !target->children.empty()
                 ? target->children.front()
                 : nullptr;
  }
  if (!target || !target->parent || !target->parent->isArray ||
      !interpreter.getContext().hasSameUnqualifiedType(target->type,
                                                       source->type))
    return false;
  int64_t size =
      interpreter.getContext().getTypeSizeInChars(source->type).getQuantity();
  if (size <= 0 || bytes.integer < 0 || bytes.integer % size)
    return false;
  uint64_t count = uint64_t(bytes.integer / size);
  const auto &into = target->parent->children, &out = source->parent->children;
  if (target->index + count > into.size() || source->index + count > out.size())
    return false;
  // The ranges of memmove may overlap.
  bool isAscending =
      target->parent != source->parent || target->index < source->index;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = isAscending ? i : count - 1 - i;
    storage.copy(into[target->index + at], out[source->index + at]);
  }
  return true;
}

static std::optional<double> toReal(const Value &value) {
  if (value.kind == Value::Kind::Real)
    return value.real;
  if (value.isInteger())
    return double(value.integer);
  return std::nullopt;
}

std::optional<Value> d2k::cuda::callStandard(Interpreter &interpreter,
                                             const CallSite &call) {
  llvm::StringRef name = call.name;
  auto argument = [&](unsigned i) { return interpreter.getArgument(call, i); };
  if (name.consume_front("__builtin_")) {
    // Hints give what they get.
    for (const char *hint :
         {"expect", "expect_with_probability", "launder", "assume_aligned"})
      if (name == hint)
        return argument(0);
    if (name == "is_constant_evaluated")
      return Value::makeInteger(0);
  }
  // Clang knows these by name and makes no bodies of them. They give the
  // address of what they get, as a reference is one here.
  if (call.arguments.size() == 1 && !call.self &&
      llvm::StringRef(call.qualifiedName).starts_with("std::"))
    for (const char *same :
         {"move", "forward", "move_if_noexcept", "forward_like", "as_const",
          "addressof", "__addressof"})
      if (name == same)
        return call.arguments[0];
  if (name == "malloc" || name == "operator new" || name == "operator new[]" ||
      name == "operator_new" || name == "aligned_alloc") {
    if (call.callee && call.callee->hasBody())
      return std::nullopt;
    return allocateHost(interpreter, argument(name == "aligned_alloc"));
  }
  if (name == "free" || name == "operator delete" ||
      name == "operator delete[]" || name == "operator_delete")
    return Value();
  if (name == "memset") {
    Value byte = argument(1), size = argument(2);
    if (Cell *object = findObject(interpreter, argument(0), size)) {
      if (byte.isInteger() && byte.integer == 0)
        interpreter.storage.fillZero(object);
      else
        interpreter.storage.fill(
            object, interpreter.makeUnknown("bytes set by memset"));
    } else if (Cell *cell = interpreter.storage.getTarget(argument(0))) {
      interpreter.storage.fill(cell->getRoot(),
                               interpreter.makeUnknown("bytes set by memset"));
    }
    return argument(0);
  }
  if (name == "memcpy" || name == "memmove") {
    Value size = argument(2);
    Cell *to = findObject(interpreter, argument(0), size);
    Cell *from = findObject(interpreter, argument(1), size);
    if (to && from &&
        interpreter.getContext().hasSameUnqualifiedType(to->type, from->type))
      interpreter.storage.copy(to, from);
    else if (!copyElements(interpreter, argument(0), argument(1), size))
      if (Cell *cell = interpreter.storage.getTarget(argument(0)))
        interpreter.storage.fill(
            cell->parent && cell->parent->isArray ? cell->parent : cell,
            interpreter.makeUnknown("bytes copied by memcpy"));
    return argument(0);
  }
  // These say something, or end the program; they touch nothing.
  for (const char *quiet :
       {"printf", "fprintf", "puts", "fputs", "putchar", "perror", "fflush",
        "exit", "abort", "_exit", "__assert_fail", "terminate"})
    if (name == quiet)
      return Value::makeInteger(0);
  if (name == "getenv" || name == "secure_getenv")
    return interpreter.makeUnknown("an environment variable");

  // Not one of the author's own that is called the same.
  bool isLibrary = !call.callee || !call.callee->hasBody() ||
                   call.callee->isInStdNamespace();
  if (call.arguments.size() == 1) {
    static const llvm::StringMap<double (*)(double)> kFunctions = {
        {"ceil", std::ceil},
        {"ceilf", std::ceil},
        {"floor", std::floor},
        {"floorf", std::floor},
        {"sqrt", std::sqrt},
        {"sqrtf", std::sqrt},
        {"log2", std::log2},
        {"log2f", std::log2},
        {"log", std::log},
        {"logf", std::log},
        {"exp", std::exp},
        {"expf", std::exp},
        {"fabs", std::fabs},
        {"fabsf", std::fabs},
        {"round", std::round},
        {"roundf", std::round},
        {"trunc", std::trunc},
        {"truncf", std::trunc},
        {"exp2", std::exp2},
        {"exp2f", std::exp2},
        {"rint", std::rint},
        {"rintf", std::rint},
        {"nearbyint", std::nearbyint},
        {"nearbyintf", std::nearbyint}};
    if (auto found = kFunctions.find(name);
        found != kFunctions.end() && isLibrary) {
      Value operand = argument(0);
      if (std::optional<double> real = toReal(operand))
        return Value::makeReal(found->second(*real), operand.origins);
      return operand;
    }
  }
  if (call.arguments.size() == 2 && (name == "pow" || name == "powf") &&
      isLibrary) {
    Value a = argument(0), b = argument(1);
    std::optional<double> x = toReal(a), y = toReal(b);
    if (x && y)
      return Value::makeReal(std::pow(*x, *y), a.origins | b.origins);
    return a.isUnknown() ? a : b;
  }
  return std::nullopt;
}
