// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host does in one call of the entry function: launches with their
// configuration and arguments, copies, allocations, synchronizations, library
// calls, in the order in which they are issued. A trace belongs to one
// workload, whose axis values the interpreter put into the entry's arguments.
// It is plain data without Clang types; the interpreter in lib/Frontend/CUDA
// fills it, host properties read it.
//
// Three-state answers. What the interpreter could evaluate is a number; what it
// could not is a Quantity without a value and with the expression that stopped
// it. An event under a condition that could not be evaluated is not `certain`:
// both branches were taken. CUDA calls are taken to succeed, so the error paths
// behind them are not followed.

#ifndef D2K_FRONTEND_CUDA_HOSTTRACE_H
#define D2K_FRONTEND_CUDA_HOSTTRACE_H

#include "d2k/Fact/Fact.h"
#include "d2k/Fact/SourceLoop.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d2k::cuda {

/// On what a value depends, as far as the interpreter saw.
struct Origins {
  /// On the axes or scalars of the entry's arguments.
  bool problem = false;
  /// On the machine: multiprocessor count, occupancy, shared memory size.
  bool machine = false;

  Origins operator|(Origins other) const {
    return {problem || other.problem, machine || other.machine};
  }
};

/// An integer that the host computed.
struct Quantity {
  /// Nothing when it could not be evaluated.
  std::optional<int64_t> value;
  /// When there is no value: the expression that stopped it and where, "the
  /// result of readConfig() at k.cu:30".
  std::string unknown;
  Origins origins;
};

/// Device memory that the host names: a tensor of the task, the workspace, an
/// allocation, a global variable.
struct Buffer {
  enum class Kind : uint8_t {
    Input,
    Output,
    Workspace,
    Prepared,
    Allocation,
    Symbol,
    Foreign
  };
  Kind kind = Kind::Foreign;
  /// The tensor's or variable's name, "workspace", "cudaMalloc at k.cu:12".
  std::string name;
  /// Size in bytes, when known: of an allocation, or of a tensor of the task.
  std::optional<int64_t> bytes;
};

/// The description of a tensor that the TMA unit copies (CUDA driver API,
/// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col).
struct TensorMap {
  std::string dataType;
  /// Elements of each dimension, fastest first.
  std::vector<Quantity> dimensions;
  /// Bytes between neighbours in dimension i + 1.
  std::vector<Quantity> strides;
  /// Elements copied at once.
  std::vector<Quantity> box;
  std::vector<Quantity> elementStrides;
  /// 0, 32, 64 or 128 bytes (also for the atomicity variants); -1 when not
  /// known.
  int swizzleBytes = -1;
  std::string swizzle, interleave, l2Promotion, fill;
  /// Index in HostTrace::buffers.
  std::optional<size_t> buffer;
  SourceLocation where;
};

struct ArgumentField;

/// One argument of a launch.
struct Argument {
  enum class Kind : uint8_t {
    Unknown,
    Integer,
    Real,
    Pointer,
    TensorMap,
    Record
  };
  Kind kind = Kind::Unknown;
  /// Integer, or a null pointer: the value, also when not known.
  Quantity integer;
  double real = 0;
  /// Pointer: index in HostTrace::buffers; nothing when not known.
  std::optional<size_t> buffer;
  /// Pointer: bytes from the start of the buffer, when known.
  std::optional<int64_t> offset;
  /// TensorMap: index in HostTrace::tensorMaps.
  std::optional<size_t> tensorMap;
  /// Record: the fields.
  std::vector<ArgumentField> fields;
  /// Byte size of the parameter; 0 when not known.
  int64_t bytes = 0;
};

/// A field of an argument that is a record.
struct ArgumentField {
  /// Bytes from the start of the record.
  int64_t offset = 0;
  Argument value;
};

/// A stream, by where it came from: 0 is the entry's argument, 1 the default
/// stream, others are made by the host.
using StreamId = int;

enum class EventKind : uint8_t {
  Launch,
  /// cudaMemcpy and its relatives.
  Copy,
  /// cudaMemset and its relatives.
  Fill,
  Allocate,
  Free,
  /// The host waits for the device.
  Synchronize,
  /// An operation of a library on the device.
  Library,
  GraphInstantiate,
  GraphLaunch,
  /// A persisting or streaming access-policy window is set.
  AccessWindow,
  /// One stream waits for an event of another.
  StreamWait,
  /// A function that is not part of the submission and that may launch
  /// anything: it gets a kernel, a stream or device memory.
  Opaque,
};

/// "launch", "copy", ...
std::string_view getEventKindName(EventKind kind);

