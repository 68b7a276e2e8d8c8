// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of launches in all their forms, and of what a kernel is given before.

#include "ApiModels.h"

#include "clang/AST/ASTContext.h"

using namespace d2k;
using namespace d2k::cuda;

static std::array<Quantity, 3> readExtent(Interpreter &interpreter,
                                          Cell *record) {
  std::array<Quantity, 3> result;
  static constexpr const char *kNames[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i)
    result[i] = interpreter.toQuantity(
        read(interpreter, interpreter.findField(record, kNames[i]),
             "a launch extent"));
  return result;
}

/// The kernel's parameter \p i, or nothing.
static clang::QualType getParameterType(const Value &kernel, unsigned i) {
  if (kernel.kind == Value::Kind::Function && kernel.function &&
      i < kernel.function->getNumParams())
    return kernel.function->getParamDecl(i)->getType();
  return {};
}

/// Arguments passed as an array of pointers to them.
static void readParameterArray(Interpreter &interpreter, Event &event,
                               const Value &array, const Value &kernel) {
  if (kernel.kind != Value::Kind::Function || !kernel.function)
    return;
  for (unsigned i = 0; i < kernel.function->getNumParams(); ++i) {
    Value element = array;
    element.offset += i;
    Cell *slot = interpreter.storage.getTarget(element);
    clang::QualType type = getParameterType(kernel, i);
    Value value = slot ? interpreter.load(slot->value, type)
                       : interpreter.makeUnknown("a kernel argument");
    event.arguments.push_back(interpreter.toArgument(value, type));
  }
}

/// The launch attributes of cudaLaunchConfig_t or CUlaunchConfig.
static void readAttributes(Interpreter &interpreter, Event &event,
                           Cell *config) {
  Value count = read(interpreter, interpreter.findField(config, "numAttrs"),
                     "the number of launch attributes");
  Cell *attributes = interpreter.findField(config, "attrs");
  if (count.isInteger() && count.integer == 0)
    return;
  auto giveUp = [&](const std::string &why) {
    for (Quantity &extent : event.cluster) {
      extent.value.reset();
      extent.unknown = why;
    }
    event.programmaticSerialization.reset();
  };
  if (!count.isInteger() || !attributes)
    return giveUp(count.text ? *count.text : "the launch attributes");
  for (int64_t i = 0; i < count.integer && i < 64; ++i) {
    Value pointer = attributes->value;
    pointer.offset += i;
    Cell *attribute = interpreter.storage.getTarget(pointer);
    Value id = read(interpreter, interpreter.findField(attribute, "id"),
                    "the kind of a launch attribute");
    if (!id.isInteger())
      return giveUp("the kind of a launch attribute");
    Cell *value = interpreter.findField(attribute, "val");
    if (!value)
      value = interpreter.findField(attribute, "value");
    auto field = [&](const char *name) {
      return read(interpreter, interpreter.findField(value, name),
                  "a launch attribute");
    };
    switch (id.integer) {
    case 2: { // Cooperative
      Value on = field("cooperative");
      event.cooperative = on.isInteger() && on.integer != 0;
      break;
    }
    case 4: // ClusterDimension
      event.cluster =
          readExtent(interpreter, interpreter.findField(value, "clusterDim"));
      break;
    case 6: { // ProgrammaticStreamSerialization
      Value on = field("programmaticStreamSerializationAllowed");
      if (on.isInteger())
        event.programmaticSerialization = on.integer != 0;
      else
        event.programmaticSerialization.reset();
      break;
    }
    case 1: { // AccessPolicyWindow
      Event *window = addAccessWindow(
          interpreter, interpreter.findField(value, "accessPolicyWindow"),
          nullptr);
      if (window) {
        window->call = "launch attribute";
        window->where = event.where;
        window->stream = event.stream;
      }
      break;
    }
    default:
      break;
    }
  }
}

static Event startLaunch(Interpreter &interpreter, const CallSite &call) {
  Event event;
  event.kind = EventKind::Launch;
  event.call = call.qualifiedName;
  if (call.site)
    event.where = interpreter.getPlace(call.site->getBeginLoc());
  for (Quantity &extent : event.cluster)
    extent.value = 1;
  return event;
}

/// cudaLaunchKernel(func, grid, block, args, sharedMem, stream)
static Value launchKernel(Interpreter &interpreter, const CallSite &call,
                          bool cooperative) {
  Event event = startLaunch(interpreter, call);
  Value kernel = interpreter.getArgument(call, 0);
  event.grid = readExtent(interpreter, interpreter.getRecord(call, 1));
  event.block = readExtent(interpreter, interpreter.getRecord(call, 2));
  readParameterArray(interpreter, event, interpreter.getArgument(call, 3),
                     kernel);
  event.dynamicShared = interpreter.toQuantity(
      call.arguments.size() > 4 ? interpreter.getArgument(call, 4)
                                : Value::makeInteger(0));
  event.stream = interpreter.toStream(call.arguments.size() > 5
                                          ? interpreter.getArgument(call, 5)
                                          : Value::makePointer(nullptr));
  event.cooperative = cooperative;
  interpreter.addLaunch(std::move(event), kernel);
  return success();
}

/// Names of the fields of a launch configuration.
struct ConfigFields {
  /// Of grid and block: the extents, or one record that holds x, y and z.
  std::array<const char *, 3> grid, block;
  const char *dynamicShared, *stream;
};

/// cudaLaunchConfig_t
static constexpr ConfigFields kRuntimeConfig = {
    {"gridDim"}, {"blockDim"}, "dynamicSmemBytes", "stream"};
