// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/LaunchTexts.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;
using kern::ArithKind;

/// Computations are trees here: shared parts are written out each time.
static constexpr size_t kMaxLength = 4000;
static constexpr unsigned kMaxDepth = 48;

namespace {
using Text = std::optional<std::string>;

class TextBuilder {
public:
  TextBuilder(KernelContext &kernel, const LaunchBindings &bindings)
      : kernel(kernel), index(kernel.getIndex()), bindings(bindings) {}
  Text get(ValueId value, unsigned depth = 0);

private:
  Text binary(const char *op, Text a, Text b) {
    if (!a || !b || a->size() + b->size() > kMaxLength)
      return std::nullopt;
    return op + (" " + *a) + " " + *b;
  }
  Text getParameter(OpId op, unsigned result);
  Text getArith(kern::ArithOp op, llvm::ArrayRef<ValueId> in, unsigned depth);
  Text getCompare(kern::CompareOp op, llvm::ArrayRef<ValueId> in,
                  unsigned result, unsigned depth);

  KernelContext &kernel;
  const KernelIndex &index;
  const LaunchBindings &bindings;
};
} // namespace

/// The leaf for special register `reg`, or empty.
static std::string getLeaf(llvm::StringRef reg) {
  auto axis = [&](llvm::StringRef prefix) {
    return reg.size() == prefix.size() + 2 && reg.starts_with(prefix) &&
           reg[prefix.size()] == '.';
  };
  std::string end = reg.size() > 2 ? reg.take_back(2).str() : "";
  if (axis("nctaid"))
    return "grid" + end;
  if (axis("ntid"))
    return "block" + end;
  if (axis("ctaid"))
    return "ctaid" + end;
  if (axis("cluster_nctaid"))
    return "cluster" + end;
  if (axis("nclusterid"))
    return "div grid" + end + " cluster" + end;
  if (axis("clusterid"))
    return "div ctaid" + end + " cluster" + end;
  if (reg == "cluster_nctarank")
    return "mul cluster.x mul cluster.y cluster.z";
  return "";
}

Text TextBuilder::getParameter(OpId op, unsigned result) {
  auto load = llvm::cast<kern::LoadOp>(index.getOp(op));
  const MemoryRoots &memory = kernel.getMemory();
  ValueId base = index.getId(load.getBase());
  llvm::ArrayRef<RootId> roots = memory.getRoots(base);
  auto offset = memory.getOffset(base);
  if (roots.size() != 1 || !offset || offset->first != offset->second ||
      memory.getRoot(roots[0]).kind != Root::Kind::Parameter)
    return std::nullopt;
  int64_t bytes = kern::getBits(load.getType()) / 8;
  int64_t at = offset->first + int64_t(load.getOffset()) + result * bytes;
  if (bytes == 0 || at < 0)
    return std::nullopt;
  return "param:" + std::to_string(memory.getRoot(roots[0]).number) + ":" +
         std::to_string(at) + ":" + std::to_string(bytes);
}

Text TextBuilder::getArith(kern::ArithOp op, llvm::ArrayRef<ValueId> in,
                           unsigned depth) {
  auto text = [&](unsigned i) { return get(in[i], depth + 1); };
  if (kern::isFloat(op.getType()) || in.empty())
    return std::nullopt;
  if (op.getKind() == ArithKind::Not) {
    if (op.getType() == kern::ElementType::Pred)
      return binary("eq", text(0), "0");
    return std::nullopt;
  }
  if (in.size() < 2)
    return std::nullopt;
  switch (op.getKind()) {
  case ArithKind::Add:
    return binary("add", text(0), text(1));
  case ArithKind::Sub:
    return binary("sub", text(0), text(1));
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
    return binary("mul", text(0), text(1));
  case ArithKind::MulHi:
    // The products that stand for a division by a constant.
    if (op.getType() != kern::ElementType::U32)
      return std::nullopt;
    if (std::optional<uint64_t> factor = kernel.getConstants().get(in[1]))
      return binary("shr",
                    binary("mul", text(0), std::to_string(uint32_t(*factor))),
                    "32");
    return std::nullopt;
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
    if (in.size() < 3)
      return std::nullopt;
    return binary("add", binary("mul", text(0), text(1)), text(2));
  case ArithKind::Div:
    return binary("div", text(0), text(1));
  case ArithKind::Rem:
    return binary("rem", text(0), text(1));
  case ArithKind::Min:
    return binary("min", text(0), text(1));
  case ArithKind::Max:
    return binary("max", text(0), text(1));
  case ArithKind::And:
    return binary("and", text(0), text(1));
  case ArithKind::Or:
    return binary("or", text(0), text(1));
  case ArithKind::Xor:
    return binary("xor", text(0), text(1));
  case ArithKind::Shl:
    return binary("shl", text(0), text(1));
  case ArithKind::Shr:
    return binary("shr", text(0), text(1));
  default:
    return std::nullopt;
  }
}

