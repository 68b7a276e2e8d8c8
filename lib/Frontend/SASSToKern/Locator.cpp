// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Locator.h"

#include "d2k/Dialect/Kern/Location.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;

Locator::Locator(MLIRContext &context, const sass::Module &module)
    : context(context), sassFile(StringAttr::get(&context, module.name)),
      ptxFile(StringAttr::get(&context, module.name + ".ptx")),
      lines(module.lines) {}

LocationAttr Locator::getSource(const sass::Function &function,
                                uint32_t offset) {
  std::vector<sass::LineFrame> frames =
      lines.source.lookup(function.name, offset);
  auto same = [](const sass::LineFrame &a, const sass::LineFrame &b) {
    return a.line == b.line && a.column == b.column && a.file == b.file &&
           a.function == b.function;
  };
  if (std::equal(frames.begin(), frames.end(), lastFrames.begin(),
                 lastFrames.end(), same))
    return lastSource;
  LocationAttr stack;
  // The outermost frame first: each inner one is called from what is there.
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    LocationAttr place = FileLineColLoc::get(
        StringAttr::get(&context, frame->file), frame->line, frame->column);
    if (!frame->function.empty())
      place = NameLoc::get(StringAttr::get(&context, frame->function),
                           Location(place));
    stack =
        stack ? LocationAttr(CallSiteLoc::get(Location(place), Location(stack)))
              : place;
  }
  lastFrames = std::move(frames);
  lastSource = stack;
  return stack;
}

Location Locator::locate(const sass::Function &function, uint32_t offset) {
  auto sass = FileLineColLoc::get(sassFile, offset, 0);
  FileLineColLoc ptx;
  std::vector<sass::LineFrame> ptxLines =
      lines.ptx.lookup(function.name, offset);
  if (!ptxLines.empty())
    ptx = FileLineColLoc::get(ptxFile, ptxLines.front().line, 0);
  return kern::makeSassLocation(sass, ptx, getSource(function, offset));
}
