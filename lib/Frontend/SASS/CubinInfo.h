// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the sections of a cubin say about its functions and its architecture.

#ifndef D2K_LIB_FRONTEND_SASS_CUBININFO_H
#define D2K_LIB_FRONTEND_SASS_CUBININFO_H

#include "d2k/Frontend/SASS/Module.h"
#include "d2k/Support/Elf.h"

namespace d2k::sass {

/// The compiler's note (.note.nv.tkinfo).
struct CompilerNote {
  std::string version;
  std::string options;
};

/// Reads the note; empty when there is none or it has another layout.
CompilerNote readCompilerNote(const ElfFile &file);

/// The architecture of a cubin, from e_flags; the suffix from the compiler's
/// options or from the flag for architecture-specific features.
Target readTarget(const ElfFile &file, const CompilerNote &note);

/// What .nv.info, .nv.info.NAME, .nv.shared.NAME and the headers say about the
/// function in section \p index, `.text.NAME`. Attributes that are not known or
/// are cut off are skipped.
FunctionInfo readFunctionInfo(const ElfFile &file, size_t index, Target target);

/// The names that the relocations of .nv.constant4 give its entries.
Result<std::map<uint32_t, std::string>>
readAddressTable(const ElfFile &file, const std::string &name);

} // namespace d2k::sass

#endif // D2K_LIB_FRONTEND_SASS_CUBININFO_H