/// CUlaunchConfig
static constexpr ConfigFields kDriverConfig = {
    {"gridDimX", "gridDimY", "gridDimZ"},
    {"blockDimX", "blockDimY", "blockDimZ"},
    "sharedMemBytes",
    "hStream"};

/// The launch that the configuration in argument 0 describes.
static Event startConfiguredLaunch(Interpreter &interpreter,
                                   const CallSite &call,
                                   const ConfigFields &fields) {
  Event event = startLaunch(interpreter, call);
  Cell *config = interpreter.getRecord(call, 0);
  auto find = [&](const char *name) {
    return interpreter.findField(config, name);
  };
  auto readExtents = [&](const std::array<const char *, 3> &names) {
    if (!names[1])
      return readExtent(interpreter, find(names[0]));
    std::array<Quantity, 3> result;
    for (int i = 0; i < 3; ++i)
      result[i] = interpreter.toQuantity(
          read(interpreter, find(names[i]), "a launch extent"));
    return result;
  };
  event.grid = readExtents(fields.grid);
  event.block = readExtents(fields.block);
  event.dynamicShared =
      interpreter.toQuantity(read(interpreter, find(fields.dynamicShared),
                                  "the dynamic shared memory of a launch"));
  event.stream = interpreter.toStream(
      read(interpreter, find(fields.stream), "the stream of a launch"));
  readAttributes(interpreter, event, config);
  return event;
}

/// cudaLaunchKernelExC(config, func, args) and the template
/// cudaLaunchKernelEx(config, kernel, args...).
static Value launchKernelEx(Interpreter &interpreter, const CallSite &call,
                            bool isTemplate) {
  Event event = startConfiguredLaunch(interpreter, call, kRuntimeConfig);
  Value kernel = interpreter.getArgument(call, 1);
  if (isTemplate) {
    for (unsigned i = 2; i < call.arguments.size(); ++i) {
      clang::QualType type = getParameterType(kernel, i - 2);
      event.arguments.push_back(interpreter.toArgument(
          interpreter.getArgument(call, i),
          type.isNull() ? call.types[i].getNonReferenceType() : type));
    }
  } else {
    readParameterArray(interpreter, event, interpreter.getArgument(call, 2),
                       kernel);
  }
  interpreter.addLaunch(std::move(event), kernel);
  return success();
}

/// cuLaunchKernel(f, gx, gy, gz, bx, by, bz, sharedMem, stream, params, extra)
static Value driverLaunch(Interpreter &interpreter, const CallSite &call,
                          bool cooperative) {
  Event event = startLaunch(interpreter, call);
  Value kernel = interpreter.getArgument(call, 0);
  for (unsigned i = 0; i < 3; ++i) {
    event.grid[i] =
        interpreter.toQuantity(interpreter.getArgument(call, 1 + i));
    event.block[i] =
        interpreter.toQuantity(interpreter.getArgument(call, 4 + i));
  }
  event.dynamicShared =
      interpreter.toQuantity(interpreter.getArgument(call, 7));
  event.stream = interpreter.toStream(interpreter.getArgument(call, 8));
  event.cooperative = cooperative;
  readParameterArray(interpreter, event, interpreter.getArgument(call, 9),
                     kernel);
  interpreter.addLaunch(std::move(event), kernel);
  return success();
}

/// cuLaunchKernelEx(config, f, params, extra)
static Value driverLaunchEx(Interpreter &interpreter, const CallSite &call) {
  Event event = startConfiguredLaunch(interpreter, call, kDriverConfig);
  Value kernel = interpreter.getArgument(call, 1);
  readParameterArray(interpreter, event, interpreter.getArgument(call, 2),
                     kernel);
  interpreter.addLaunch(std::move(event), kernel);
  return success();
}

static Value setFunctionAttribute(Interpreter &interpreter,
                                  const CallSite &call) {
  Value function = interpreter.getArgument(call, 0);
  Value attribute = interpreter.getArgument(call, 1);
  // cudaFuncAttributeMaxDynamicSharedMemorySize
  if (attribute.isInteger() && attribute.integer == 8 &&
      function.kind == Value::Kind::Function && function.function)
    interpreter.trace.maxDynamicShared[function.function->getNameAsString()] =
        interpreter.toQuantity(interpreter.getArgument(call, 2));
  return success();
}

void cuda::addLaunchModels(ModelTable &table) {
  // A kernel by the address of its stub, for the driver.
  table.add({"cudaGetFuncBySymbol", "cudaGetKernel"},
            [](Interpreter &i, const CallSite &c) {
              i.setOutput(c, 0, i.getArgument(c, 1));
              return success();
            });
  table.add({"cudaFuncSetAttribute", "cuFuncSetAttribute"},
            setFunctionAttribute);

  table.add({"cudaLaunchKernel", "cudaLaunchKernel_ptsz"},
            [](Interpreter &i, const CallSite &c) {
              return launchKernel(i, c, false);
            });
  table.add({"cudaLaunchCooperativeKernel"},
            [](Interpreter &i, const CallSite &c) {
              return launchKernel(i, c, true);
            });
  table.add({"cudaLaunchKernelExC"}, [](Interpreter &i, const CallSite &c) {
    return launchKernelEx(i, c, false);
  });
  table.add({"cudaLaunchKernelEx"}, [](Interpreter &i, const CallSite &c) {
    return launchKernelEx(i, c, true);
  });
  table.add({"cuLaunchKernel"}, [](Interpreter &i, const CallSite &c) {
    return driverLaunch(i, c, false);
  });
  table.add({"cuLaunchCooperativeKernel"},
            [](Interpreter &i, const CallSite &c) {
              return driverLaunch(i, c, true);
            });
  table.add({"cuLaunchKernelEx"}, driverLaunchEx);
}
