// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What d2k-translate does with machine code: cubins, files that hold some, and
// the JSON of nvdisasm.

#ifndef D2K_TOOLS_D2K_TRANSLATE_SASSACTIONS_H
#define D2K_TOOLS_D2K_TRANSLATE_SASSACTIONS_H

#include "d2k/Frontend/SASS/Module.h"

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace d2k {

/// Reads the images of the file \p path; with \p arch only those for that
/// architecture. Text that begins with `[` is nvdisasm's JSON.
Result<std::vector<sass::Module>> readSass(const std::string &path,
                                           const std::string &arch);

/// One line an image: name, architecture, functions, instructions.
void printSassSummary(const std::vector<sass::Module> &modules,
                      llvm::raw_ostream &os);

/// Every instruction with the registers that it reads and writes.
void printSassRegisters(const std::vector<sass::Module> &modules,
                        llvm::raw_ostream &os);

/// Every block with its successors.
void printSassBlocks(const std::vector<sass::Module> &modules,
                     llvm::raw_ostream &os);

/// Remarks about what is not modelled, to \p os.
void printSassRemarks(const std::vector<sass::Module> &modules,
                      llvm::raw_ostream &os);

} // namespace d2k

#endif // D2K_TOOLS_D2K_TRANSLATE_SASSACTIONS_H
