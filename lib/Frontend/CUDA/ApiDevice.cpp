// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of questions about the machine.

#include "ApiModels.h"

using namespace d2k;
using namespace d2k::cuda;

static Value machineValue(Interpreter &interpreter, int64_t value,
                          const char *what) {
  Origins origins;
  origins.machine = true;
  const Machine &machine = interpreter.machine;
  if (value <= 0)
    return interpreter.makeUnknown(
        std::string(what) + " of the machine, which is not known", origins);
  interpreter.assume(std::string(what) + " " + std::to_string(value) + " (" +
                     machine.product + ")");
  return Value::makeInteger(value, origins);
}

/// cudaDeviceAttr and CUdevice_attribute share their numbers.
static Value getAttribute(Interpreter &interpreter, const Value &attribute) {
  const Machine &machine = interpreter.machine;
  Origins origins;
  origins.machine = true;
  if (!attribute.isInteger())
    return interpreter.makeUnknown("a device attribute", origins);
  switch (attribute.integer) {
  // The largest block and grid (CUDA C++ Programming Guide, "Features and
  // Technical Specifications").
  case 1:
  case 2:
  case 3:
    return Value::makeInteger(1024);
  case 4:
    return Value::makeInteger(64);
  case 5:
    return Value::makeInteger(2147483647);
  case 6:
  case 7:
    return Value::makeInteger(65535);
  case 10:
    return Value::makeInteger(32);
  case 8:
    return Value::makeInteger(49152);
  case 16:
    return machineValue(interpreter, machine.multiprocessors,
                        "multiprocessor count");
  case 38:
    return machineValue(interpreter, machine.l2Bytes, "L2 size");
  case 39:
    return machineValue(interpreter, machine.threadsPerMultiprocessor,
                        "threads of a multiprocessor");
  case 75:
    return Value::makeInteger(machine.major);
  case 76:
    return Value::makeInteger(machine.minor);
  case 81:
    return machineValue(interpreter, machine.sharedPerMultiprocessor,
                        "shared memory of a multiprocessor");
  case 82:
    return machineValue(interpreter, machine.registersPerMultiprocessor,
                        "registers of a multiprocessor");
  case 95:
    return Value::makeInteger(1);
  case 97:
    return machineValue(interpreter, machine.sharedPerBlockOptin,
                        "shared memory of a block");
  default:
    return interpreter.makeUnknown(
        "device attribute " + std::to_string(attribute.integer), origins);
  }
}

static Value getProperties(Interpreter &interpreter, const CallSite &call) {
  Cell *record = interpreter.getRecord(call, 0);
  if (!record)
    return success();
  Origins origins;
  origins.machine = true;
  interpreter.storage.fill(
      record, interpreter.makeUnknown("a device property", origins));
  auto set = [&](const char *field, int attribute) {
    if (Cell *cell = interpreter.findField(record, field))
      interpreter.storage.write(
          cell, getAttribute(interpreter, Value::makeInteger(attribute)));
  };
  set("multiProcessorCount", 16);
  set("sharedMemPerBlock", 8);
  set("sharedMemPerBlockOptin", 97);
  set("sharedMemPerMultiprocessor", 81);
  set("regsPerMultiprocessor", 82);
  set("l2CacheSize", 38);
  set("maxThreadsPerMultiProcessor", 39);
  set("maxThreadsPerBlock", 1);
  set("warpSize", 10);
  auto setEach = [&](const char *field, int attribute) {
    if (Cell *cell = interpreter.findField(record, field))
      for (Cell *part : cell->children)
        interpreter.storage.write(
            part, getAttribute(interpreter, Value::makeInteger(attribute++)));
  };
  setEach("maxThreadsDim", 2);
  setEach("maxGridSize", 5);
  set("major", 75);
  set("minor", 76);
  return success();
}

void cuda::addDeviceModels(ModelTable &table) {
  table.add({"cudaGetDevice", "cuCtxGetDevice"},
            [](Interpreter &i, const CallSite &c) {
              i.setOutput(c, 0, Value::makeInteger(0));
              return success();
            });
  table.add({"cudaDeviceGetAttribute", "cuDeviceGetAttribute"},
            [](Interpreter &i, const CallSite &c) {
              i.setOutput(c, 0, getAttribute(i, i.getArgument(c, 1)));
              return success();
            });
  table.add({"cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"},
            getProperties);
  table.add(
      {"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
       "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
       "cudaOccupancyMaxActiveClusters", "cudaOccupancyMaxPotentialClusterSize",
       "cuOccupancyMaxActiveBlocksPerMultiprocessor"},
      [](Interpreter &i, const CallSite &c) {
        Origins origins;
        origins.machine = true;
        i.setOutput(
            c, 0,
            i.makeUnknown("the occupancy asked for in " + at(i, c), origins));
        return success();
      });
  table.add({"cudaGetLastError", "cudaPeekAtLastError", "cudaSetDevice",
             "cudaFuncSetCacheConfig", "cudaDeviceSetLimit",
             "cudaCtxResetPersistingL2Cache", "cudaEventRecord",
             "cudaEventRecordWithFlags", "cudaStreamDestroy",
             "cudaEventDestroy", "cudaGraphDestroy", "cudaGraphExecDestroy",
             "cudaMemPrefetchAsync", "cudaMemAdvise",
             "cudaDeviceEnablePeerAccess", "cuInit", "cudaProfilerStart",
             "cudaProfilerStop", "cudaDeviceReset"},
            [](Interpreter &, const CallSite &) { return success(); });
}
