// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the model of a function of the CUDA runtime and driver API. A function
// without one sets what its pointers reach to unknown; one that may run work
// makes the trace incomplete.

#include "ApiModels.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"

using namespace d2k;
using namespace d2k::cuda;

std::string cuda::at(Interpreter &interpreter, const CallSite &call) {
  return call.site ? interpreter.describe(call.site) : call.qualifiedName;
}

Value cuda::read(Interpreter &interpreter, Cell *cell, const char *what) {
  if (!cell)
    return interpreter.makeUnknown(what);
  return interpreter.load(Value::makePointer(cell), cell->type);
}

static const ModelTable &getModels() {
  static const ModelTable kModels = [] {
    ModelTable table;
    addMemoryModels(table);
    addDeviceModels(table);
    addLaunchModels(table);
    addTensorMapModels(table);
    addStreamModels(table);
    return table;
  }();
  return kModels;
}

std::optional<Value> d2k::cuda::callCudaApi(Interpreter &interpreter,
                                            const CallSite &call) {
  llvm::StringRef name = call.name;
  // Functions of the API stand outside of namespaces.
  if (llvm::StringRef(call.qualifiedName).contains("::"))
    return std::nullopt;
  bool isRuntime =
      name.starts_with("cuda") && name.size() > 4 && llvm::isUpper(name[4]);
  bool isDriver =
      name.starts_with("cu") && name.size() > 2 && llvm::isUpper(name[2]);
  if (!isRuntime && !isDriver)
    return std::nullopt;
  if (Model model = getModels().find(name))
    return model(interpreter, call);
  // A function of the submission that only looks like one of the API.
  if (call.callee && call.callee->hasBody() &&
      !call.callee->getASTContext().getSourceManager().isInSystemHeader(
          call.callee->getLocation()))
    return std::nullopt;

  Value unknown =
      interpreter.makeUnknown("a result of " + at(interpreter, call));
  for (unsigned i = 0; i < call.arguments.size(); ++i) {
    const Value &argument = call.arguments[i];
    bool isOutput =
        i < call.types.size() && !call.types[i].isNull() &&
        (call.types[i]->isPointerType() || call.types[i]->isReferenceType()) &&
        !call.types[i]->getPointeeType().isConstQualified();
    if (isOutput && argument.kind == Value::Kind::Pointer)
      if (Cell *cell = interpreter.storage.getTarget(argument))
        interpreter.storage.fill(cell, unknown);
  }
  if (name.contains("Launch") || name.contains("Graph"))
    interpreter.markIncomplete(name.str() + "() is not modelled: it may run "
                                            "anything");
  return call.callee && call.callee->getReturnType()->isEnumeralType()
             ? success()
             : unknown;
}
