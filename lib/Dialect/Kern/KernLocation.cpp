// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locations of kern: a FusedLoc of the PTX line and the source location, told
// from other fused locations by its metadata.

#include "d2k/Dialect/Kern/Location.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::kern;

static constexpr llvm::StringLiteral kMetadata = "isa";

/// The two halves of a location that makeLocation fused; null for any other.
static FusedLoc getFused(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused || fused.getLocations().size() != 2)
    return {};
  auto metadata = dyn_cast_or_null<StringAttr>(fused.getMetadata());
  return metadata && metadata.getValue() == kMetadata ? fused : FusedLoc();
}

Location kern::makeLocation(FileLineColLoc ptx, LocationAttr source) {
  if (!source)
    return ptx;
  MLIRContext *context = ptx.getContext();
  Location parts[] = {ptx, source};
  return FusedLoc::get(parts, StringAttr::get(context, kMetadata), context);
}

FileLineColLoc kern::getPtxLocation(Location loc) {
  if (FusedLoc fused = getFused(loc))
    loc = fused.getLocations().front();
  return dyn_cast<FileLineColLoc>(loc);
}

LocationAttr kern::getSourceLocation(Location loc) {
  if (FusedLoc fused = getFused(loc))
    return fused.getLocations().back();
  return {};
}

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
  LocationAttr inner = getSourceLocation(callee);
  LocationAttr outer = getSourceLocation(callSite);
  FileLineColLoc ptx = getPtxLocation(callee);
  if (!ptx || !outer)
    return callee;
  return makeLocation(ptx, inner ? LocationAttr(CallSiteLoc::get(
                                       Location(inner), Location(outer)))
                                 : outer);
}
