// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of the PTX text, and the source lines that `.file`, `.loc` and
// `.section .debug_str` give them.

#include "Lifter.h"
#include "d2k/Dialect/Kern/Location.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;

//===----------------------------------------------------------------------===//
// Lines of the text
//===----------------------------------------------------------------------===//

void ModuleLifter::indexLines() {
  bufferName = StringAttr::get(&context, buffer.getBufferIdentifier());
  locationKind = kern::getPtxLocationKind(&context);
  llvm::StringRef text = buffer.getBuffer();
  lineStarts.push_back(0);
  const char *at = text.begin();
  while (const void *newline = std::memchr(at, '\n', text.end() - at)) {
    at = static_cast<const char *>(newline) + 1;
    lineStarts.push_back(static_cast<uint32_t>(at - text.begin()));
  }
}

FileLineColLoc ModuleLifter::locate(ptx::Offset offset) {
  // Instructions come in order, mostly: the next one is a line or two ahead.
  auto holds = [&](uint32_t line) {
    return line < lineStarts.size() && lineStarts[line] <= offset &&
           (line + 1 == lineStarts.size() || offset < lineStarts[line + 1]);
  };
  uint32_t line = lineHint;
  while (line < lineHint + 4 && !holds(line))
    ++line;
  if (!holds(line))
    line = static_cast<uint32_t>(
        std::upper_bound(lineStarts.begin(), lineStarts.end(), offset) -
        lineStarts.begin() - 1);
  lineHint = line;
  return FileLineColLoc::get(bufferName, line + 1,
                             offset - lineStarts[line] + 1);
}

Location ModuleLifter::locate(ptx::Offset offset, LocationAttr source) {
  return kern::makeLocation(locate(offset), source, locationKind);
}

//===----------------------------------------------------------------------===//
// Source lines
//===----------------------------------------------------------------------===//

/// A file name with its escapes undone: nvcc writes bytes that are not ASCII as
/// three octal digits.
static std::string unescape(llvm::StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    unsigned value;
    llvm::StringRef digits = text.substr(i + 1, 3);
    if (digits.size() == 3 && !digits.getAsInteger(8, value) && value < 256) {
      result += static_cast<char>(value);
      i += 3;
      continue;
    }
    result += text[++i];
  }
  return result;
}

void ModuleLifter::readDebugInfo() {
  for (const ptx::Statement *statement : module.statements) {
    if (auto *file = dyn_cast<ptx::File>(statement))
      files[file->index] = StringAttr::get(&context, unescape(file->fileName));
    else if (auto *section = dyn_cast<ptx::Section>(statement))
      if (module.getText(section->name) == ".debug_str")
        readDebugStrings(*section);
  }
}

void ModuleLifter::readDebugStrings(const ptx::Section &section) {
  for (const ptx::SectionItem &item : section.items) {
    if (item.label) {
      debugLabels[item.label] = static_cast<uint32_t>(debugStrings.size());
      continue;
    }
    unsigned bytes = ptx::getBitWidth(item.type) / 8;
    for (const ptx::Operand &value : item.values) {
      uint64_t bits = value.is(ptx::OperandKind::Integer) ? value.bits : 0;
      for (unsigned i = 0; i < bytes; ++i)
        debugStrings += static_cast<char>(bits >> (8 * i));
    }
  }
}

LocationAttr ModuleLifter::getSource(const ptx::Location &directive) {
  if (directive.line == 0)
    return {};
  auto nameOf = [&](uint32_t file) {
    StringAttr name = files.lookup(file);
    return name ? name : StringAttr::get(&context, "<unknown file>");
  };
  LocationAttr frame = FileLineColLoc::get(nameOf(directive.file),
                                           directive.line, directive.column);
  if (const ptx::Operand *name = directive.functionName;
      name && name->is(ptx::OperandKind::Symbol)) {
    if (auto it = debugLabels.find(name->entity); it != debugLabels.end()) {
      size_t start = it->second + static_cast<size_t>(name->offset);
      if (start < debugStrings.size()) {
        llvm::StringRef text(debugStrings.c_str() + start);
        frame = NameLoc::get(StringAttr::get(&context, text), Location(frame));
      }
    }
  }
  auto key = [](uint32_t file, uint32_t line, uint32_t column) {
    return std::pair<uint64_t, uint64_t>((uint64_t(file) << 32) | line, column);
  };
  if (directive.inlinedAt) {
    // The call's own `.loc` came earlier and says where it was inlined in turn.
    const ptx::Location::InlinedAt &call = *directive.inlinedAt;
    LocationAttr caller = frames.lookup(key(call.file, call.line, call.column));
    if (!caller)
      caller = FileLineColLoc::get(nameOf(call.file), call.line, call.column);
    frame = CallSiteLoc::get(Location(frame), Location(caller));
  }
  frames[key(directive.file, directive.line, directive.column)] = frame;
  return frame;
}
