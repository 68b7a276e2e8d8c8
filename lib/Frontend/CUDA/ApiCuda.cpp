// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of the CUDA runtime and driver API (CUDA Runtime API and CUDA Driver
// API reference manuals, 13.0). Calls succeed. A function that is not in the
// table sets what its pointers reach to unknown; one that may run work makes
// the trace incomplete.

#include "Interpreter.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"

using namespace d2k;
using namespace d2k::cuda;

static Value success() { return Value::makeInteger(0); }

/// "f at k.cu:3"
static std::string at(Interpreter &interpreter, const CallSite &call) {
  return call.site ? interpreter.describe(call.site) : call.qualifiedName;
}

static Value read(Interpreter &interpreter, Cell *cell, const char *what) {
  if (!cell)
    return interpreter.makeUnknown(what);
  return interpreter.load(Value::makePointer(cell), cell->type);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Value allocate(Interpreter &interpreter, const CallSite &call,
                      unsigned sizeAt) {
  Value size = interpreter.getArgument(call, sizeAt);
  Buffer buffer;
  buffer.kind = Buffer::Kind::Allocation;
  SourceLocation place = call.site
                             ? interpreter.getPlace(call.site->getBeginLoc())
                             : SourceLocation();
  buffer.name = call.name.str() + " at line " + std::to_string(place.line);
  if (size.isInteger())
    buffer.bytes = size.integer;
  size_t index = interpreter.addBuffer(buffer);
  Event &event = interpreter.addEvent(EventKind::Allocate, call.site);
  event.call = call.qualifiedName;
  event.destination = index;
  event.bytes = interpreter.toQuantity(size);
  interpreter.setOutput(call, 0, Value::makeDevice(index, 0));
  return success();
}

static Value release(Interpreter &interpreter, const CallSite &call) {
  Event &event = interpreter.addEvent(EventKind::Free, call.site);
  event.call = call.qualifiedName;
  event.destination = interpreter.toBuffer(interpreter.getArgument(call, 0));
  return success();
}

/// A copy; `asynchronous` when the host does not wait for it.
static Value copy(Interpreter &interpreter, const CallSite &call,
                  unsigned destinationAt, unsigned sourceAt, unsigned sizeAt,
                  std::optional<unsigned> streamAt, bool peer = false) {
  Value destination = interpreter.getArgument(call, destinationAt);
  Value source = interpreter.getArgument(call, sourceAt);
  Value size = interpreter.getArgument(call, sizeAt);
  bool asynchronous = call.name.contains("Async");
  StreamId stream =
      streamAt && *streamAt < call.arguments.size()
          ? interpreter.toStream(interpreter.getArgument(call, *streamAt))
          : 1;
  Event &event = interpreter.addEvent(EventKind::Copy, call.site);
  event.call = call.qualifiedName;
  event.destination = interpreter.toBuffer(destination);
  event.source = interpreter.toBuffer(source);
  event.bytes = interpreter.toQuantity(size);
  event.stream = stream;
  event.peer = peer;
  event.captured = interpreter.captures.contains(stream);
  bool touchesHost = !event.destination || !event.source;
  if (!event.destination && destination.kind == Value::Kind::Pointer)
    if (Cell *cell = interpreter.storage.getTarget(destination)) {
      Cell *whole = cell->parent && cell->parent->isArray ? cell->parent : cell;
      interpreter.storage.fill(
          whole, interpreter.makeUnknown("data copied from the device by " +
                                         at(interpreter, call)));
    }
  if (!asynchronous && touchesHost) {
    Event &wait = interpreter.addEvent(EventKind::Synchronize, call.site);
    wait.call = call.qualifiedName;
  }
  return success();
}

static Value fill(Interpreter &interpreter, const CallSite &call,
                  unsigned sizeAt, std::optional<unsigned> streamAt) {
  StreamId stream =
      streamAt && *streamAt < call.arguments.size()
          ? interpreter.toStream(interpreter.getArgument(call, *streamAt))
          : 1;
  Event &added = interpreter.addEvent(EventKind::Fill, call.site);
  added.call = call.qualifiedName;
  added.destination = interpreter.toBuffer(interpreter.getArgument(call, 0));
  added.bytes = interpreter.toQuantity(interpreter.getArgument(call, sizeAt));
  added.stream = stream;
  added.captured = interpreter.captures.contains(stream);
  return success();
}

static Value synchronize(Interpreter &interpreter, const CallSite &call) {
  Event &event = interpreter.addEvent(EventKind::Synchronize, call.site);
  event.call = call.qualifiedName;
  return success();
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

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
  case 1:
    return Value::makeInteger(1024);
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
  set("major", 75);
  set("minor", 76);
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

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
      Event &window = interpreter.addEvent(EventKind::AccessWindow, nullptr);
      window.call = "launch attribute";
      window.where = event.where;
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

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static const char *getDataTypeName(int64_t type) {
  static constexpr const char *kNames[] = {
      "uint8",        "uint16",       "uint32",        "int32",
      "uint64",       "int64",        "float16",       "float32",
      "float64",      "bfloat16",     "float32_ftz",   "tfloat32",
      "tfloat32_ftz", "16u4_align8b", "16u4_align16b", "16u6_align16b"};
  return type >= 0 && type < int64_t(std::size(kNames)) ? kNames[type]
                                                        : "unknown";
}

static std::vector<Quantity> readArray(Interpreter &interpreter,
                                       const Value &pointer, int64_t count) {
  std::vector<Quantity> result;
  for (int64_t i = 0; i < count; ++i) {
    Value element = pointer;
    element.offset += i;
    Cell *cell = interpreter.storage.getTarget(element);
    result.push_back(interpreter.toQuantity(
        read(interpreter, cell, "an array of a tensor map")));
  }
  return result;
}

static void setTensorMap(Interpreter &interpreter, const CallSite &call,
                         TensorMap map) {
  interpreter.trace.tensorMaps.push_back(std::move(map));
  Value value;
  value.kind = Value::Kind::TensorMap;
  value.integer = int64_t(interpreter.trace.tensorMaps.size() - 1);
  if (call.arguments.empty())
    return;
  if (Cell *cell = interpreter.storage.getTarget(call.arguments[0]))
    interpreter.storage.write(cell, value);
}

/// Swizzle modes of CUtensorMapSwizzle in bytes.
static int getSwizzleBytes(int64_t mode) {
  switch (mode) {
  case 0:
    return 0;
  case 1:
    return 32;
  case 2:
    return 64;
  case 3:
  case 4: // 128B with other atomicity
  case 5:
  case 6:
    return 128;
  default:
    return -1;
  }
}

static void readModes(Interpreter &interpreter, TensorMap &map,
                      const Value &interleave, const Value &swizzle,
                      const Value &promotion, const Value &fillMode) {
  static constexpr const char *kInterleave[] = {"none", "16B", "32B"};
  static constexpr const char *kSwizzle[] = {
      "none",         "32B",           "64B",
      "128B",         "128B_atom_32B", "128B_atom_32B_flip_8B",
      "128B_atom_64B"};
  static constexpr const char *kPromotion[] = {"none", "64B", "128B", "256B"};
  auto name = [](const Value &value, llvm::ArrayRef<const char *> names) {
    return value.isInteger() && value.integer >= 0 &&
                   value.integer < int64_t(names.size())
               ? std::string(names[size_t(value.integer)])
               : std::string("unknown");
  };
  map.interleave = name(interleave, kInterleave);
  map.swizzle = name(swizzle, kSwizzle);
  map.swizzleBytes =
      swizzle.isInteger() ? getSwizzleBytes(swizzle.integer) : -1;
  map.l2Promotion = name(promotion, kPromotion);
  map.fill = !fillMode.isInteger()   ? "unknown"
             : fillMode.integer == 0 ? "zero"
                                     : "nan";
}

/// cuTensorMapEncodeTiled(map, type, rank, address, dims, strides, box,
///                        elementStrides, interleave, swizzle, l2, fill)
static Value encodeTiled(Interpreter &interpreter, const CallSite &call) {
  TensorMap map;
  Value type = interpreter.getArgument(call, 1);
  Value rank = interpreter.getArgument(call, 2);
  map.dataType = type.isInteger() ? getDataTypeName(type.integer) : "unknown";
  map.buffer = interpreter.toBuffer(interpreter.getArgument(call, 3));
  int64_t dims = rank.isInteger() && rank.integer >= 1 && rank.integer <= 5
                     ? rank.integer
                     : 0;
  map.dimensions =
      readArray(interpreter, interpreter.getArgument(call, 4), dims);
  map.strides = readArray(interpreter, interpreter.getArgument(call, 5),
                          dims > 0 ? dims - 1 : 0);
  map.box = readArray(interpreter, interpreter.getArgument(call, 6), dims);
  map.elementStrides =
      readArray(interpreter, interpreter.getArgument(call, 7), dims);
  readModes(interpreter, map, interpreter.getArgument(call, 8),
            interpreter.getArgument(call, 9), interpreter.getArgument(call, 10),
            interpreter.getArgument(call, 11));
  if (call.site)
    map.where = interpreter.getPlace(call.site->getBeginLoc());
  setTensorMap(interpreter, call, std::move(map));
  return success();
}

/// cuTensorMapEncodeIm2col(map, type, rank, address, dims, strides,
///   lower, upper, channels, pixels, elementStrides, interleave, swizzle, l2,
///   fill)
static Value encodeIm2col(Interpreter &interpreter, const CallSite &call) {
  TensorMap map;
  Value type = interpreter.getArgument(call, 1);
  Value rank = interpreter.getArgument(call, 2);
  map.dataType = type.isInteger() ? getDataTypeName(type.integer) : "unknown";
  map.buffer = interpreter.toBuffer(interpreter.getArgument(call, 3));
  int64_t dims = rank.isInteger() && rank.integer >= 3 && rank.integer <= 5
                     ? rank.integer
                     : 0;
  map.dimensions =
      readArray(interpreter, interpreter.getArgument(call, 4), dims);
  map.strides = readArray(interpreter, interpreter.getArgument(call, 5),
                          dims > 0 ? dims - 1 : 0);
  map.box = {interpreter.toQuantity(interpreter.getArgument(call, 8)),
             interpreter.toQuantity(interpreter.getArgument(call, 9))};
  map.elementStrides =
      readArray(interpreter, interpreter.getArgument(call, 10), dims);
  readModes(interpreter, map, interpreter.getArgument(call, 11),
            interpreter.getArgument(call, 12),
            interpreter.getArgument(call, 13),
            interpreter.getArgument(call, 14));
  if (call.site)
    map.where = interpreter.getPlace(call.site->getBeginLoc());
  setTensorMap(interpreter, call, std::move(map));
  return success();
}

/// The text that a `const char *` points to; nothing when not known.
static std::optional<std::string> readText(Interpreter &interpreter,
                                           const Value &pointer) {
  std::string text;
  Value element = pointer;
  for (int i = 0; i < 256; ++i, ++element.offset) {
    Cell *cell = interpreter.storage.getTarget(element);
    if (!cell || !cell->value.isInteger())
      return std::nullopt;
    if (cell->value.integer == 0)
      return text;
    text += char(cell->value.integer);
  }
  return std::nullopt;
}

/// cudaGetDriverEntryPoint(symbol, &function, ...), cuGetProcAddress alike.
static Value findEntryPoint(Interpreter &interpreter, const CallSite &call) {
  std::optional<std::string> name =
      readText(interpreter, interpreter.getArgument(call, 0));
  Value function = interpreter.makeUnknown("a driver function looked up in " +
                                           at(interpreter, call));
  if (name) {
    function = Value();
    function.kind = Value::Kind::Function;
    function.text = interpreter.storage.intern(*name);
  }
  interpreter.setOutput(call, 1, function);
  // The query result, where there is one, is the last argument.
  unsigned last = unsigned(call.arguments.size()) - 1;
  if (last >= 2 && call.types[last]->isPointerType() &&
      call.arguments[last].kind == Value::Kind::Pointer &&
      call.arguments[last].cell)
    interpreter.setOutput(call, last, Value::makeInteger(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Streams and graphs
//===----------------------------------------------------------------------===//

static Value makeHandle(Interpreter &interpreter, const CallSite &call,
                        HandleKind kind) {
  interpreter.setOutput(call, 0,
                        Value::makeHandle(kind, interpreter.nextHandle++));
  return success();
}

static Value beginCapture(Interpreter &interpreter, const CallSite &call) {
  interpreter.captures[interpreter.toStream(interpreter.getArgument(call, 0))] =
      true;
  return success();
}

static Value endCapture(Interpreter &interpreter, const CallSite &call) {
  StreamId stream = interpreter.toStream(interpreter.getArgument(call, 0));
  interpreter.captures.erase(stream);
  int64_t handle = interpreter.nextHandle++;
  std::vector<Event> &graph = interpreter.graphs[handle];
  std::vector<Event> kept;
  for (Event &event : interpreter.trace.events)
    (event.captured ? graph : kept).push_back(std::move(event));
  interpreter.trace.events = std::move(kept);
  interpreter.setOutput(call, 1, Value::makeHandle(HandleKind::Graph, handle));
  return success();
}

static Value instantiate(Interpreter &interpreter, const CallSite &call) {
  Value graph = interpreter.getArgument(call, 1);
  Event &event = interpreter.addEvent(EventKind::GraphInstantiate, call.site);
  event.call = call.qualifiedName;
  if (graph.kind != Value::Kind::Handle) {
    interpreter.markIncomplete("the graph of " + at(interpreter, call) +
                               " was not captured here");
    interpreter.setOutput(call, 0,
                          interpreter.makeUnknown("a graph that is not known"));
    return success();
  }
  interpreter.setOutput(
      call, 0, Value::makeHandle(HandleKind::GraphExec, graph.integer));
  return success();
}

static Value launchGraph(Interpreter &interpreter, const CallSite &call) {
  Value graph = interpreter.getArgument(call, 0);
  StreamId stream = interpreter.toStream(interpreter.getArgument(call, 1));
  Event &event = interpreter.addEvent(EventKind::GraphLaunch, call.site);
  event.call = call.qualifiedName;
  event.stream = stream;
  bool certain = event.certain;
  std::vector<std::string> doubts = event.uncertainBecause;
  auto found = graph.kind == Value::Kind::Handle
                   ? interpreter.graphs.find(graph.integer)
                   : interpreter.graphs.end();
  if (found == interpreter.graphs.end()) {
    interpreter.markIncomplete("what the graph launched by " +
                               at(interpreter, call) + " runs is not known");
    return success();
  }
  for (Event captured : found->second) {
    captured.captured = true;
    captured.stream = stream;
    captured.certain &= certain;
    captured.uncertainBecause.insert(captured.uncertainBecause.end(),
                                     doubts.begin(), doubts.end());
    interpreter.trace.events.push_back(std::move(captured));
  }
  return success();
}

/// cudaStreamSetAttribute(stream, id, value)
static Value setStreamAttribute(Interpreter &interpreter,
                                const CallSite &call) {
  Value id = interpreter.getArgument(call, 1);
  if (id.isInteger() && id.integer != 1)
    return success();
  Event &event = interpreter.addEvent(EventKind::AccessWindow, call.site);
  event.call = call.qualifiedName;
  if (!id.isInteger()) {
    event.certain = false;
    event.uncertainBecause.push_back("the kind of attribute is not known");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

using Model = Value (*)(Interpreter &, const CallSite &);

static const llvm::StringMap<Model> &getModels() {
  static const llvm::StringMap<Model> kModels = [] {
    llvm::StringMap<Model> table;
    auto add = [&](std::initializer_list<llvm::StringRef> names, Model model) {
      for (llvm::StringRef name : names)
        table[name] = model;
    };
    add({"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync",
         "cudaMallocFromPoolAsync", "cudaMallocHost", "cudaHostAlloc",
         "cuMemAlloc", "cuMemAlloc_v2", "cuMemAllocAsync", "cuMemAllocManaged",
         "cuMemAllocHost", "cuMemAllocHost_v2", "cuMemHostAlloc"},
        [](Interpreter &i, const CallSite &c) { return allocate(i, c, 1); });
    add({"cudaMallocPitch", "cuMemAllocPitch", "cuMemAllocPitch_v2"},
        [](Interpreter &i, const CallSite &c) { return allocate(i, c, 3); });
    add({"cudaFree", "cudaFreeAsync", "cudaFreeHost", "cuMemFree",
         "cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost"},
        release);
    add({"cudaMemcpy", "cudaMemcpyAsync"},
        [](Interpreter &i, const CallSite &c) {
          return copy(i, c, 0, 1, 2, 4);
        });
    add({"cudaMemcpy2D", "cudaMemcpy2DAsync"},
        [](Interpreter &i, const CallSite &c) {
          return copy(i, c, 0, 2, 4, 7);
        });
    add({"cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"},
        [](Interpreter &i, const CallSite &c) {
          return copy(i, c, 0, 1, 2, 5);
        });
    add({"cudaMemcpyFromSymbol", "cudaMemcpyFromSymbolAsync"},
        [](Interpreter &i, const CallSite &c) {
          return copy(i, c, 0, 1, 2, 5);
        });
    add({"cudaMemcpyPeer", "cudaMemcpyPeerAsync"},
        [](Interpreter &i, const CallSite &c) {
          return copy(i, c, 0, 2, 4, 5, /*peer=*/true);
        });
    add({"cuMemcpy", "cuMemcpyAsync", "cuMemcpyDtoD_v2", "cuMemcpyDtoDAsync_v2",
         "cuMemcpyDtoH_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoD_v2",
         "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoD", "cuMemcpyDtoDAsync",
         "cuMemcpyDtoH", "cuMemcpyDtoHAsync", "cuMemcpyHtoD",
         "cuMemcpyHtoDAsync"},
        [](Interpreter &i, const CallSite &c) {
          return copy(i, c, 0, 1, 2, 3);
        });
    add({"cudaMemset", "cudaMemsetAsync", "cuMemsetD8_v2", "cuMemsetD16_v2",
         "cuMemsetD32_v2", "cuMemsetD8Async", "cuMemsetD16Async",
         "cuMemsetD32Async", "cuMemsetD8", "cuMemsetD16", "cuMemsetD32"},
        [](Interpreter &i, const CallSite &c) { return fill(i, c, 2, 3); });
    add({"cudaDeviceSynchronize", "cudaStreamSynchronize",
         "cudaEventSynchronize", "cuCtxSynchronize", "cuStreamSynchronize",
         "cuEventSynchronize", "cudaThreadSynchronize"},
        synchronize);

    add({"cudaGetDevice", "cuCtxGetDevice"},
        [](Interpreter &i, const CallSite &c) {
          i.setOutput(c, 0, Value::makeInteger(0));
          return success();
        });
    add({"cudaDeviceGetAttribute", "cuDeviceGetAttribute"},
        [](Interpreter &i, const CallSite &c) {
          i.setOutput(c, 0, getAttribute(i, i.getArgument(c, 1)));
          return success();
        });
    add({"cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"},
        getProperties);
    add({"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
         "cudaOccupancyMaxActiveClusters",
         "cudaOccupancyMaxPotentialClusterSize",
         "cuOccupancyMaxActiveBlocksPerMultiprocessor"},
        [](Interpreter &i, const CallSite &c) {
          Origins origins;
          origins.machine = true;
          i.setOutput(
              c, 0,
              i.makeUnknown("the occupancy asked for in " + at(i, c), origins));
          return success();
        });
    add({"cudaGetLastError", "cudaPeekAtLastError", "cudaSetDevice",
         "cudaFuncSetCacheConfig", "cudaDeviceSetLimit",
         "cudaCtxResetPersistingL2Cache", "cudaEventRecord",
         "cudaEventRecordWithFlags", "cudaStreamDestroy", "cudaEventDestroy",
         "cudaGraphDestroy", "cudaGraphExecDestroy", "cudaMemPrefetchAsync",
         "cudaMemAdvise", "cudaDeviceEnablePeerAccess", "cuInit",
         "cudaProfilerStart", "cudaProfilerStop", "cudaDeviceReset"},
        [](Interpreter &, const CallSite &) { return success(); });
    add({"cudaFuncSetAttribute", "cuFuncSetAttribute"}, setFunctionAttribute);

    add({"cudaLaunchKernel", "cudaLaunchKernel_ptsz"},
        [](Interpreter &i, const CallSite &c) {
          return launchKernel(i, c, false);
        });
    add({"cudaLaunchCooperativeKernel"}, [](Interpreter &i, const CallSite &c) {
      return launchKernel(i, c, true);
    });
    add({"cudaLaunchKernelExC"}, [](Interpreter &i, const CallSite &c) {
      return launchKernelEx(i, c, false);
    });
    add({"cudaLaunchKernelEx"}, [](Interpreter &i, const CallSite &c) {
      return launchKernelEx(i, c, true);
    });
    add({"cuLaunchKernel"}, [](Interpreter &i, const CallSite &c) {
      return driverLaunch(i, c, false);
    });
    add({"cuLaunchCooperativeKernel"}, [](Interpreter &i, const CallSite &c) {
      return driverLaunch(i, c, true);
    });
    add({"cuLaunchKernelEx"}, driverLaunchEx);

    add({"cuTensorMapEncodeTiled"}, encodeTiled);
    add({"cuTensorMapEncodeIm2col"}, encodeIm2col);
    add({"cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion",
         "cuGetProcAddress", "cuGetProcAddress_v2"},
        findEntryPoint);

    add({"cudaStreamCreate", "cudaStreamCreateWithFlags",
         "cudaStreamCreateWithPriority", "cuStreamCreate",
         "cuStreamCreateWithPriority"},
        [](Interpreter &i, const CallSite &c) {
          return makeHandle(i, c, HandleKind::Stream);
        });
    add({"cudaEventCreate", "cudaEventCreateWithFlags", "cuEventCreate"},
        [](Interpreter &i, const CallSite &c) {
          return makeHandle(i, c, HandleKind::Event);
        });
    add({"cudaStreamWaitEvent", "cuStreamWaitEvent"},
        [](Interpreter &i, const CallSite &c) {
          StreamId stream = i.toStream(i.getArgument(c, 0));
          // The stream joins a capture that the event comes from.
          if (!i.captures.empty())
            i.captures[stream] = true;
          Event &event = i.addEvent(EventKind::StreamWait, c.site);
          event.call = c.qualifiedName;
          event.stream = stream;
          event.captured = i.captures.contains(stream);
          return success();
        });
    add({"cudaStreamBeginCapture", "cuStreamBeginCapture_v2"}, beginCapture);
    add({"cudaStreamEndCapture", "cuStreamEndCapture"}, endCapture);
    add({"cudaGraphInstantiate", "cudaGraphInstantiateWithFlags",
         "cuGraphInstantiateWithFlags"},
        instantiate);
    add({"cudaGraphLaunch", "cuGraphLaunch"}, launchGraph);
    add({"cudaStreamSetAttribute", "cuStreamSetAttribute"}, setStreamAttribute);
    add({"cudaGetSymbolAddress"}, [](Interpreter &i, const CallSite &c) {
      // The symbol is passed by reference: its address is what is asked for.
      i.setOutput(c, 0,
                  c.arguments.size() > 1 ? c.arguments[1]
                                         : i.makeUnknown("a missing argument"));
      return success();
    });
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
  const llvm::StringMap<Model> &models = getModels();
  if (auto found = models.find(name); found != models.end())
    return found->second(interpreter, call);
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
