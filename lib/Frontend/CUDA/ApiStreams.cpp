// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of streams, events and graphs.

#include "ApiModels.h"

using namespace d2k;
using namespace d2k::cuda;

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
  bool dependsOnArguments = event.dependsOnArguments;
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
    captured.dependsOnArguments &= dependsOnArguments;
    captured.uncertainBecause.insert(captured.uncertainBecause.end(),
                                     doubts.begin(), doubts.end());
    interpreter.trace.events.push_back(std::move(captured));
  }
  return success();
}

Event *cuda::addAccessWindow(Interpreter &interpreter, Cell *window,
                             const clang::Expr *site) {
  auto getField = [&](const char *name) {
    Cell *field = interpreter.findField(window, name);
    return field ? interpreter.load(Value::makePointer(field), field->type)
                 : Value();
  };
  Value bytes = getField("num_bytes");
  Value hit = getField("hitProp"), miss = getField("missProp");
  auto isZero = [](const Value &value) {
    return value.isInteger() && value.integer == 0;
  };
  if (isZero(bytes) || (isZero(hit) && isZero(miss)))
    return nullptr;
  Event &event = interpreter.addEvent(EventKind::AccessWindow, site);
  if (!bytes.isInteger() && !bytes.origins.problem && !bytes.origins.machine) {
    event.certain = event.dependsOnArguments = false;
    event.uncertainBecause.push_back("has a window whose size is not known");
  }
  return &event;
}

/// cudaStreamSetAttribute(stream, id, value)
static Value setStreamAttribute(Interpreter &interpreter,
                                const CallSite &call) {
  Value id = interpreter.getArgument(call, 1);
  if (id.isInteger() && id.integer != 1)
    return success();
  StreamId stream = interpreter.toStream(interpreter.getArgument(call, 0));
  Cell *window = interpreter.findField(interpreter.getRecord(call, 2),
                                       "accessPolicyWindow");
  Event *event = addAccessWindow(interpreter, window, call.site);
  if (!event)
    return success();
  event->call = call.qualifiedName;
  event->stream = stream;
  if (!id.isInteger()) {
    event->certain = event->dependsOnArguments = false;
    event->uncertainBecause.push_back("the kind of attribute is not known");
  }
  return success();
}

/// cudaStreamQuery, cudaEventQuery: asked once it does not wait, asked again
/// and again it does.
static Value query(Interpreter &interpreter, const CallSite &call) {
  Event &event = interpreter.addEvent(EventKind::Synchronize, call.site);
  event.call = call.qualifiedName;
  event.certain = event.dependsOnArguments = false;
  event.uncertainBecause.push_back(
      "asks whether the device is done, which is a wait when it is repeated");
  return success();
}

void cuda::addStreamModels(ModelTable &table) {
  table.add({"cudaStreamCreate", "cudaStreamCreateWithFlags",
             "cudaStreamCreateWithPriority", "cuStreamCreate",
             "cuStreamCreateWithPriority"},
            [](Interpreter &i, const CallSite &c) {
              return makeHandle(i, c, HandleKind::Stream);
            });
  table.add({"cudaEventCreate", "cudaEventCreateWithFlags", "cuEventCreate"},
            [](Interpreter &i, const CallSite &c) {
              return makeHandle(i, c, HandleKind::Event);
            });
  table.add({"cudaStreamWaitEvent", "cuStreamWaitEvent"},
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
  table.add({"cudaStreamBeginCapture", "cuStreamBeginCapture_v2"},
            beginCapture);
  table.add({"cudaStreamEndCapture", "cuStreamEndCapture"}, endCapture);
  table.add({"cudaGraphInstantiate", "cudaGraphInstantiateWithFlags",
             "cuGraphInstantiateWithFlags"},
            instantiate);
  table.add({"cudaGraphLaunch", "cuGraphLaunch"}, launchGraph);
  table.add({"cudaStreamSetAttribute", "cuStreamSetAttribute"},
            setStreamAttribute);
  table.add(
      {"cudaStreamQuery", "cudaEventQuery", "cuStreamQuery", "cuEventQuery"},
      query);
}
