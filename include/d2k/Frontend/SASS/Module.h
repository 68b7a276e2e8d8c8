// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A unit of machine code for one architecture (a cubin), with what its ELF
// sections say about each function, and how to get one from a file: cubins,
// and fatbins, objects, libraries and programs that hold several.
//
// Reading a file goes like this:
//
//   Result<std::vector<Image>> images = listImages("libfoo.so", options);
//   Result<Module> module = readImage(images->front(), options);
//   for (const Function &function : module->functions) ...

#ifndef D2K_FRONTEND_SASS_MODULE_H
#define D2K_FRONTEND_SASS_MODULE_H

#include "d2k/Frontend/SASS/AST.h"
#include "d2k/Frontend/SASS/DebugLines.h"
#include "d2k/Support/Failure.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::sass {

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

/// An architecture: `sm_90a`.
struct Target {
  /// 80, 86, 90, 100, ...
  unsigned number = 0;
  /// 'a' (this architecture only), 'f' (its family), or 0.
  char suffix = 0;

  /// "sm_90a".
  std::string getName() const;
  friend bool operator==(const Target &, const Target &) = default;
  friend auto operator<=>(const Target &, const Target &) = default;
};

/// Reads `sm_90a`, `90a`, `compute_90a`; nothing when it is none of them.
std::optional<Target> parseTarget(std::string_view text);

/// Whether the opcode table was made for \p target: sm_80 and later numbers
/// that the oracles have seen.
bool isSupported(Target target);

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A kernel parameter as the cubin describes it (EIATTR_KPARAM_INFO).
struct Parameter {
  uint32_t ordinal = 0;
  /// Bytes from the start of the parameters in constant bank 0.
  uint32_t offset = 0;
  uint32_t size = 0;

  friend bool operator==(const Parameter &, const Parameter &) = default;
};

/// What the ELF sections say about a function. Fields without value are not in
/// the cubin, or the input had no ELF sections.
struct FunctionInfo {
  /// Registers of a thread (EIATTR_REGCOUNT).
  std::optional<uint32_t> registers;
  /// Barriers (BAR) that the kernel uses (EIATTR_NUM_BARRIERS, else the
  /// section's flags).
  std::optional<uint32_t> barriers;
  /// Bytes of statically allocated shared memory (.nv.shared.NAME), without
  /// the 1024 that the system reserves in front of it from sm_90 on.
  std::optional<uint32_t> staticShared;
  /// Bytes of the thread's frame in local memory, spills included
  /// (EIATTR_FRAME_SIZE), and of the deepest chain of calls
  /// (EIATTR_MIN_STACK_SIZE).
  std::optional<uint32_t> frameSize;
  std::optional<uint32_t> stackSize;
  /// EIATTR_MAX_THREADS: __launch_bounds__ or .maxntid.
  std::optional<std::array<uint32_t, 3>> maxThreads;
  /// EIATTR_REQNTID.
  std::optional<std::array<uint32_t, 3>> requiredThreads;
  /// EIATTR_CTA_PER_CLUSTER: __cluster_dims__.
  std::optional<std::array<uint32_t, 3>> clusterSize;
  /// EIATTR_EXPLICIT_CLUSTER.
  bool explicitCluster = false;
  /// Where parameters begin in constant bank 0, and how many bytes they have
  /// (EIATTR_PARAM_CBANK).
  std::optional<uint32_t> parameterBase;
  std::optional<uint32_t> parameterSize;
  /// By ordinal.
  std::vector<Parameter> parameters;
  /// Possible targets of the indirect branch at an offset
  /// (EIATTR_INDIRECT_BRANCH_TARGETS).
  std::map<uint32_t, std::vector<uint32_t>> indirectTargets;
  /// Offsets of EXIT instructions (EIATTR_EXIT_INSTR_OFFSETS).
  std::vector<uint32_t> exits;
};

/// A function symbol inside the section of a function: a subroutine that
/// CALL.REL reaches.
struct Subroutine {
  std::string name;
  /// Bytes from the start of the section, and length.
  uint32_t offset = 0;
  uint32_t length = 0;
};