/// One thing that the host asks of the device.
struct Event {
  EventKind kind = EventKind::Launch;
  /// Always issued in this call, exactly `count` times.
  bool certain = true;
  /// The conditions and expressions that make it uncertain.
  std::vector<std::string> uncertainBecause;
  /// All of these depend on the entry's arguments: there are calls that issue
  /// it.
  bool dependsOnArguments = true;
  /// Times it is issued: more than 1 in a loop whose trip count is known and
  /// whose body does not change it.
  Quantity count;
  StreamId stream = 1;
  SourceLocation where;
  /// The call as written: "cudaMemcpyAsync", "cublasLtMatmul"; for a launch
  /// "<<<>>>" or the function.
  std::string call;

  //===--- Launch ---------------------------------------------------------===//
  /// Mangled as Clang does; see matchKernel for other compilers' names.
  std::string kernel;
  std::string kernelDemangled;
  /// Of a kernel that only its own file sees: that file. Others may have one of
  /// the same name.
  std::string kernelFile;
  std::array<Quantity, 3> grid, block, cluster;
  Quantity dynamicShared;
  bool cooperative = false;
  /// Programmatic stream serialization; nothing when it could not be told.
  std::optional<bool> programmaticSerialization = false;
  std::vector<Argument> arguments;
  /// Launched during stream capture: runs when the graph is launched.
  bool captured = false;

  //===--- Copy, Fill, Allocate, Free, Library ----------------------------===//
  /// Index in HostTrace::buffers.
  std::optional<size_t> destination, source;
  Quantity bytes;
  /// Copy between two devices.
  bool peer = false;
  /// "cuBLAS", "cuDNN", "CUB", "Thrust", "NCCL", "CUTLASS", ...
  std::string library;
};

/// One call of the entry function under one workload.
struct HostTrace {
  /// Id of the workload; empty when no workload was given.
  std::string workload;
  /// The host function that was called.
  std::string entry;
  std::vector<Event> events;
  std::vector<Buffer> buffers;
  std::vector<TensorMap> tensorMaps;
  /// Nothing stopped the interpreter: every event is in the list. Otherwise
  /// the reasons.
  bool complete = true;
  std::vector<std::string> incompleteBecause;
  /// Attributes set by cudaFuncSetAttribute: mangled kernel -> largest dynamic
  /// shared memory asked for.
  std::map<std::string, Quantity> maxDynamicShared;
  /// Values of the machine that were assumed: "multiprocessor count 132".
  std::vector<std::string> assumptions;
};

/// A kernel that some source defines.
struct KernelDefinition {
  std::string mangled;
  std::string demangled;
  SourceLocation where;
};

/// A place in device code that names a function of which there is an
/// approximate unit.
struct MathSite {
  enum class How : uint8_t {
    /// A function that stands for the unit: `__expf`.
    Intrinsic,
    /// Inline assembly.
    Assembly,
    /// An ordinary function that a flag turns into the unit.
    Flag,
    /// An ordinary function: the compiler decides what it makes of it.
    Plain
  };
  How how = How::Plain;
  /// "exp", "rcp": what the author asks for; empty for an ordinary function.
  std::string op;
  /// Units that it may become, as PTX spells them: "ex2"; empty for an ordinary
  /// function, which may become any.
  std::vector<std::string> units;
  /// "__expf", "ex2.approx.ftz.f32"
  std::string name;
  SourceLocation where;
  /// Lines of the statement around it.
  int64_t firstLine = 0, lastLine = 0;
};

/// The host side of a submission, and what its device code spells out.
struct HostProgram {
  /// Clang understood the host code: no errors outside of the bodies of device
  /// functions.
  bool complete = true;
  /// It understood those, too.
  bool deviceComplete = true;
  std::vector<std::string> diagnostics;
  /// Files that were read; not those of a precompiled header.
  std::vector<std::string> files;
  /// "Clang 22.1.8"
  std::string tool;
  double seconds = 0;
  std::vector<KernelDefinition> kernels;
  std::vector<MathSite> mathSites;
  /// The loops of device code.
  std::vector<SourceLoop> loops;
  /// The entry that was asked for, when no host function has its name.
  std::string missingEntry;
  /// Host functions that launch and that no other one calls, when that entry is
  /// missing.
  std::vector<std::string> possibleEntries;
  /// Kernel templates of which nothing is compiled, since nothing launches them
  /// or names their arguments.
  std::vector<KernelDefinition> unusedTemplates;
  /// One a workload, in their order. Without an entry to start from, one for
  /// each host function that launches and that no other function calls.
  std::vector<HostTrace> traces;
  /// The same call with every axis unknown: all branches that a shape can
  /// take.
  std::optional<HostTrace> anyShape;
};

/// The program as text, one event a line, for tests and for people who look
/// into what was understood.
std::string printHostProgram(const HostProgram &program);

} // namespace d2k::cuda

#endif // D2K_FRONTEND_CUDA_HOSTTRACE_H
