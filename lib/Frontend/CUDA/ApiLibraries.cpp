// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries that run work on the device: recognised by the names that their
// manuals give. A call that only sets something up is no operation.

#include "Interpreter.h"

using namespace d2k;
using namespace d2k::cuda;

namespace {
struct Library {
  const char *prefix;
  const char *name;
};
} // namespace

/// C libraries, by the prefix of their functions.
static constexpr Library kLibraries[] = {
    {"cublas", "cuBLAS"}, {"cudnn", "cuDNN"},       {"nccl", "NCCL"},
    {"cufft", "cuFFT"},   {"cusparse", "cuSPARSE"}, {"cusolver", "cuSOLVER"},
    {"curand", "cuRAND"}, {"cutensor", "cuTENSOR"}, {"nvrtc", "NVRTC"},
    {"npp", "NPP"},       {"nvshmem", "NVSHMEM"},
};

/// Words in the names of functions that set up and run nothing.
static bool onlySetsUp(llvm::StringRef name) {
  static constexpr const char *kWords[] = {
      "Create",   "Destroy", "Set",          "Get",     "Init",   "Heuristic",
      "Query",    "Version", "Version",      "Plan1d",  "Plan2d", "Plan3d",
      "PlanMany", "Group",   "CommFinalize", "Register"};
  for (const char *word : kWords)
    if (name.contains(word))
      return true;
  return false;
}

static void setOutputs(Interpreter &interpreter, const CallSite &call,
                       const Value &value) {
  for (unsigned i = 0; i < call.arguments.size(); ++i) {
    const Value &argument = call.arguments[i];
    bool isOutput =
        i < call.types.size() && !call.types[i].isNull() &&
        (call.types[i]->isPointerType() || call.types[i]->isReferenceType()) &&
        !call.types[i]->getPointeeType().isConstQualified();
    if (isOutput && argument.kind == Value::Kind::Pointer)
      if (Cell *cell = interpreter.storage.getTarget(argument))
        interpreter.storage.fill(cell, value);
  }
}

static Event &addOperation(Interpreter &interpreter, const CallSite &call,
                           const char *library) {
  Event &event = interpreter.addEvent(EventKind::Library, call.site);
  event.call = call.qualifiedName;
  event.library = library;
  return event;
}

std::optional<Value> d2k::cuda::callLibrary(Interpreter &interpreter,
                                            const CallSite &call) {
  llvm::StringRef qualified = call.qualifiedName;
  if (!qualified.contains("::")) {
    for (const Library &library : kLibraries) {
      if (!call.name.starts_with(library.prefix) ||
          (call.callee && call.callee->hasBody()))
        continue;
      Value unknown =
          interpreter.makeUnknown("a result of " + call.qualifiedName + "()");
      if (onlySetsUp(call.name)) {
        setOutputs(interpreter, call, unknown);
        if (call.name.contains("Create") && !call.arguments.empty())
          interpreter.setOutput(
              call, 0,
              Value::makeHandle(HandleKind::Other, interpreter.nextHandle++));
        return Value::makeInteger(0);
      }
      addOperation(interpreter, call, library.name);
      return Value::makeInteger(0);
    }
    return std::nullopt;
  }
  if (qualified.starts_with("cub::Device") && call.callee &&
      !call.arguments.empty()) {
    // With no temporary storage the call only says how much it needs.
    Value storage = interpreter.getArgument(call, 0);
    if (storage.isNull()) {
      interpreter.setOutput(
          call, 1,
          interpreter.makeUnknown("the temporary storage of " +
                                  call.qualifiedName));
      return Value::makeInteger(0);
    }
    Event &event = addOperation(interpreter, call, "CUB");
    if (storage.isUnknown()) {
      event.certain = event.dependsOnArguments = false;
      event.uncertainBecause.push_back(
          "its temporary storage may be null, which runs nothing");
    }
    return Value::makeInteger(0);
  }
  if (qualified.starts_with("thrust::") && call.callee && !call.self) {
    static constexpr const char *kNoWork[] = {"raw_pointer_cast",
                                              "device_pointer_cast",
                                              "raw_reference_cast",
                                              "swap",
                                              "get",
                                              "distance",
                                              "advance",
                                              "next",
                                              "prev"};
    for (const char *name : kNoWork)
      if (call.name == name)
        return std::nullopt;
    if (call.name.starts_with("make_") || qualified.contains("detail") ||
        qualified.contains("iterator"))
      return std::nullopt;
    addOperation(interpreter, call, "Thrust");
    return interpreter.makeUnknown("a result of " + call.qualifiedName + "()");
  }
  // The device adapters of CUTLASS launch kernels that the submission
  // instantiates: the call is a library call, and it is followed as well.
  if (qualified.starts_with("cutlass::") && qualified.contains("::device::") &&
      (call.name == "run" || call.name == "operator()"))
    addOperation(interpreter, call, "CUTLASS");
  return std::nullopt;
}
