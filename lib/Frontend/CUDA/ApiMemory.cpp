// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of allocation, copies and synchronization.

#include "ApiModels.h"

using namespace d2k;
using namespace d2k::cuda;

static Value allocate(Interpreter &interpreter, const CallSite &call,
                      unsigned sizeAt) {
  Value size = interpreter.getArgument(call, sizeAt);
  Buffer buffer;
  // The host reads some of it without a copy.
  bool isShared = call.name.contains("Managed") || call.name.contains("Host");
  buffer.kind = isShared ? Buffer::Kind::Foreign : Buffer::Kind::Allocation;
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

/// The stream in argument `at`, or the default one where there is none.
static StreamId getStream(Interpreter &interpreter, const CallSite &call,
                          std::optional<unsigned> at) {
  return at && *at < call.arguments.size()
             ? interpreter.toStream(interpreter.getArgument(call, *at))
             : 1;
}

/// A copy; `asynchronous` when the host does not wait for it.
static Value copy(Interpreter &interpreter, const CallSite &call,
                  unsigned destinationAt, unsigned sourceAt, unsigned sizeAt,
                  std::optional<unsigned> streamAt, bool peer = false) {
  Value destination = interpreter.getArgument(call, destinationAt);
  Value source = interpreter.getArgument(call, sourceAt);
  Value size = interpreter.getArgument(call, sizeAt);
  bool asynchronous = call.name.contains("Async");
  StreamId stream = getStream(interpreter, call, streamAt);
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
  StreamId stream = getStream(interpreter, call, streamAt);
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

void cuda::addMemoryModels(ModelTable &table) {
  table.add(
      {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync",
       "cudaMallocFromPoolAsync", "cudaMallocHost", "cudaHostAlloc",
       "cuMemAlloc", "cuMemAlloc_v2", "cuMemAllocAsync", "cuMemAllocManaged",
       "cuMemAllocHost", "cuMemAllocHost_v2", "cuMemHostAlloc"},
      [](Interpreter &i, const CallSite &c) { return allocate(i, c, 1); });
  table.add(
      {"cudaMallocPitch", "cuMemAllocPitch", "cuMemAllocPitch_v2"},
      [](Interpreter &i, const CallSite &c) { return allocate(i, c, 3); });
  table.add({"cudaFree", "cudaFreeAsync", "cudaFreeHost", "cuMemFree",
             "cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost"},
            release);
  table.add(
      {"cudaMemcpy", "cudaMemcpyAsync"},
      [](Interpreter &i, const CallSite &c) { return copy(i, c, 0, 1, 2, 4); });
  table.add(
      {"cudaMemcpy2D", "cudaMemcpy2DAsync"},
      [](Interpreter &i, const CallSite &c) { return copy(i, c, 0, 2, 4, 7); });
  table.add(
      {"cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"},
      [](Interpreter &i, const CallSite &c) { return copy(i, c, 0, 1, 2, 5); });
  table.add(
      {"cudaMemcpyFromSymbol", "cudaMemcpyFromSymbolAsync"},
      [](Interpreter &i, const CallSite &c) { return copy(i, c, 0, 1, 2, 5); });
  table.add({"cudaMemcpyPeer", "cudaMemcpyPeerAsync"},
            [](Interpreter &i, const CallSite &c) {
              return copy(i, c, 0, 2, 4, 5, /*peer=*/true);
            });
  table.add(
      {"cuMemcpy", "cuMemcpyAsync", "cuMemcpyDtoD_v2", "cuMemcpyDtoDAsync_v2",
       "cuMemcpyDtoH_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoD_v2",
       "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoD", "cuMemcpyDtoDAsync",
       "cuMemcpyDtoH", "cuMemcpyDtoHAsync", "cuMemcpyHtoD",
       "cuMemcpyHtoDAsync"},
      [](Interpreter &i, const CallSite &c) { return copy(i, c, 0, 1, 2, 3); });
  table.add({"cudaMemset", "cudaMemsetAsync", "cuMemsetD8_v2", "cuMemsetD16_v2",
             "cuMemsetD32_v2", "cuMemsetD8Async", "cuMemsetD16Async",
             "cuMemsetD32Async", "cuMemsetD8", "cuMemsetD16", "cuMemsetD32"},
            [](Interpreter &i, const CallSite &c) { return fill(i, c, 2, 3); });
  table.add({"cudaDeviceSynchronize", "cudaStreamSynchronize",
             "cudaEventSynchronize", "cuCtxSynchronize", "cuStreamSynchronize",
             "cuEventSynchronize", "cudaThreadSynchronize"},
            synchronize);

  table.add({"cudaGetSymbolAddress"}, [](Interpreter &i, const CallSite &c) {
    // The symbol is passed by reference: its address is what is asked for.
    i.setOutput(c, 0,
                c.arguments.size() > 1 ? c.arguments[1]
                                       : i.makeUnknown("a missing argument"));
    return success();
  });
}
