// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the models of the CUDA runtime and driver API share (CUDA Runtime API
// and CUDA Driver API reference manuals, 13.0). Calls succeed.

#ifndef D2K_LIB_FRONTEND_CUDA_APIMODELS_H
#define D2K_LIB_FRONTEND_CUDA_APIMODELS_H

#include "Interpreter.h"

#include "llvm/ADT/StringMap.h"

namespace d2k::cuda {

/// What a function of the API does and returns.
using Model = Value (*)(Interpreter &, const CallSite &);

/// Models by the name of the function.
class ModelTable {
public:
  /// Functions with \p names do the same.
  void add(std::initializer_list<llvm::StringRef> names, Model model) {
    for (llvm::StringRef name : names)
      models[name] = model;
  }
  /// Null when there is none.
  Model find(llvm::StringRef name) const { return models.lookup(name); }

private:
  llvm::StringMap<Model> models;
};

/// Allocation, copies, and waiting for them (ApiMemory.cpp).
void addMemoryModels(ModelTable &table);
/// What the machine is (ApiDevice.cpp).
void addDeviceModels(ModelTable &table);
/// Launches and attributes of kernels (ApiLaunch.cpp).
void addLaunchModels(ModelTable &table);
/// Tensor maps, and functions looked up at run time (ApiTensorMaps.cpp).
void addTensorMapModels(ModelTable &table);
/// Streams, events and graphs (ApiStreams.cpp).
void addStreamModels(ModelTable &table);

/// cudaSuccess, CUDA_SUCCESS.
inline Value success() { return Value::makeInteger(0); }

/// "f(x) at k.cu:3"
std::string at(Interpreter &interpreter, const CallSite &call);

/// The contents of \p cell; unknown for the reason \p what when it is null.
Value read(Interpreter &interpreter, Cell *cell, const char *what);

/// Adds the event of an access-policy window that is set to what \p window
/// describes. Null where that is none: an empty window, and one that treats
/// hits and misses as always, end the one that was set (CUDA C++ Programming
/// Guide, "Reset L2 Access to Normal").
Event *addAccessWindow(Interpreter &interpreter, Cell *window,
                       const clang::Expr *site);

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_APIMODELS_H
