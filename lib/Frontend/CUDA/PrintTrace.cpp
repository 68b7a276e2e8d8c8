// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The textual form of host traces.

#include "d2k/Frontend/CUDA/HostTrace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace d2k;
using namespace d2k::cuda;

std::string_view d2k::cuda::getEventKindName(EventKind kind) {
  static constexpr std::string_view kNames[] = {
      "launch",       "copy",          "fill",        "allocate",
      "free",         "synchronize",   "library",     "graph_instantiate",
      "graph_launch", "access_window", "stream_wait", "opaque"};
  return kNames[size_t(kind)];
}

static std::string toText(const Quantity &quantity) {
  std::string text = quantity.value ? std::to_string(*quantity.value) : "?";
  if (quantity.origins.problem)
    text += "p";
  if (quantity.origins.machine)
    text += "m";
  return text;
}

static std::string toText(const std::array<Quantity, 3> &extent) {
  return toText(extent[0]) + "x" + toText(extent[1]) + "x" + toText(extent[2]);
}

static std::string toText(const std::vector<Quantity> &list) {
  std::string text;
  for (const Quantity &quantity : list)
    text += (text.empty() ? "" : ",") + toText(quantity);
  return "[" + text + "]";
}

static std::string toText(const HostTrace &trace, const Argument &argument) {
  switch (argument.kind) {
  case Argument::Kind::Unknown:
    return "?";
  case Argument::Kind::Integer:
    return toText(argument.integer);
  case Argument::Kind::Real: {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%g", argument.real);
    return text;
  }
  case Argument::Kind::Pointer:
    if (!argument.buffer)
      return "ptr";
    return trace.buffers[*argument.buffer].name +
           (argument.offset
                ? *argument.offset ? "+" + std::to_string(*argument.offset) : ""
                : "+?");
  case Argument::Kind::TensorMap:
    return "map" + std::to_string(*argument.tensorMap);
  case Argument::Kind::Record: {
    std::string text;
    for (const ArgumentField &field : argument.fields)
      text += (text.empty() ? "" : ", ") + std::to_string(field.offset) + ": " +
              toText(trace, field.value);
    return "{" + text + "}";
  }
  }
  return "?";
}

static void print(const HostTrace &trace, llvm::raw_ostream &os) {
  os << "trace " << trace.entry;
  if (!trace.workload.empty())
    os << " under " << trace.workload;
  os << (trace.complete ? "" : " (incomplete)") << '\n';
  for (const std::string &reason : trace.incompleteBecause)
    os << "  incomplete: " << reason << '\n';
  for (const std::string &assumption : trace.assumptions)
    os << "  assumes " << assumption << '\n';
  for (size_t i = 0; i < trace.tensorMaps.size(); ++i) {
    const TensorMap &map = trace.tensorMaps[i];
    os << "  map" << i << ' ' << map.dataType << " of "
       << (map.buffer ? trace.buffers[*map.buffer].name : "?") << " dims "
       << toText(map.dimensions) << " strides " << toText(map.strides)
       << " box " << toText(map.box) << " swizzle " << map.swizzle
       << " interleave " << map.interleave << " l2 " << map.l2Promotion << '\n';
  }
  for (const Event &event : trace.events) {
    os << "  " << getEventKindName(event.kind);
    if (!event.certain)
      os << '?';
    if (event.kind == EventKind::Launch) {
      os << ' ' << (event.kernelDemangled.empty() ? "?" : event.kernelDemangled)
         << " grid " << toText(event.grid) << " block " << toText(event.block);
      bool isCluster = false;
      for (const Quantity &extent : event.cluster)
        isCluster |= extent.value.value_or(2) > 1;
      if (isCluster)
        os << " cluster " << toText(event.cluster);
      os << " shared " << toText(event.dynamicShared);
      if (event.cooperative)
        os << " cooperative";
      if (!event.programmaticSerialization)
        os << " pdl?";
      else if (*event.programmaticSerialization)
        os << " pdl";
      os << " (";
      bool first = true;
      for (const Argument &argument : event.arguments) {
        os << (first ? "" : ", ") << toText(trace, argument);
        first = false;
      }
      os << ')';
    } else {
      os << ' ' << event.call;
      if (!event.library.empty())
        os << " of " << event.library;
      if (event.source)
        os << " from " << trace.buffers[*event.source].name;
      if (event.destination)
        os << " to " << trace.buffers[*event.destination].name;
    }
    if (event.count.value != 1)
      os << " times " << toText(event.count);
    os << " stream " << event.stream;
    if (event.captured)
      os << " captured";
    os << " line " << event.where.line << '\n';
    // What stopped the evaluation of the launch.
    llvm::SmallVector<llvm::StringRef> reasons;
    for (const auto &[name, extent] :
         {std::pair("grid", &event.grid), std::pair("block", &event.block)})
      for (const Quantity &part : *extent)
        if (event.kind == EventKind::Launch && !part.value &&
            !part.unknown.empty() &&
            !llvm::is_contained(reasons, part.unknown)) {
          reasons.push_back(part.unknown);
          os << "    its " << name << " depends on " << part.unknown << '\n';
        }
    for (const std::string &doubt : event.uncertainBecause)
      os << "    " << doubt << '\n';
  }
}

static void print(const SourceLoop &loop, llvm::raw_ostream &os) {
  os << "loop line " << loop.line << ':' << loop.column << " head to "
     << loop.headEnd << " end " << loop.end;
  if (loop.step)
    os << " step " << *loop.step;
  if (loop.unroll)
    os << " unroll " << *loop.unroll;
  os << " in " << (loop.function.empty() ? "?" : loop.function) << '\n';
  for (const SourceAccess &access : loop.accesses)
    os << "  line " << access.line << ": " << access.bytes << " bytes, "
       << access.loads << " loads, " << access.stores << " stores\n";
}

std::string d2k::cuda::printHostProgram(const HostProgram &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const std::string &message : program.diagnostics)
    os << "diagnostic " << message << '\n';
  for (const KernelDefinition &kernel : program.kernels)
    os << "kernel " << kernel.demangled << " line " << kernel.where.line
       << '\n';
  for (const SourceLoop &loop : program.loops)
    print(loop, os);
  for (const HostTrace &trace : program.traces)
    print(trace, os);
  if (program.anyShape) {
    os << "any shape\n";
    print(*program.anyShape, os);
  }
  return text;
}
