// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locations of kern: fused locations that their metadata tells from others and
// that say which parts they have.
//   "isa"       PTX line, source
//   "sass"      place in machine code [, source]
//   "sass+ptx"  place in machine code, PTX line [, source]

#include "d2k/Dialect/Kern/Location.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::kern;

static constexpr llvm::StringLiteral kPtx = "isa";
static constexpr llvm::StringLiteral kSass = "sass";
static constexpr llvm::StringLiteral kSassPtx = "sass+ptx";

namespace {
/// What a location says; parts that it lacks are null.
struct Parts {
  FileLineColLoc sass, ptx;
  LocationAttr source;
};
} // namespace

static Parts split(Location loc) {
  Parts parts;
  auto fused = dyn_cast<FusedLoc>(loc);
  auto metadata =
      fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : StringAttr();
  if (!metadata) {
    parts.ptx = dyn_cast<FileLineColLoc>(loc);
    return parts;
  }
  llvm::ArrayRef<Location> rest = fused.getLocations();
  auto takeLine = [&]() -> FileLineColLoc {
    if (rest.empty())
      return {};
    return dyn_cast<FileLineColLoc>(rest.consume_front());
  };
  if (metadata == kSass || metadata == kSassPtx)
    parts.sass = takeLine();
  if (metadata == kPtx || metadata == kSassPtx)
    parts.ptx = takeLine();
  if ((parts.sass || parts.ptx) && rest.size() == 1)
    parts.source = rest.front();
  return parts;
}

StringAttr kern::getPtxLocationKind(MLIRContext *context) {
  return StringAttr::get(context, kPtx);
}

Location kern::makeLocation(FileLineColLoc ptx, LocationAttr source,
                            StringAttr kind) {
  if (!source)
    return ptx;
  MLIRContext *context = ptx.getContext();
  Location parts[] = {ptx, source};
  // Directly: there is nothing to flatten and nothing that is there twice.
  return FusedLoc::get(context, parts,
                       kind ? kind : getPtxLocationKind(context));
}

Location kern::makeSassLocation(FileLineColLoc sass, FileLineColLoc ptx,
                                LocationAttr source) {
  MLIRContext *context = sass.getContext();
  llvm::SmallVector<Location, 3> parts = {sass};
  if (ptx)
    parts.push_back(ptx);
  if (source)
    parts.push_back(source);
  return FusedLoc::get(context, parts,
                       StringAttr::get(context, ptx ? kSassPtx : kSass));
}

FileLineColLoc kern::getSassLocation(Location loc) { return split(loc).sass; }

FileLineColLoc kern::getPtxLocation(Location loc) { return split(loc).ptx; }

LocationAttr kern::getSourceLocation(Location loc) { return split(loc).source; }

llvm::SmallVector<SourceLocation, 4> kern::getSourceLocations(Location loc) {
  llvm::SmallVector<SourceLocation, 4> stack;
  // Call sites may nest on both sides; the callee comes first.
  llvm::SmallVector<std::pair<LocationAttr, StringAttr>, 8> work;
  if (LocationAttr source = getSourceLocation(loc))
    work.push_back({source, StringAttr()});
  while (!work.empty()) {
    auto [current, function] = work.pop_back_val();
    if (auto call = dyn_cast<CallSiteLoc>(current)) {
      work.push_back({call.getCaller(), StringAttr()});
      work.push_back({call.getCallee(), StringAttr()});
    } else if (auto name = dyn_cast<NameLoc>(current)) {
      work.push_back({name.getChildLoc(), name.getName()});
    } else if (auto line = dyn_cast<FileLineColLoc>(current)) {
      stack.push_back(
          {line.getFilename(), line.getLine(), line.getColumn(), function});
    }
  }
  return stack;
}

Location kern::makeInlinedLocation(Location callee, Location callSite) {
  Parts inner = split(callee);
  LocationAttr outer = split(callSite).source;
  if (!outer || (!inner.ptx && !inner.sass))
    return callee;
  LocationAttr source =
      inner.source ? LocationAttr(CallSiteLoc::get(Location(inner.source),
                                                   Location(outer)))
                   : outer;
  return inner.sass ? makeSassLocation(inner.sass, inner.ptx, source)
                    : makeLocation(inner.ptx, source);
}
