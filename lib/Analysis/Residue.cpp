// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First, what is zero when every matrix product is: the greatest solution, from
// "everything is" down. Then, over what is left, which words each value is made
// from and how: from nothing up. Registers that a loop carries along are found
// as cycles of the value graph; memory that is read, added to and written again
// grows by itself until it counts as many words.

#include "d2k/Analysis/Residue.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using Code = DataFlow::Code;

namespace {
/// The operands of an epilogue are fewer words: bias, residual, scales of row,
/// column and tensor for the elements of one register.
constexpr unsigned kMaxWords = 16;
} // namespace

Residue::Residue(const KernelIndex &index, const ConstantValues &constants,
                 const Dominance &dominance, const LoopNest &loops,
                 const MemoryRoots &memory, const DataFlow &flow)
    : index(index), constants(constants), dominance(dominance), loops(loops),
      memory(memory), flow(flow) {
  rests.assign(index.getNumValues(), {});
  weights.assign(index.getNumValues(), 1);
  contents.assign(flow.getNumCells(), {});
  sets.push_back({});
  findConditions();
  findCycles();
  solveZero();
  solve();
}

Residue::Kind Residue::kindOf(Rest rest) {
  if (rest.empty())
    return Kind::None;
  if (!rest.many)
    return Kind::Few;
  return rest.shape == Shape::Mixed ? Kind::Mixed : Kind::Fold;
}

