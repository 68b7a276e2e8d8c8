// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes over the nodes of the data flow in reverse post-order (forward) and
// post-order (backward) run until nothing changes, which takes a handful of
// passes.

#include "d2k/Analysis/Provenance.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using Form = kern::MemoryAccess::Form;

static constexpr unsigned maskOf(ProductClass product) {
  return 1u << unsigned(product);
}
static constexpr unsigned kMul = maskOf(ProductClass::Mul);

Provenance::Provenance(const KernelIndex &index, const MemoryRoots &memory,
                       const DataFlow &flow)
    : memory(memory), flow(flow) {
  values.assign(index.getNumValues(), {});
  reach.assign(index.getNumValues(), Reach::None);
  memoryContent.assign(flow.getNumCells(), {});
  memoryReach.assign(flow.getNumCells(), Reach::None);
  solve();
  collectOutputs();
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

Provenance::Content Provenance::uniteValues(DataFlow::Span span) const {
  Content result;
  for (uint32_t v : flow.get(span)) {
    const Content &value = values[v];
    result.terms = result.terms | value.terms;
    result.chain = std::max(result.chain, value.chain);
    result.unknown |= value.unknown;
  }
  return result;
}

Provenance::Content Provenance::uniteObjects(DataFlow::Span span) const {
  Content result;
  for (uint32_t object : flow.get(span)) {
    const Content &value = memoryContent[object];
    result.terms = result.terms | value.terms;
    result.chain = std::max(result.chain, value.chain);
    result.unknown |= value.unknown;
  }
  return result;
}

/// Sums with at least so many products are dot products.
static constexpr uint8_t kDotProduct = 4;

Provenance::Content Provenance::evaluate(const DataFlow::Node &node) const {
  auto unite = [](Content x, const Content &y) {
    x.terms = x.terms | y.terms;
    x.chain = std::max(x.chain, y.chain);
    x.unknown |= y.unknown;
    return x;
  };
  Content a = uniteValues(node.a);
  switch (node.code) {
  case DataFlow::Code::Union:
    return unite(a, uniteValues(node.b));
  case DataFlow::Code::Phi:
  case DataFlow::Code::Store:
  case DataFlow::Code::Select:
    return a;
  case DataFlow::Code::LaneSum:
    return summedUp(a);
  case DataFlow::Code::Add: {
    Content b = uniteValues(node.b);
    Content sum = unite(a, b);
    if (a.chain && b.chain) {
      sum.chain = std::min<uint8_t>(kDotProduct, a.chain + b.chain);
      if (sum.chain == kDotProduct)
        sum.terms = sum.terms.summed();
    }
    return sum;
  }
  case DataFlow::Code::Mul: {
    if (node.zeroA || node.zeroB)
      return {};
    Content b = uniteValues(node.b);
    Content product = unite(a, b);
    if (!a.terms.empty() && !b.terms.empty()) {
      product.terms = a.terms.times(b.terms, kMul);
      product.chain = 1;
    }
    return product;
  }
  case DataFlow::Code::Fma: {
    Content c = uniteValues(node.c);
    if (node.zeroA || node.zeroB)
      return c;
    Content b = uniteValues(node.b);
    if (a.terms.empty() || b.terms.empty())
      return unite(unite(a, b), c);
    Content sum = c;
    sum.unknown |= a.unknown | b.unknown;
    sum.chain = std::min<uint8_t>(kDotProduct, c.chain + 1);
    sum.terms = c.terms | a.terms.times(b.terms, kMul);
    if (sum.chain == kDotProduct)
      sum.terms = sum.terms.summed();
    return sum;
  }
  case DataFlow::Code::Div: {
    Content b = uniteValues(node.b);
    Content result = unite(a, b);
    // A quotient is a product with an inverse.
    if (!a.terms.empty() && !b.terms.empty()) {
      result.terms = a.terms.times(b.terms, kMul);
      result.chain = 1;
    }
    return result;
  }
  case DataFlow::Code::Product: {
    a = unite(a, uniteObjects(node.readA));
    Content b = unite(uniteValues(node.b), uniteObjects(node.readB));
    Content c = uniteValues(node.c);
    if (node.zeroA || node.zeroB)
      return c;
    Content result = c;
    result.unknown |= a.unknown | b.unknown | node.readsUnknown;
    if (!a.terms.empty() && !b.terms.empty())
      result.terms = c.terms | a.terms.times(b.terms, maskOf(node.product));
    else
      result.terms = c.terms | a.terms | b.terms;
    return result;
  }
  case DataFlow::Code::Load:
  case DataFlow::Code::Copy:
  case DataFlow::Code::Update: {
    Content read = uniteObjects(node.readA);
    if (node.readsInput)
      read.terms = read.terms | Terms::input();
    read.unknown |= node.readsUnknown;
    return node.code == DataFlow::Code::Update ? unite(read, a) : read;
  }
  case DataFlow::Code::Unknown: {
    a.unknown = true;
    return a;
  }
  case DataFlow::Code::Condition:
    return {};
  }
  return {};
}

Provenance::Content Provenance::summedUp(Content content) {
  // An atomic runs often, and a warp has many lanes: products that they add up
  // are a dot product.
  if (content.chain != 0) {
    content.terms = content.terms.summed();
    content.chain = kDotProduct;
  }
  return content;
}

bool Provenance::apply(const DataFlow::Node &node) {
  Content result = evaluate(node);
  bool changed = false;
  auto merge = [&](Content &into, const Content &from) {
    Content merged = into;
    merged.terms = merged.terms | from.terms;
    merged.chain = std::max(merged.chain, from.chain);
    merged.unknown |= from.unknown;
    if (!(merged == into)) {
      into = merged;
      changed = true;
    }
  };
  for (uint32_t object : flow.get(node.written)) {
    // An update that only reads (an atomic counter) writes its own operand.
    if (node.code == DataFlow::Code::Update)
      merge(memoryContent[object], summedUp(uniteValues(node.a)));
    else
      merge(memoryContent[object], result);
  }
  if (node.code == DataFlow::Code::Store)
    return changed;
  llvm::ArrayRef<uint32_t> old = flow.get(node.old);
  for (uint32_t i = 0; i < node.numResults; ++i) {
    merge(values[node.result + i], result);
    if (!old.empty())
      merge(values[node.result + i], values[old[i]]);
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

bool Provenance::raise(ValueId value, Reach to) {
  if (reach[value] >= to)
    return false;
  reach[value] = to;
  return true;
}

bool Provenance::raiseObject(ObjectId object, Reach to) {
  // What an unknown address touches is never certain.
  if (!flow.isObject(object))
    to = std::min(to, Reach::May);
  if (memoryReach[object] >= to)
    return false;
  memoryReach[object] = to;
  return true;
}

bool Provenance::applyBackward(const DataFlow::Node &node) {
  bool changed = false;
  // How far what the operation makes reaches.
  Reach made = Reach::None;
  if (node.writesOutput)
    made = Reach::Must;
  else if (node.writesUnknown)
    made = Reach::May;
  llvm::ArrayRef<uint32_t> old = flow.get(node.old);
  for (uint32_t i = 0; i < node.numResults; ++i) {
    Reach result = reach[node.result + i];
    made = std::max(made, result);
    if (!old.empty())
      changed |= raise(old[i], result);
  }
  for (uint32_t object : flow.get(node.written)) {
    Reach there = memoryReach[object];
    made = std::max(made, !flow.isObject(object) ? std::min(there, Reach::May)
                                                 : there);
  }
  auto raiseAll = [&](DataFlow::Span span, Reach to) {
    for (uint32_t v : flow.get(span))
      changed |= raise(v, to);
  };
  auto raiseObjects = [&](DataFlow::Span span, Reach to) {
    for (uint32_t object : flow.get(span))
      changed |= raiseObject(object, to);
  };
  if (made != Reach::None || node.code == DataFlow::Code::Condition)
    raiseAll(node.control, Reach::Control);
  if (node.code == DataFlow::Code::Unknown) {
    // What an unknown operation is given may come out anywhere.
    bool writer = node.op != kNone &&
                  llvm::binary_search(flow.getUnknownWriters(), node.op);
    raiseAll(node.a, writer ? Reach::May : std::min(made, Reach::May));
    return changed;
  }
  if (made == Reach::None)
    return changed;
  switch (node.code) {
  case DataFlow::Code::Select:
    raiseAll(node.a, made);
    raiseAll(node.b, std::min(made, Reach::May));
    break;
  case DataFlow::Code::Mul:
    if (!node.zeroA && !node.zeroB) {
      raiseAll(node.a, made);
      raiseAll(node.b, made);
    }
    break;
  case DataFlow::Code::Fma:
  case DataFlow::Code::Product:
    if (!node.zeroA && !node.zeroB) {
      raiseAll(node.a, made);
      raiseAll(node.b, made);
      raiseObjects(node.readA, made);
      raiseObjects(node.readB, made);
    }
    raiseAll(node.c, made);
    break;
  case DataFlow::Code::Condition:
    break;
  case DataFlow::Code::Update: {
    // The value stored stays in memory whatever becomes of the value read.
    Reach stays = node.writesOutput
                      ? Reach::Must
                      : (node.writesUnknown ? Reach::May : Reach::None);
    for (uint32_t object : flow.get(node.written))
      stays = std::max(stays, !flow.isObject(object)
                                  ? std::min(memoryReach[object], Reach::May)
                                  : memoryReach[object]);
    raiseAll(node.a, stays);
    raiseObjects(node.readA, made);
    break;
  }
  default:
    raiseAll(node.a, made);
    raiseAll(node.b, made);
    raiseAll(node.c, made);
    raiseObjects(node.readA, made);
    break;
  }
  return changed;
}

/// Rows of values and cells that are next to a node, the cells behind the
/// values.
static void addRows(const DataFlow &flow, uint32_t numValues, uint32_t node,
                    llvm::ArrayRef<DataFlow::Span> valueSpans,
                    llvm::ArrayRef<DataFlow::Span> cellSpans,
                    std::vector<std::pair<uint32_t, uint32_t>> &pairs) {
  for (DataFlow::Span span : valueSpans)
    for (uint32_t value : flow.get(span))
      pairs.push_back({node, value});
  for (DataFlow::Span span : cellSpans)
    for (uint32_t cell : flow.get(span))
      pairs.push_back({node, numValues + cell});
}

void Provenance::solve() {
  // Nodes are looked at in passes over their order, those only of which an
  // input has changed: one pass where data goes along with the order, one more
  // for each time that it goes against it.
  llvm::ArrayRef<DataFlow::Node> nodes = flow.getNodes();
  uint32_t numValues = values.size(), rows = numValues + flow.getNumCells();
  std::vector<std::pair<uint32_t, uint32_t>> in, out;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const DataFlow::Node &node = nodes[i];
    addRows(flow, numValues, i,
            {node.a, node.b, node.c, node.control, node.old},
            {node.readA, node.readB}, in);
    addRows(flow, numValues, i, {}, {node.written}, out);
    for (uint32_t j = 0; j < node.numResults; ++j)
      out.push_back({i, node.result + j});
  }
  FlatLists users = FlatLists::invert(rows, in);
  FlatLists makers = FlatLists::invert(rows, out);
  // The rows of each node.
  auto byNode = [&](std::vector<std::pair<uint32_t, uint32_t>> pairs) {
    for (auto &[node, row] : pairs)
      std::swap(node, row);
    return FlatLists::invert(nodes.size(), pairs);
  };
  FlatLists inputs = byNode(std::move(in)), outputs = byNode(std::move(out));
  auto mark = [](llvm::BitVector &pending, llvm::ArrayRef<uint32_t> changed,
                 const FlatLists &next) {
    for (uint32_t row : changed)
      for (uint32_t node : next[row])
        pending.set(node);
  };
  llvm::BitVector pending(nodes.size(), true);
  while (pending.any())
    for (int i = pending.find_first(); i >= 0; i = pending.find_next(i)) {
      pending.reset(i);
      if (apply(nodes[i]))
        mark(pending, outputs[i], users);
    }
  pending.set();
  while (pending.any())
    for (int i = pending.find_last(); i >= 0; i = pending.find_prev(i)) {
      pending.reset(i);
      if (applyBackward(nodes[i]))
        mark(pending, inputs[i], makers);
    }
}

void Provenance::collectOutputs() {
  for (uint32_t i = 0; i < memory.getAccesses().size(); ++i) {
    const AccessInfo &info = memory.getAccesses()[i];
    if (!info.access.write || info.access.barrier || !flow.find(info.op))
      continue;
    if (memory.isUnread(i))
      continue;
    DataFlow::SpaceSlot slot = DataFlow::getSlot(info.space);
    bool rooted = flow.isParameterMemory(i);
    if (!rooted && !(info.access.form == Form::TensorMap) &&
        !(info.roots.empty() &&
          (slot == DataFlow::SlotGlobal || slot == DataFlow::SlotAny)))
      continue;
    const DataFlow::Node &node = *flow.find(info.op);
    OutputStore store;
    store.op = info.op;
    store.access = i;
    store.rooted = rooted;
    Content content = node.code == DataFlow::Code::Update
                          ? summedUp(uniteValues(node.a))
                          : evaluate(node);
    store.terms = content.terms;
    store.unknown = content.unknown;
    outputs.push_back(store);
  }
  llvm::sort(outputs, [](const OutputStore &a, const OutputStore &b) {
    return std::tie(a.op, a.access) < std::tie(b.op, b.access);
  });
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

Terms Provenance::getRead(uint32_t access) const {
  Terms terms;
  if (flow.isParameterMemory(access))
    terms = Terms::input();
  const AccessInfo &info = memory.getAccesses()[access];
  for (ObjectId object : memory.getObjectsOf(access))
    terms = terms | memoryContent[object].terms;
  if (info.roots.empty()) {
    DataFlow::SpaceSlot slot = DataFlow::getSlot(info.space);
    for (uint32_t s = 0; s < DataFlow::kNumSlots; ++s)
      if (slot == DataFlow::SlotAny || slot == s)
        terms =
            terms | memoryContent[flow.getWhole(DataFlow::SpaceSlot(s))].terms;
  }
  return terms;
}

bool Provenance::isReadUnknown(uint32_t access) const {
  const AccessInfo &info = memory.getAccesses()[access];
  if (info.roots.empty())
    return true;
  for (RootId root : info.roots)
    if (mayHoldHostData(memory.getRoot(root)))
      return true;
  for (ObjectId object : memory.getObjectsOf(access))
    if (memoryContent[object].unknown)
      return true;
  return false;
}

Reach Provenance::getWriteReach(uint32_t access) const {
  const AccessInfo &info = memory.getAccesses()[access];
  if (flow.isParameterMemory(access) && !memory.isUnread(access))
    return Reach::Must;
  Reach result = Reach::None;
  DataFlow::SpaceSlot slot = DataFlow::getSlot(info.space);
  if (info.roots.empty() &&
      (slot == DataFlow::SlotGlobal || slot == DataFlow::SlotAny))
    result = Reach::May;
  for (ObjectId object : memory.getObjectsOf(access))
    result = std::max(result, memoryReach[object]);
  // Something reads the space at an address that is not known.
  result =
      std::max(result, std::min(Reach::May, memoryReach[flow.getWhole(slot)]));
  if (info.roots.empty())
    result = std::max(result,
                      std::min(Reach::May, memoryReach[flow.getStray(slot)]));
  return result;
}

std::pair<Terms, Terms> Provenance::getProductOperands(OpId op) const {
  const DataFlow::Node *found = flow.find(op);
  if (!found)
    return {};
  const DataFlow::Node &node = *found;
  return {uniteValues(node.a).terms | uniteObjects(node.readA).terms,
          uniteValues(node.b).terms | uniteObjects(node.readB).terms};
}

bool Provenance::areProductOperandsUnknown(OpId op) const {
  const DataFlow::Node *found = flow.find(op);
  if (!found)
    return false;
  const DataFlow::Node &node = *found;
  return node.readsUnknown || uniteValues(node.a).unknown ||
         uniteValues(node.b).unknown || uniteObjects(node.readA).unknown ||
         uniteObjects(node.readB).unknown;
}

Reach Provenance::getProductReach(OpId op) const {
  const DataFlow::Node *found = flow.find(op);
  if (!found)
    return Reach::None;
  const DataFlow::Node &node = *found;
  Reach result = Reach::None;
  for (uint32_t i = 0; i < node.numResults; ++i)
    result = std::max(result, reach[node.result + i]);
  for (uint32_t object : flow.get(node.written))
    result = std::max(result, !flow.isObject(object)
                                  ? std::min(memoryReach[object], Reach::May)
                                  : memoryReach[object]);
  return result;
}
