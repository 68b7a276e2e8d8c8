// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the host interpreter starts, and the services that the models of API
// functions use.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Mangle.h"
#include "clang/AST/RecordLayout.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "llvm/Demangle/Demangle.h"

using namespace d2k;
using namespace d2k::cuda;

/// Ranks of a communication task.
static constexpr unsigned kMaxRanks = 8;

Interpreter::Interpreter(clang::ASTContext &context, const Machine &machine,
                         const LinkedUnits *linked)
    : machine(machine), storage(context), context(&context), linked(linked) {}

void Interpreter::markIncomplete(std::string reason) {
  trace.complete = false;
  for (const std::string &known : trace.incompleteBecause)
    if (known == reason)
      return;
  trace.incompleteBecause.push_back(std::move(reason));
}

void Interpreter::assume(std::string what) {
  for (const std::string &known : trace.assumptions)
    if (known == what)
      return;
  trace.assumptions.push_back(std::move(what));
}

//===----------------------------------------------------------------------===//
// Describing
//===----------------------------------------------------------------------===//

SourceLocation Interpreter::getPlace(clang::SourceLocation location) {
  return findPlace(getContext().getSourceManager(), location);
}

SourceLocation cuda::findPlace(const clang::SourceManager &manager,
                               clang::SourceLocation location) {
  SourceLocation result;
  result.kind = LocationKind::Source;
  clang::PresumedLoc presumed =
      manager.getPresumedLoc(manager.getExpansionLoc(location));
  if (presumed.isInvalid())
    return result;
  result.file = presumed.getFilename();
  result.line = presumed.getLine();
  result.column = presumed.getColumn();
  return result;
}

std::string Interpreter::describe(const clang::Expr *expr) {
  if (!expr)
    return "an expression";
  const clang::SourceManager &manager = getContext().getSourceManager();
  clang::CharSourceRange range =
      clang::CharSourceRange::getTokenRange(expr->getSourceRange());
  std::string text = clang::Lexer::getSourceText(
                         clang::Lexer::makeFileCharRange(
                             range, manager, getContext().getLangOpts()),
                         manager, getContext().getLangOpts())
                         .str();
  // One line, and not too long for a sentence.
  std::string words;
  for (char c : text)
    if (!llvm::isSpace(c))
      words += c;
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  if (words.size() > 60)
    words = words.substr(0, 57) + "...";
  SourceLocation place = getPlace(expr->getBeginLoc());
  std::string file = place.file.substr(place.file.find_last_of('/') + 1);
  if (words.empty())
    words = "an expression";
  return words + " at " + file + ":" + std::to_string(place.line);
}

//===----------------------------------------------------------------------===//
// Arguments of models
//===----------------------------------------------------------------------===//

Value Interpreter::getArgument(const CallSite &call, unsigned i) {
  if (i >= call.arguments.size())
    return makeUnknown("a missing argument of " + call.qualifiedName);
  if (i < call.types.size() && !call.types[i].isNull() &&
      call.types[i]->isReferenceType())
    return load(call.arguments[i], call.types[i]);
  return call.arguments[i];
}

void Interpreter::setOutput(const CallSite &call, unsigned i,
                            const Value &value) {
  if (i >= call.arguments.size())
    return;
  // A pointer to the result, or a reference to it.
  store(call.arguments[i], value);
}

Cell *Interpreter::getRecord(const CallSite &call, unsigned i) {
  if (i >= call.arguments.size())
    return nullptr;
  const Value &value = call.arguments[i];
  if (value.kind == Value::Kind::Record)
    return value.cell;
  Cell *cell = storage.getTarget(value);
  return cell && cell->isRecord ? cell : nullptr;
}

Cell *Interpreter::findField(Cell *record, llvm::StringRef name) {
  if (!record || !record->isRecord)
    return nullptr;
  const clang::RecordDecl *decl = record->type->getAsRecordDecl();
  if (!decl || !decl->getDefinition())
    return nullptr;
  for (const clang::FieldDecl *field : decl->getDefinition()->fields()) {
    if (field->getName() == name)
      return storage.getField(record, field);
    // Members of an unnamed union or structure.
    if (field->isAnonymousStructOrUnion())
      if (Cell *found = findField(storage.getField(record, field), name))
        return found;
  }
  if (const auto *cxx =
          llvm::dyn_cast<clang::CXXRecordDecl>(decl->getDefinition()))
    for (unsigned i = 0; i < cxx->getNumBases(); ++i)
      if (Cell *found = findField(record->children[i], name))
        return found;
  return nullptr;
}

Quantity Interpreter::toQuantity(const Value &value) {
  Quantity result;
  result.origins = value.origins;
  if (value.isInteger())
    result.value = value.integer;
  else
    result.unknown = value.text ? *value.text : "a value that is not known";
  return result;
}