Text TextBuilder::getCompare(kern::CompareOp op, llvm::ArrayRef<ValueId> in,
                             unsigned result, unsigned depth) {
  if (in.size() < 2 || result > 1 || op.getResultType() ||
      kern::isFloat(op.getType()))
    return std::nullopt;
  Text a = get(in[0], depth + 1), b = get(in[1], depth + 1);
  Text text;
  switch (op.getPredicate()) {
  case kern::Compare::Lt:
  case kern::Compare::Lo:
    text = binary("lt", a, b);
    break;
  case kern::Compare::Gt:
  case kern::Compare::Hi:
    text = binary("lt", b, a);
    break;
  case kern::Compare::Le:
  case kern::Compare::Ls:
    text = binary("le", a, b);
    break;
  case kern::Compare::Ge:
  case kern::Compare::Hs:
    text = binary("le", b, a);
    break;
  case kern::Compare::Eq:
    text = binary("eq", a, b);
    break;
  case kern::Compare::Ne:
    text = binary("eq", binary("eq", a, b), "0");
    break;
  default:
    return std::nullopt;
  }
  if (result == 1)
    text = binary("eq", text, "0");
  if (std::optional<kern::BoolOp> combine = op.getCombine()) {
    if (in.size() < 3)
      return std::nullopt;
    Text with = get(in[2], depth + 1);
    if (op.getCombineNegated())
      with = binary("eq", with, "0");
    text = binary(*combine == kern::BoolOp::And  ? "and"
                  : *combine == kern::BoolOp::Or ? "or"
                                                 : "xor",
                  text, with);
  }
  return text;
}

Text TextBuilder::get(ValueId value, unsigned depth) {
  if (auto bound = bindings.find(value); bound != bindings.end())
    return bound->second;
  if (std::optional<int64_t> constant = kernel.getConstants().getSigned(value))
    return std::to_string(*constant);
  OpId id = index.getDef(value);
  // Guarded results may be old values.
  if (depth > kMaxDepth || id == kNone || index.getGuard(id) != kNone)
    return std::nullopt;
  mlir::Operation *op = index.getOp(id);
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  unsigned result = value - index.getFirstResult(id);
  if (auto special = llvm::dyn_cast<kern::SpecialOp>(op)) {
    std::string leaf = getLeaf(special.getReg());
    return leaf.empty() ? Text() : Text(leaf);
  }
  if (auto load = llvm::dyn_cast<kern::LoadOp>(op))
    return load.getSpace() == kern::Space::Param ? getParameter(id, result)
                                                 : std::nullopt;
  if (auto convert = llvm::dyn_cast<kern::ConvertOp>(op)) {
    bool integer = !kern::isFloat(convert.getFrom()) &&
                   !kern::isFloat(convert.getTo()) &&
                   kern::getBits(convert.getTo()) >= 32;
    return integer && in.size() == 1 ? get(in[0], depth + 1) : std::nullopt;
  }
  if (auto select = llvm::dyn_cast<kern::SelectOp>(op)) {
    if (getWidth(select.getCondition().getType()) != 1)
      return std::nullopt;
    Text condition = get(in[0], depth + 1);
    Text chosen = binary("", get(in[1], depth + 1), get(in[2], depth + 1));
    if (!condition || !chosen || condition->size() > kMaxLength)
      return std::nullopt;
    return "if " + *condition + *chosen;
  }
  if (auto arith = llvm::dyn_cast<kern::ArithOp>(op))
    return result == 0 ? getArith(arith, in, depth) : std::nullopt;
  if (auto compare = llvm::dyn_cast<kern::CompareOp>(op))
    return getCompare(compare, in, result, depth);
  return std::nullopt;
}

std::optional<std::string>
properties::getLaunchText(KernelContext &kernel, ValueId value,
                          const LaunchBindings &bindings) {
  return TextBuilder(kernel, bindings).get(value);
}
