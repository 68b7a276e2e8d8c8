// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of the functions that encode tensor maps, and of the look-up of driver
// functions, by which most programs get at them.

#include "ApiModels.h"

#include "clang/AST/ASTContext.h"

using namespace d2k;
using namespace d2k::cuda;

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

/// The type, address, dimensions and strides that every kind of map has in its
/// arguments 1 to 5. Returns the number of dimensions, 0 when it is not known
/// to be from `leastRank` to 5.
static int64_t readTensor(Interpreter &interpreter, const CallSite &call,
                          TensorMap &map, int64_t leastRank) {
  Value type = interpreter.getArgument(call, 1);
  Value rank = interpreter.getArgument(call, 2);
  map.dataType = type.isInteger() ? getDataTypeName(type.integer) : "unknown";
  map.buffer = interpreter.toBuffer(interpreter.getArgument(call, 3));
  int64_t dims =
      rank.isInteger() && rank.integer >= leastRank && rank.integer <= 5
          ? rank.integer
          : 0;
  map.dimensions =
      readArray(interpreter, interpreter.getArgument(call, 4), dims);
  map.strides = readArray(interpreter, interpreter.getArgument(call, 5),
                          dims > 0 ? dims - 1 : 0);
  return dims;
}

/// cuTensorMapEncodeTiled(map, type, rank, address, dims, strides, box,
///                        elementStrides, interleave, swizzle, l2, fill)
static Value encodeTiled(Interpreter &interpreter, const CallSite &call) {
  TensorMap map;
  int64_t dims = readTensor(interpreter, call, map, /*leastRank=*/1);
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
  int64_t dims = readTensor(interpreter, call, map, /*leastRank=*/3);
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

void cuda::addTensorMapModels(ModelTable &table) {
  table.add({"cuTensorMapEncodeTiled"}, encodeTiled);
  table.add({"cuTensorMapEncodeIm2col"}, encodeIm2col);
  table.add({"cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion",
             "cuGetProcAddress", "cuGetProcAddress_v2"},
            findEntryPoint);
}