/// One `.text.NAME` section: a kernel with its subroutines, or a device
/// function.
struct Function {
  /// Mangled, without `.text.`.
  std::string name;
  /// A kernel, as opposed to a function that other code calls. nvdisasm's JSON
  /// does not tell: there, every function that begins a section is one.
  bool isKernel = false;
  FunctionInfo info;
  /// By offset, the function itself not included.
  std::vector<Subroutine> subroutines;
  /// By offset. Padding (NOP, and the BRA to itself before it) included.
  std::vector<Instruction> instructions;
  /// In the order of the text; block 0 is the entry. Blocks that the entry
  /// does not reach are listed too.
  std::vector<Block> blocks;

  /// Index of the instruction at \p offset, if one starts there.
  std::optional<uint32_t> findInstruction(uint32_t offset) const;
  /// Index of the block that holds instruction \p index.
  uint32_t getBlockOf(uint32_t index) const;
  /// Whether \p instruction of this function is a call in form only:
  /// CALL.NOINC stores no return address, and where it goes to is in the same
  /// part of the section, that is in the function or subroutine that the
  /// instruction is in. ptxas writes branches out of loops so.
  bool isJump(const Instruction &instruction) const;
};

/// Something that was met while reading and is no error: unknown opcodes and
/// operand forms, damaged line tables.
struct Remark {
  std::string function;
  uint32_t offset = 0;
  std::string message;
};

/// The functions of one cubin.
struct Module {
  /// File, and what part of it: `libfoo.so: 3.sm_90a.cubin`.
  std::string name;
  Target target;
  /// The compiler that made it, `Cuda compilation tools, release 13.0,
  /// V13.0.88`, and its options, from .note.nv.tkinfo; empty when not there.
  std::string producer;
  std::string producerOptions;
  /// The disassembler: "nvdisasm V13.2.51 ...".
  std::string disassembler;
  /// In the order of the file.
  std::vector<Function> functions;
  /// One a spelling.
  std::vector<Remark> remarks;
  /// What the addresses in constant bank 4 point to, by offset: global
  /// variables, functions and strings by the names of their symbols.
  std::map<uint32_t, std::string> addressTable;
  /// Source and PTX lines of the instructions; empty for nvdisasm's JSON. That
  /// a table is damaged is a remark.
  DebugLines lines;
  /// Seconds that nvdisasm took; 0 for JSON that was made before.
  double disassemblySeconds = 0;
  /// Owns what Instruction::mnemonic points to; its addresses are stable.
  std::deque<Mnemonic> mnemonics;

  Module() = default;
  // Copies would point into the original.
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  Module(Module &&) = default;
  Module &operator=(Module &&) = default;

  const Function *findFunction(std::string_view name) const;
};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

class PreparedDisassembler;

struct ReadOptions {
  /// Programs to use; empty: findCudaTool finds them when they are needed.
  std::string nvdisasm;
  std::string cuobjdump;
  /// An nvdisasm that waits for the code, when there is one.
  PreparedDisassembler *prepared = nullptr;
};

/// The machine code for one architecture in a file.
struct Image {
  /// For messages and reports: the path, and the member when the file is a
  /// container.
  std::string name;
  Target target;
  /// The cubin: an ELF file of machine EM_CUDA.
  std::string bytes;
};

/// Whether \p bytes begin like a cubin, and whether they begin like anything
/// that listImages can take apart (ELF, fatbin, `!<arch>`).
bool isCubin(std::string_view bytes);
bool isContainer(std::string_view bytes);

/// The images in the file \p path: itself for a cubin; for fatbins, objects,
/// archives, libraries and programs those that cuobjdump lists. Fails with
/// kind Input when the file is no such file, is damaged, or has no machine
/// code: the message says what it has instead (host code only, PTX for
/// compute_90, LTO-IR).
Result<std::vector<Image>> listImages(const std::string &path,
                                      const ReadOptions &options = {});

/// Reads all of \p image but the code, for which no tool is needed: functions
/// without instructions and blocks. Fails with kind Input when the image is
/// damaged or for an unknown architecture.
Result<Module> readImageSections(const Image &image);

/// Disassembles \p image with nvdisasm and reads its sections. Fails with kind
/// Input when the image is damaged or nvdisasm refuses it, and with kind
/// Environment when there is no nvdisasm.
Result<Module> readImage(const Image &image, const ReadOptions &options = {});

/// Reads what `nvdisasm -json` printed, without a cubin: no encodings and no
/// FunctionInfo, and the suffix of the target is known only when the JSON has
/// the options of the compiler. \p name stands for the file in messages.
Result<Module> readNvdisasmJson(std::string_view text, const std::string &name);

} // namespace d2k::sass

#endif // D2K_FRONTEND_SASS_MODULE_H
