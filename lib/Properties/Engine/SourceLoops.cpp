// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Properties/SourceLoops.h"

#include "mlir/IR/Builders.h"

using namespace d2k;
using namespace mlir;

static constexpr llvm::StringLiteral kAttribute = "kern.source_loops";

void properties::setSourceLoops(ModuleOp module,
                                const std::vector<SourceLoop> &loops) {
  Builder builder(module.getContext());
  SmallVector<Attribute> list;
  for (const SourceLoop &loop : loops) {
    SmallVector<NamedAttribute> entries;
    auto add = [&](StringRef name, std::optional<int64_t> number) {
      if (number)
        entries.push_back(
            builder.getNamedAttr(name, builder.getI64IntegerAttr(*number)));
    };
    entries.push_back(
        builder.getNamedAttr("file", builder.getStringAttr(loop.file)));
    add("line", loop.line);
    add("column", loop.column);
    add("head_end", loop.headEnd);
    add("end", loop.end);
    add("step", loop.step);
    add("unroll", loop.unroll);
    if (!loop.function.empty())
      entries.push_back(builder.getNamedAttr(
          "function", builder.getStringAttr(loop.function)));
    SmallVector<Attribute> accesses;
    for (const SourceAccess &access : loop.accesses)
      accesses.push_back(builder.getDenseI64ArrayAttr(
          {access.line, access.bytes, access.loads, access.stores}));
    if (!accesses.empty())
      entries.push_back(
          builder.getNamedAttr("accesses", builder.getArrayAttr(accesses)));
    list.push_back(builder.getDictionaryAttr(entries));
  }
  module->setAttr(kAttribute, builder.getArrayAttr(list));
}

/// Reads one loop; false when something is missing or of another kind.
static bool readLoop(DictionaryAttr entry, SourceLoop &loop) {
  if (!entry)
    return false;
  auto read = [&](StringRef name, auto &number) {
    auto attr = entry.getAs<IntegerAttr>(name);
    if (attr)
      number = attr.getInt();
    return bool(attr);
  };
  auto file = entry.getAs<StringAttr>("file");
  if (!file || !read("line", loop.line) || !read("column", loop.column) ||
      !read("head_end", loop.headEnd) || !read("end", loop.end))
    return false;
  loop.file = file.str();
  read("step", loop.step);
  read("unroll", loop.unroll);
  if (auto function = entry.getAs<StringAttr>("function"))
    loop.function = function.str();
  if (auto accesses = entry.getAs<ArrayAttr>("accesses"))
    for (Attribute attr : accesses) {
      auto numbers = dyn_cast<DenseI64ArrayAttr>(attr);
      if (!numbers || numbers.size() != 4)
        return false;
      loop.accesses.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
    }
  return true;
}

std::optional<std::vector<SourceLoop>>
properties::getSourceLoops(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>(kAttribute);
  if (!list)
    return std::nullopt;
  std::vector<SourceLoop> loops(list.size());
  for (auto [attr, loop] : llvm::zip_equal(list, loops))
    if (!readLoop(dyn_cast<DictionaryAttr>(attr), loop))
      return std::nullopt;
  return loops;
}