std::optional<size_t> Interpreter::toBuffer(const Value &value) {
  if (value.kind == Value::Kind::Device)
    return size_t(value.integer);
  return std::nullopt;
}

StreamId Interpreter::toStream(const Value &value) {
  if (value.kind == Value::Kind::Handle && value.handle == HandleKind::Stream)
    return int(value.integer);
  if (value.isNull() || value.isInteger())
    return 1;
  return -1;
}

size_t Interpreter::addBuffer(Buffer buffer) {
  trace.buffers.push_back(std::move(buffer));
  return trace.buffers.size() - 1;
}

Argument Interpreter::toArgument(const Value &value, clang::QualType type) {
  Argument result;
  Value held = value;
  if (!type.isNull() && type->isReferenceType()) {
    held = load(value, type);
    type = type.getNonReferenceType();
  }
  if (!type.isNull() && !type->isIncompleteType() && !type->isDependentType() &&
      !type->isFunctionType())
    result.bytes = getContext().getTypeSizeInChars(type).getQuantity();
  switch (held.kind) {
  case Value::Kind::Integer:
    result.kind = Argument::Kind::Integer;
    result.integer = toQuantity(held);
    break;
  case Value::Kind::Real:
    result.kind = Argument::Kind::Real;
    result.real = held.real;
    break;
  case Value::Kind::Device:
    result.kind = Argument::Kind::Pointer;
    result.buffer = size_t(held.integer);
    result.offset = held.byteOffset;
    break;
  case Value::Kind::Pointer:
    result.kind =
        held.isNull() ? Argument::Kind::Integer : Argument::Kind::Pointer;
    if (held.isNull())
      result.integer.value = 0;
    break;
  case Value::Kind::Record: {
    if (held.cell->value.kind == Value::Kind::TensorMap) {
      result.kind = Argument::Kind::TensorMap;
      result.tensorMap = size_t(held.cell->value.integer);
      break;
    }
    result.kind = Argument::Kind::Record;
    Cell *cell = held.cell;
    auto addField = [&](Cell *part, int64_t offset) {
      Value inner = part->isScalar() ? part->value : Value::makeRecord(part);
      if (part->isOpaque)
        inner = part->value;
      result.fields.push_back({offset, toArgument(inner, part->type)});
    };
    if (cell->isArray) {
      const auto *array = getContext().getAsConstantArrayType(cell->type);
      int64_t stride = array ? getContext()
                                   .getTypeSizeInChars(array->getElementType())
                                   .getQuantity()
                             : 0;
      for (Cell *child : cell->children)
        addField(child, int64_t(child->index) * stride);
      break;
    }
    const clang::RecordDecl *record = cell->type->getAsRecordDecl();
    if (!record || !record->getDefinition() ||
        record->getDefinition()->isInvalidDecl())
      break;
    record = record->getDefinition();
    const clang::ASTRecordLayout &layout =
        getContext().getASTRecordLayout(record);
    unsigned child = 0;
    if (const auto *cxx = llvm::dyn_cast<clang::CXXRecordDecl>(record))
      for (const clang::CXXBaseSpecifier &base : cxx->bases()) {
        addField(cell->children[child++],
                 layout.getBaseClassOffset(base.getType()->getAsCXXRecordDecl())
                     .getQuantity());
      }
    for (const clang::FieldDecl *field : record->fields()) {
      int64_t bits = int64_t(layout.getFieldOffset(field->getFieldIndex()));
      Cell *part = cell->children[child++];
      // Of a bit-field it is not said which bits it has.
      if (field->isBitField())
        result.fields.push_back({bits / 8, Argument()});
      else
        addField(part, bits / 8);
    }
    break;
  }
  case Value::Kind::TensorMap:
    result.kind = Argument::Kind::TensorMap;
    result.tensorMap = size_t(held.integer);
    break;
  default:
    if (!type.isNull() && type->isIntegralOrEnumerationType()) {
      result.kind = Argument::Kind::Integer;
      result.integer = toQuantity(held);
    } else if (!type.isNull() && type->isPointerType()) {
      result.kind = Argument::Kind::Pointer;
    }
    break;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static std::string mangleKernel(const clang::FunctionDecl *function) {
  clang::ASTContext &context = function->getASTContext();
  std::unique_ptr<clang::MangleContext> mangler(
      clang::ItaniumMangleContext::create(context, context.getDiagnostics()));
  clang::GlobalDecl decl(function, clang::KernelReferenceKind::Kernel);
  if (!mangler->shouldMangleDeclName(function))
    return function->getNameAsString();
  std::string name;
  llvm::raw_string_ostream stream(name);
  mangler->mangleName(decl, stream);
  return name;
}

void Interpreter::addLaunch(Event event, const Value &kernel) {
  const clang::FunctionDecl *function =
      kernel.kind == Value::Kind::Function ? kernel.function : nullptr;
  if (function && !function->hasAttr<clang::CUDAGlobalAttr>())
    function = nullptr;
  Event &added = addEvent(EventKind::Launch, nullptr);
  event.certain = added.certain;
  event.uncertainBecause = added.uncertainBecause;
  event.dependsOnArguments = added.dependsOnArguments;
  event.count = added.count;
  event.captured = captures.contains(event.stream);
  if (function) {
    event.kernel = mangleKernel(function);
    event.kernelDemangled = llvm::demangle(event.kernel);
    const clang::FunctionDecl *definition = nullptr;
    if (!function->isExternallyVisible() && function->hasBody(definition))
      event.kernelFile =
          findPlace(definition->getASTContext().getSourceManager(),
                    definition->getLocation())
              .file;
  } else {
    std::string reason = kernel.text ? *kernel.text
                                     : "the kernel launched at line " +
                                           std::to_string(event.where.line) +
                                           " is not known";
    event.uncertainBecause.push_back(reason);
    event.certain = event.dependsOnArguments = false;
    markIncomplete("a launch of a kernel that is not known: " + reason);
  }
  added = std::move(event);
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

void Interpreter::fillArguments(Cell *record, const EntryArguments *arguments) {
  const clang::RecordDecl *decl = record->type->getAsRecordDecl();
  if (!decl || !decl->getDefinition())
    return;
  for (const clang::FieldDecl *field : decl->getDefinition()->fields()) {
    Cell *cell = storage.getField(record, field);
    if (!cell)
      continue;
    std::string name = field->getNameAsString();
    Origins origins;
    origins.problem = true;
    clang::QualType pointee = field->getType()->getPointeeType();
    if (cell->isScalar() && !pointee.isNull() && pointee->isPointerType()) {
      // An array on the host of one device pointer a rank.
      clang::QualType array = getContext().getConstantArrayType(
          pointee.getUnqualifiedType(), llvm::APInt(64, kMaxRanks), nullptr,
          clang::ArraySizeModifier::Normal, 0);
      Cell *pointers = storage.make(array);
      for (Cell *pointer : pointers->children) {
        Buffer buffer;
        buffer.kind = pointee->getPointeeType().isConstQualified()
                          ? Buffer::Kind::Input
                          : Buffer::Kind::Workspace;
        buffer.name = name + "[" + std::to_string(pointer->index) + "]";
        storage.write(pointer,
                      Value::makeDevice(addBuffer(std::move(buffer)), 0));
      }
      storage.write(cell, Value::makePointer(pointers->children[0]));
      continue;
    }
    if (cell->isScalar() && field->getType()->isPointerType()) {
      Buffer buffer;
      buffer.kind = field->getType()->getPointeeType().isConstQualified()
                        ? Buffer::Kind::Input
                        : Buffer::Kind::Output;
      if (arguments)
        if (auto found = arguments->tensors.find(name);
            found != arguments->tensors.end()) {
          buffer.kind = found->second.isOutput ? Buffer::Kind::Output
                                               : Buffer::Kind::Input;
          buffer.bytes = found->second.bytes;
          tensors.insert(trace.buffers.size());
        }
      buffer.name = name;
      storage.write(cell, Value::makeDevice(addBuffer(std::move(buffer)), 0));
      continue;
    }
    if (cell->isScalar() && arguments)
      if (auto found = arguments->integers.find(name);
          found != arguments->integers.end()) {
        storage.write(cell, Value::makeInteger(found->second, origins));
        continue;
      }
    storage.fill(
        cell, makeUnknown("the argument " + name + " of the entry", origins));
  }
}

std::vector<Value>
Interpreter::makeEntryArguments(const clang::FunctionDecl *entry,
                                const EntryArguments *arguments) {
  std::vector<Value> result;
  for (const clang::ParmVarDecl *parameter : entry->parameters()) {
    clang::QualType type = parameter->getType();
    std::string name = parameter->getNameAsString();
    Origins origins;
    origins.problem = true;
    std::string spelled = type.getUnqualifiedType().getAsString();
    if (spelled == "cudaStream_t" || spelled == "CUstream" ||
        spelled == "struct CUstream_st *" || spelled == "CUstream_st *") {
      result.push_back(Value::makeHandle(HandleKind::Stream, 0));
      continue;
    }
    clang::QualType pointee = type->isPointerType() || type->isReferenceType()
                                  ? type->getPointeeType()
                                  : clang::QualType();
    if (!pointee.isNull() && pointee->isRecordType() &&
        !pointee->isIncompleteType()) {
      Cell *cell = storage.make(pointee.getUnqualifiedType());
      fillArguments(cell, arguments);
      result.push_back(Value::makePointer(cell));
      continue;
    }
    if (type->isPointerType() &&
        (pointee->isVoidType() || pointee->isArithmeticType() ||
         pointee->isRecordType() || pointee->isIncompleteType())) {
      Buffer buffer;
      bool isWorkspace =
          pointee->isVoidType() && !pointee.isConstQualified() && arguments;
      buffer.kind = isWorkspace                  ? Buffer::Kind::Workspace
                    : pointee.isConstQualified() ? Buffer::Kind::Input
                                                 : Buffer::Kind::Output;
      buffer.name = isWorkspace ? "workspace" : name;
      result.push_back(Value::makeDevice(addBuffer(std::move(buffer)), 0));
      continue;
    }
    if (type->isReferenceType()) {
      Cell *cell = storage.make(pointee);
      storage.fill(cell, makeUnknown("the parameter " + name, origins));
      result.push_back(Value::makePointer(cell));
      continue;
    }
    // The size that follows the workspace.
    if (type->isIntegerType() && arguments && arguments->workspaceBytes &&
        !result.empty() && result.back().kind == Value::Kind::Device) {
      result.push_back(Value::makeInteger(*arguments->workspaceBytes));
      continue;
    }
    result.push_back(makeUnknown("the parameter " + name, origins));
  }
  return result;
}

/// Calls \p visit with each tensor map that \p argument holds.
static void forEachMap(Argument &argument,
                       llvm::function_ref<void(size_t &)> visit) {
  if (argument.tensorMap)
    visit(*argument.tensorMap);
  for (ArgumentField &field : argument.fields)
    forEachMap(field.value, visit);
}

void Interpreter::dropTensorMaps(size_t count) {
  bool used = false;
  for (Event &event : trace.events)
    for (Argument &argument : event.arguments)
      forEachMap(argument, [&](size_t &map) { used |= map < count; });
  if (used)
    return;
  trace.tensorMaps.erase(trace.tensorMaps.begin(),
                         trace.tensorMaps.begin() + long(count));
  for (Event &event : trace.events)
    for (Argument &argument : event.arguments)
      forEachMap(argument, [&](size_t &map) { map -= count; });
}

void Interpreter::initializeGlobals(const clang::DeclContext *scope) {
  for (const clang::Decl *decl : scope->noload_decls()) {
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl,
                  clang::ExportDecl>(decl)) {
      initializeGlobals(llvm::cast<clang::DeclContext>(decl));
      continue;
    }
    const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl);
    if (!variable ||
        llvm::isa<clang::VarTemplatePartialSpecializationDecl>(decl) ||
        !variable->isThisDeclarationADefinition() || !variable->getInit() ||
        variable->getType()->isDependentType() ||
        variable->hasAttr<clang::CUDADeviceAttr>() ||
        variable->hasAttr<clang::CUDAConstantAttr>() ||
        getContext().getSourceManager().isInSystemHeader(
            variable->getLocation()))
      continue;
    const clang::Expr *init = variable->getInit();
    if (!init->isValueDependent() && !init->isInstantiationDependent() &&
        !variable->hasConstantInitialization())
      getGlobal(variable);
  }
}

HostTrace Interpreter::callEntry(const clang::FunctionDecl *entry,
                                 const EntryArguments *arguments) {
  // The outermost frame; global initialisers run in it.
  Frame outer;
  outer.function = entry;
  frames.push_back(&outer);
  std::vector<Value> values = makeEntryArguments(entry, arguments);
  const clang::FunctionDecl *definition = nullptr;
  if (!entry->hasBody(definition)) {
    markIncomplete("the entry " + entry->getNameAsString() + " has no body");
    frames.pop_back();
    return std::move(trace);
  }
  // What happens before main() may write other variables, too.
  if (linked)
    for (clang::ASTContext *unit : linked->getContexts()) {
      ContextScope scope(*this, *unit);
      initializeGlobals(unit->getTranslationUnitDecl());
    }
  else
    initializeGlobals(getContext().getTranslationUnitDecl());
  size_t firstMap = 0;
  for (int round = 0; round < 2; ++round) {
    firstMap = trace.tensorMaps.size();
    trace.events.clear();
    trace.incompleteBecause.clear();
    trace.complete = true;
    steps = 0;
    // Nothing of the first call is undone.
    storage.keep(0);
    exhausted = false;
    certain = true;
    doubts.clear();
    controls.clear();
    captures.clear();
    leaving = Leaving::No;
    storage.escape(runBody(definition, values, std::nullopt, nullptr));
  }
  frames.pop_back();
  // An allocation that the caller gets is not the call's own.
  for (const Value &value : values)
    storage.escapeTargets(value);
  for (int64_t buffer : storage.getEscapedBuffers())
    if (trace.buffers[size_t(buffer)].kind == Buffer::Kind::Allocation)
      trace.buffers[size_t(buffer)].kind = Buffer::Kind::Foreign;
  dropTensorMaps(firstMap);
  return std::move(trace);
}