BlockId Residue::getBlock(const Node &node) const {
  return node.op == kNone ? index.getDefBlock(node.result)
                          : index.getBlockOf(node.op);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

uint32_t Residue::unite(uint32_t a, uint32_t b) {
  if (a == b || b == 0)
    return a;
  if (a == 0)
    return b;
  auto key = std::minmax(a, b);
  auto [it, isNew] = unions.try_emplace({key.first, key.second}, 0);
  if (!isNew)
    return it->second;
  llvm::SmallVector<ValueId, 4> merged;
  std::set_union(sets[a].begin(), sets[a].end(), sets[b].begin(), sets[b].end(),
                 std::back_inserter(merged));
  auto [known, isNewSet] = setIds.try_emplace(merged, sets.size());
  if (isNewSet)
    sets.push_back(merged);
  return it->second = known->second;
}

unsigned Residue::getWeight(uint32_t set) const {
  unsigned weight = 0;
  for (ValueId value : sets[set])
    weight += weights[value];
  return weight;
}

Residue::Rest Residue::cap(Rest rest) const {
  if (!rest.many && getWeight(rest.set) > kMaxWords)
    rest.many = true;
  if (rest.many)
    rest.set = 0;
  return rest;
}

Residue::Rest Residue::word(ValueId value, Content content) {
  if (content.shape == Shape::None)
    return {};
  weights[value] = std::max(weights[value], content.weight);
  llvm::SmallVector<ValueId, 4> single{value};
  auto [it, isNew] = setIds.try_emplace(single, sets.size());
  if (isNew)
    sets.push_back(single);
  Rest rest;
  rest.shape = content.shape;
  rest.op = content.op;
  rest.many = content.many;
  rest.set = it->second;
  return cap(rest);
}

Residue::Rest Residue::choose(Rest a, Rest b) {
  if (a.empty())
    return b;
  if (b.empty())
    return a;
  Rest result;
  result.many = a.many | b.many;
  result.set = result.many ? 0 : unite(a.set, b.set);
  result.shape = std::max(a.shape, b.shape);
  if (result.shape == Shape::Fold) {
    result.op = a.shape == Shape::Fold ? a.op : b.op;
    if (a.shape == b.shape && a.op != b.op)
      result.shape = Shape::Mixed;
  }
  if (result.shape == Shape::Mixed)
    result.op = Op::Any;
  return cap(result);
}

Residue::Rest Residue::mix(llvm::ArrayRef<Rest> parts) {
  Rest result;
  unsigned count = 0;
  for (const Rest &part : parts) {
    if (part.empty())
      continue;
    bool same = count != 0 && result.shape == Shape::Word &&
                part.shape == Shape::Word && result.set == part.set &&
                !part.many && !result.many && sets[part.set].size() == 1;
    count += !same;
    result.many |= part.many;
    result.shape = std::max(result.shape, part.shape);
    result.set = unite(result.set, part.set);
  }
  if (count > 1 || result.shape == Shape::Fold)
    result.shape = Shape::Mixed;
  return cap(result);
}

Residue::Rest Residue::fold(Op op, Rest a, Rest b) {
  // A function of one word stays one; a sum that is scaled, or to which a
  // constant is added, stays a sum.
  auto alone = [&](Rest rest) {
    bool linear = rest.op == op || (rest.op == Op::Add && op == Op::Mul);
    return rest.shape == Shape::Fold && !linear ? mix(rest) : rest;
  };
  if (a.empty())
    return alone(b);
  if (b.empty())
    return alone(a);
  Rest result = mix({a, b});
  auto fits = [&](Rest rest) {
    return rest.shape == Shape::Word ||
           (rest.shape == Shape::Fold && rest.op == op);
  };
  if (result.shape == Shape::Mixed && fits(a) && fits(b)) {
    result.shape = Shape::Fold;
    result.op = op;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

Residue::Rest Residue::use(ValueId value, BlockId user) {
  if (zero[value])
    return {};
  Rest rest = rests[value];
  uint32_t cycle = cycles[value];
  if (cycle == kNone)
    return rest;
  // Behind a loop, what the loop carries along also tells how often it ran.
  for (uint32_t loop : cycleLoops[cycle]) {
    if (loops.contains(loop, user) ||
        !loops.contains(loop, index.getDefBlock(value)))
      continue;
    llvm::SmallVector<Rest, 4> parts{rest};
    for (ValueId condition : endedBy[loop])
      parts.push_back(rests[condition]);
    bool any = llvm::any_of(llvm::drop_begin(parts),
                            [](Rest part) { return !part.empty(); });
    if (any)
      rest = mix(parts);
  }
  return rest;
}

Residue::Rest Residue::useAll(DataFlow::Span span, BlockId user) {
  Rest result;
  for (ValueId value : flow.get(span))
    result = choose(result, use(value, user));
  return result;
}

Residue::Rest Residue::steer(DataFlow::Span span, BlockId user) {
  llvm::SmallVector<Rest, 8> parts;
  for (ValueId value : flow.get(span))
    parts.push_back(use(value, user));
  return mix(parts);
}

/// What an operation combines again and again; nothing for any other.
template <typename Op>
static Op opOf(kern::AtomicFunction function) {
  switch (function) {
  case kern::AtomicFunction::Add:
    return Op::Add;
  case kern::AtomicFunction::Min:
    return Op::Min;
  case kern::AtomicFunction::Max:
    return Op::Max;
  case kern::AtomicFunction::And:
    return Op::And;
  case kern::AtomicFunction::Or:
    return Op::Or;
  case kern::AtomicFunction::Xor:
    return Op::Xor;
  default:
    return Op::Any;
  }
}

/// The function by which an operation combines what it writes with what is in
/// memory; nothing when it replaces it.
static std::optional<kern::AtomicFunction> getCombination(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<kern::AtomicFunction>>(op)
      .Case([](kern::AtomicOp atomic) { return atomic.getOp(); })
      .Case<kern::BulkCopyOp, kern::AsyncStoreOp>(
          [](auto copy) { return copy.getReduction(); })
      .Case<kern::MultimemOp, kern::TextureOp>(
          [](Operation *) { return kern::AtomicFunction::Cas; })
      .Default([](Operation *) { return std::nullopt; });
}

Residue::Rest Residue::evaluateUnion(const Node &node) {
  Operation *op = index.getOp(node.op);
  BlockId block = getBlock(node);
  llvm::SmallVector<Rest, 4> parts;
  for (DataFlow::Span span : {node.a, node.b, node.c})
    for (ValueId value : flow.get(span))
      parts.push_back(use(value, block));
  // Of registers that are packed into one, the part made from most words
  // stands for all.
  auto pack = [&] {
    Rest result, shape;
    for (const Rest &part : parts) {
      shape = choose(shape, part);
      if (result.empty() ||
          (!result.many && !part.empty() &&
           (part.many || getWeight(part.set) > getWeight(result.set))))
        result = part;
    }
    result.shape = shape.shape;
    result.op = shape.op;
    return result;
  };
  if (auto arith = dyn_cast<kern::ArithOp>(op)) {
    auto foldAll = [&](Op by) {
      Rest result = fold(by, parts[0], {});
      for (const Rest &part : llvm::drop_begin(parts))
        result = fold(by, result, part);
      return result;
    };
    switch (arith.getKind()) {
    case ArithKind::Min:
      return foldAll(Op::Min);
    case ArithKind::Max:
      return foldAll(Op::Max);
    case ArithKind::And:
      return foldAll(Op::And);
    case ArithKind::Or:
      return foldAll(Op::Or);
    case ArithKind::Xor:
      return foldAll(Op::Xor);
    case ArithKind::Shl:
      return parts.size() > 1 && parts[1].empty() ? fold(Op::Mul, parts[0], {})
                                                  : mix(parts);
    case ArithKind::Neg:
      return parts[0];
    case ArithKind::Prmt:
    case ArithKind::Bfi:
      return pack();
    default:
      return mix(parts);
    }
  }
  if (auto convert = dyn_cast<kern::ConvertOp>(op))
    return convert.getRelu() ? mix(pack()) : pack();
  if (isa<kern::PackOp, kern::UnpackOp, kern::SpaceCastOp>(op))
    return pack();
  if (isa<kern::VoteOp, kern::MatchOp, kern::WarpReduceOp>(op)) {
    Rest result = mix(parts);
    if (auto reduce = dyn_cast<kern::WarpReduceOp>(op))
      result = fold(opOf<Op>(reduce.getOp()), parts[0], parts[0]);
    if (result.empty())
      return result;
    // 32 lanes.
    result.many = true;
    if (!isa<kern::WarpReduceOp>(op) || result.shape == Shape::Mixed) {
      result.shape = Shape::Mixed;
    } else if (result.shape == Shape::Word) {
      result.shape = Shape::Fold;
      result.op = opOf<Op>(cast<kern::WarpReduceOp>(op).getOp());
    }
    return cap(result);
  }
  return mix(parts);
}

Residue::Rest Residue::evaluate(const Node &node) {
  BlockId block = getBlock(node);
  switch (node.code) {
  case Code::Union:
    return evaluateUnion(node);
  case Code::Phi: {
    Rest result = useAll(node.a, block);
    if (index.getDef(node.result) != kNone)
      return result;
    llvm::SmallVector<Rest, 4> parts{result};
    for (ValueId condition : chosenBy[block])
      parts.push_back(use(condition, block));
    bool steered = llvm::any_of(llvm::drop_begin(parts),
                                [](Rest part) { return !part.empty(); });
    return steered ? mix(parts) : result;
  }
  case Code::Select: {
    Rest result = useAll(node.a, block);
    Rest condition = useAll(node.b, block);
    return condition.empty() ? result : mix({result, condition});
  }
  case Code::Add: {
    Rest result = useAll(node.a, block);
    for (ValueId value : flow.get(node.b))
      result = fold(Op::Add, result, use(value, block));
    return result;
  }
  case Code::LaneSum: {
    Rest lane = useAll(node.a, block);
    Rest result = fold(Op::Add, lane, {});
    if (result.empty())
      return result;
    if (result.shape == Shape::Word) {
      result.shape = Shape::Fold;
      result.op = Op::Add;
    }
    result.many = true;
    return cap(result);
  }
  case Code::Mul:
    return fold(Op::Mul, useAll(node.a, block), useAll(node.b, block));
  case Code::Div:
    return fold(Op::Mul, useAll(node.a, block), mix(useAll(node.b, block)));
  case Code::Fma: {
    auto anyZero = [&](DataFlow::Span span) {
      return llvm::any_of(flow.get(span), [&](ValueId v) { return zero[v]; });
    };
    Rest result;
    if (!node.zeroA && !node.zeroB && !anyZero(node.a) && !anyZero(node.b))
      result = fold(Op::Mul, useAll(node.a, block), useAll(node.b, block));
    for (ValueId value : flow.get(node.c))
      result = fold(Op::Add, result, use(value, block));
    return result;
  }
  case Code::Product: {
    Rest result;
    for (ValueId value : flow.get(node.c).take_front(node.numAccumulators))
      result = choose(result, use(value, block));
    return result;
  }
  case Code::Unknown: {
    Rest result = steer(node.a, block);
    if (!result.empty()) {
      result.many = true;
      result.shape = Shape::Mixed;
    }
    return cap(result);
  }
  default:
    return {};
  }
}

Residue::Rest Residue::evaluateStored(const Node &node) {
  BlockId block = getBlock(node);
  Rest result = useAll(node.a, block);
  if (!result.empty() || areZero(node.a))
    return result;
  // A constant: when and where it is stored may be all there is to it.
  llvm::SmallVector<Rest, 8> parts{steer(node.control, block)};
  for (ValueId condition : runsUnder[block])
    parts.push_back(use(condition, block));
  return mix(parts);
}

Residue::Content Residue::evaluateWritten(const Node &node) {
  auto contentOf = [&](Rest rest) {
    Content content;
    content.shape = rest.shape;
    content.op = rest.op;
    content.many = rest.many;
    content.weight = std::min(getWeight(rest.set), 255u);
    return content;
  };
  Content content;
  if (node.code == Code::Store || node.code == Code::Update) {
    content = contentOf(evaluateStored(node));
  } else if (node.code == Code::Copy) {
    for (CellId cell : flow.get(node.readA)) {
      const Content &from = contents[cell];
      if (from.shape == Shape::Fold && content.shape == Shape::Fold &&
          from.op != content.op)
        content.shape = Shape::Mixed;
      if (from.shape == Shape::Fold)
        content.op = from.op;
      content.shape = std::max(content.shape, from.shape);
      content.many |= from.many;
      content.weight = std::max(content.weight, from.weight);
    }
    if (node.readsInput) {
      content.shape = std::max(content.shape, Shape::Word);
      content.weight = std::max<uint8_t>(content.weight, 1);
    }
    Rest place = steer(node.control, getBlock(node));
    if (!place.empty() && content.shape != Shape::None) {
      content.shape = Shape::Mixed;
      content.many |= place.many;
      content.weight = std::min(content.weight + getWeight(place.set), 255u);
    }
  }
  if (content.shape == Shape::None || node.op == kNone)
    return content;
  if (std::optional<kern::AtomicFunction> function =
          getCombination(index.getOp(node.op))) {
    Op op = opOf<Op>(*function);
    bool fits =
        op != Op::Any && (content.shape == Shape::Word ||
                          (content.shape == Shape::Fold && content.op == op));
    // A constant that is added where data says counts data.
    bool isData =
        node.code != Code::Update || !useAll(node.a, getBlock(node)).empty();
    content.many = true;
    content.shape = fits && isData ? Shape::Fold : Shape::Mixed;
    content.op = fits && isData ? op : Op::Any;
  }
  content.many |= content.weight > kMaxWords;
  return content;
}

Residue::Kind Residue::getWritten(OpId op) const {
  const Node *node = flow.find(op);
  if (!node)
    return Kind::None;
  // Evaluation only looks things up once all is solved.
  Content content = const_cast<Residue *>(this)->evaluateWritten(*node);
  Rest rest;
  rest.shape = content.shape;
  rest.many = content.many;
  return kindOf(rest);
}

bool Residue::accumulates(const Node &node) {
  uint32_t cycle = node.numResults ? cycles[node.result] : kNone;
  if (cycle == kNone)
    return false;
  BlockId block = getBlock(node);
  llvm::ArrayRef<uint32_t> carried = cycleLoops[cycle];
  auto inLoop = [&](ValueId value) {
    return loops.isIrreducible() || llvm::any_of(carried, [&](uint32_t loop) {
             return loops.contains(loop, index.getDefBlock(value));
           });
  };
  // Whether `value` brings words that the loop reads anew.
  auto isFresh = [&](ValueId value) {
    Rest rest = use(value, block);
    if (rest.empty())
      return false;
    return rest.many ? inLoop(value) : llvm::any_of(sets[rest.set], inLoop);
  };
  unsigned inside = 0;
  bool entering = false;
  auto look = [&](llvm::ArrayRef<uint32_t> values) {
    for (ValueId value : values) {
      if (!isFresh(value))
        continue;
      if (cycles[value] == cycle)
        ++inside;
      else
        entering = true;
    }
  };
  switch (node.code) {
  case Code::Phi:
    // Alternatives are not combined; what chooses between them is.
    if (index.getDef(node.result) == kNone)
      look(chosenBy[block]);
    return entering || inside != 0;
  case Code::Select:
    look(flow.get(node.b));
    look(flow.get(node.control));
    return entering || inside != 0;
  case Code::Load:
  case Code::Update:
    // The place of a read depends on what was read before.
    return llvm::any_of(flow.get(node.control),
                        [&](ValueId value) { return cycles[value] == cycle; });
  case Code::Product:
    return false;
  default:
    look(flow.get(node.a));
    look(flow.get(node.b));
    look(flow.get(node.c));
    look(flow.get(node.control));
    return entering || inside > 1;
  }
}

bool Residue::mergeInto(Rest &into, Rest from) {
  Rest merged = choose(into, from);
  if (merged == into)
    return false;
  into = merged;
  return true;
}

bool Residue::mergeInto(CellId cell, Content from) {
  Content &into = contents[cell];
  Content merged = into;
  merged.shape = std::max(into.shape, from.shape);
  if (into.shape == Shape::Fold && from.shape == Shape::Fold &&
      into.op != from.op)
    merged.shape = Shape::Mixed;
  if (from.shape == Shape::Fold && into.shape != Shape::Fold)
    merged.op = from.op;
  merged.many |= from.many;
  merged.weight = std::max(into.weight, from.weight);
  if (merged.shape == into.shape && merged.many == into.many &&
      merged.weight == into.weight)
    return false;
  into = merged;
  return true;
}

bool Residue::apply(const Node &node) {
  bool changed = false;
  BlockId block = getBlock(node);
  if (node.written.size != 0 && node.code != Code::Product) {
    Content content = evaluateWritten(node);
    if (content.shape != Shape::None)
      for (CellId cell : flow.get(node.written))
        changed |= mergeInto(cell, content);
  }
  if (node.numResults == 0)
    return changed;
  // What a register gets from memory or from another lane is a word of its own.
  Content content;
  bool isRead = node.code == Code::Load || node.code == Code::Update;
  bool isExchange =
      node.op != kNone && isa<kern::ShuffleOp>(index.getOp(node.op));
  if (isRead) {
    Content read;
    for (CellId cell : flow.get(node.readA)) {
      const Content &from = contents[cell];
      if (from.shape == Shape::Fold && read.shape == Shape::Fold &&
          from.op != read.op)
        read.shape = Shape::Mixed;
      if (from.shape == Shape::Fold)
        read.op = from.op;
      read.shape = std::max(read.shape, from.shape);
      read.many |= from.many;
      read.weight = std::max(read.weight, from.weight);
    }
    if (node.readsInput || node.readsUnknown) {
      read.shape = std::max(read.shape, Shape::Word);
      read.weight = std::max<uint8_t>(read.weight, 1);
    }
    content = read;
  }
  Rest place;
  if (node.code != Code::Product)
    place = steer(node.control, block);
  bool grows = accumulates(node);
  for (uint32_t i = 0; i < node.numResults; ++i) {
    ValueId result = node.result + i;
    if (zero[result])
      continue;
    Rest rest;
    if (isRead) {
      Content own = content;
      // A wide register holds several words of input.
      unsigned width = getWidth(index.getValue(result).getType());
      if (own.weight)
        own.weight = std::max<unsigned>(own.weight, width / 32);
      rest = word(result, own);
    } else if (isExchange) {
      Rest lane = useAll(node.a, block);
      Content own;
      own.shape = lane.shape;
      own.op = lane.op;
      own.many = lane.many;
      own.weight = getWeight(lane.set);
      rest = word(result, own);
    } else {
      rest = evaluate(node);
    }
    if (!place.empty())
      rest = mix({rest, place});
    for (ValueId old : flow.get(node.old))
      rest = choose(rest, use(old, block));
    if (grows && !rest.empty()) {
      rest.many = true;
      rest.set = 0;
      if (rest.shape == Shape::Word) {
        bool isFold = node.code == Code::Add || node.code == Code::Fma ||
                      node.code == Code::Mul;
        rest.shape = isFold ? Shape::Fold : Shape::Mixed;
        rest.op = node.code == Code::Mul ? Op::Mul : isFold ? Op::Add : Op::Any;
      }
    }
    changed |= mergeInto(rests[result], rest);
  }
  return changed;
}

void Residue::solve() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node &node : flow.getNodes())
      changed |= apply(node);
  }
}
