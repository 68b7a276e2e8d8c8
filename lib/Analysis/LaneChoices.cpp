// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms of LaneForms for values that control flow chooses: what loops count
// and carry, ring indices, and where branches meet.

#include "d2k/Analysis/LaneForms.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

namespace {
/// Values of a ring index, and values that take part in its step.
constexpr size_t kMaxRing = 64, kMaxStates = 32, kMaxSlice = 128;
} // namespace

LaneForm LaneForms::computeArg(ValueId value) {
  BlockId block = index.getDefBlock(value);
  if (index.getIncoming(value).empty()) {
    // A parameter's address.
    auto [it, isNew] = symbolOf.try_emplace(Key{0x900, int64_t(value)}, 0);
    if (isNew) {
      LaneSymbol symbol;
      symbol.kind = LaneSymbolKind::Launch;
      symbol.value = value;
      it->second = makeSymbol(std::move(symbol));
    }
    return ofSymbol(it->second);
  }
  uint32_t loop = loops.getInnermost(block);
  if (loop != kNone && loops.getLoop(loop).header == block)
    return computeLoopArg(value, loop);
  return computeJoin(value);
}

LaneForm LaneForms::computeLoopArg(ValueId value, uint32_t loop) {
  if (std::optional<LaneForm> form = findStep(value, loop))
    return *form;
  if (std::optional<LaneForm> form = findRing(value))
    return *form;
  return atom(value);
}

std::optional<LaneForm> LaneForms::findStep(ValueId value, uint32_t loop) {
  // In terms of a symbol for the value itself, every way back adds one step.
  LaneSymbol placeholder;
  placeholder.value = value;
  // Steps do not look through the sign or size of what they are added to.
  SymbolId self = makeSymbol(placeholder);
  size_t before = made.size();
  forms[value] = std::make_shared<const LaneForm>(ofSymbol(self));
  std::optional<LaneForm> start, step;
  bool fits = true;
  // Values on the way round that asked for this one are worked out in terms of
  // the placeholder, too.
  llvm::SmallVector<std::pair<ValueId, uint32_t>, 4> asking;
  for (const KernelIndex::Incoming &in : index.getIncoming(value)) {
    if (in.value == kNone || !loops.contains(loop, in.from))
      continue;
    llvm::SmallVector<ValueId, 4> states;
    llvm::SmallVector<ValueId, 32> slice;
    collectStates(in.value, states, slice);
    for (ValueId v : slice)
      if (asked[v] != kNone && index.getDef(v) != kNone)
        asking.push_back({v, std::exchange(asked[v], kNone)});
  }
  for (const KernelIndex::Incoming &in : index.getIncoming(value)) {
    if (!constants.isExecutableEdge(in.edge))
      continue;
    if (in.value == kNone) {
      fits = false;
      break;
    }
    bool back = loops.contains(loop, in.from);
    LaneForm form = get(in.value);
    if (back)
      form = add(form, ofSymbol(self), -1);
    if (!form.known || (back && !form.getFactor(self).isZero())) {
      fits = false;
      break;
    }
    std::optional<LaneForm> &slot = back ? step : start;
    if (slot && !(*slot == form)) {
      fits = false;
      break;
    }
    slot = form;
  }
  for (auto [v, position] : asking)
    asked[v] = position;
  // What was seen in terms of the placeholder is forgotten.
  forms[value].reset();
  for (ValueId other : llvm::ArrayRef(made).drop_front(before))
    if (forms[other] &&
        (!forms[other]->known ||
         llvm::any_of(forms[other]->terms, [&](const auto &term) {
           return symbols[term.first].kind > LaneSymbolKind::Launch ||
                  term.first >= self;
         })))
      forms[other].reset();
  made.resize(before);
  if (!fits || !start || !step || !isSameInWarps(*step))
    return std::nullopt;
  if (step->isConstant() && step->rest.isZero())
    return start;
  for (const auto &[symbol, by] : step->terms)
    if (symbols[symbol].kind != LaneSymbolKind::Launch)
      return std::nullopt;
  std::optional<int64_t> trip = loops.getLoop(loop).trip;
  if (iteration) {
    int64_t number = *iteration;
    if (trip)
      number = std::clamp<int64_t>(number, 0, std::max<int64_t>(*trip - 1, 0));
    return add(*start, *step, number);
  }
  auto [it, isNew] = loopSymbols.try_emplace(loop, 0);
  if (isNew) {
    LaneSymbol symbol;
    symbol.kind = LaneSymbolKind::Loop;
    symbol.loop = loop;
    symbol.range = Range::of(0, trip ? std::max<int64_t>(*trip - 1, 0)
                                     : int64_t(INT32_MAX));
    it->second = makeSymbol(std::move(symbol));
  }
  LaneForm iteration = ofSymbol(it->second);
  LaneForm moved = product(iteration, *step, kNone);
  return moved.known ? std::optional(add(*start, moved)) : std::nullopt;
}

/// Whether `condition` is made of the thread's number and of numbers of the
/// launch alone: it tells the inside from the border, and no data.
static bool isBorder(const KernelIndex &index, ValueId condition) {
  llvm::SmallVector<ValueId, 16> pending{condition}, seen{condition};
  while (!pending.empty()) {
    if (seen.size() > kMaxSlice)
      return false;
    ValueId v = pending.pop_back_val();
    OpId def = index.getDef(v);
    if (def == kNone) {
      if (index.getIncoming(v).empty())
        continue;
      for (const KernelIndex::Incoming &in : index.getIncoming(v)) {
        if (in.value == kNone)
          return false;
        if (!llvm::is_contained(seen, in.value)) {
          seen.push_back(in.value);
          pending.push_back(in.value);
        }
      }
      continue;
    }
    Operation *op = index.getOp(def);
    if (auto load = dyn_cast<kern::LoadOp>(op)) {
      if (load.getSpace() != kern::Space::Param)
        return false;
    } else if (!isa<kern::ArithOp, kern::CompareOp, kern::ConvertOp,
                    kern::SelectOp, kern::PackOp, kern::UnpackOp,
                    kern::SpecialOp, kern::ConstantOp, kern::MathOp,
                    kern::UndefOp, kern::SpaceCastOp>(op)) {
      return false;
    }
    for (ValueId operand : index.getOperands(def))
      if (!llvm::is_contained(seen, operand)) {
        seen.push_back(operand);
        pending.push_back(operand);
      }
  }
  return true;
}

LaneForm LaneForms::computeJoin(ValueId value) {
  llvm::SmallVector<LaneForm, 4> ways;
  llvm::SmallVector<KernelIndex::Incoming, 4> edges;
  for (const KernelIndex::Incoming &in : index.getIncoming(value)) {
    if (!constants.isExecutableEdge(in.edge))
      continue;
    if (in.value == kNone)
      return atom(value);
    OpId def = index.getDef(in.value);
    if (def != kNone && isa<kern::UndefOp>(index.getOp(def)))
      continue;
    LaneForm form = get(in.value);
    if (!form.known)
      return unknown(form.blocker);
    if (llvm::is_contained(ways, form))
      continue;
    ways.push_back(std::move(form));
    edges.push_back(in);
  }
  if (ways.empty())
    return atom(value);
  if (ways.size() == 1)
    return ways[0];
  std::optional<std::pair<ValueId, bool>> condition;
  if (ways.size() == 2)
    condition = getEdgeCondition(edges[0], index.getDefBlock(value));
  LaneForm decided;
  if (condition)
    decided = get(condition->first);
  bool byNumber = condition && decided.isNumber();
  if (!byNumber && llvm::all_of(ways, isSameInWarps)) {
    if (std::optional<LaneForm> ring = ringOf(ways, value))
      return *ring;
    if (std::optional<LaneForm> ring = findRing(value))
      return *ring;
  }
  if (ways.size() != 2)
    return atom(value);
  const LaneForm &yes = ways[!condition || condition->second ? 0 : 1];
  const LaneForm &no = ways[!condition || condition->second ? 1 : 0];
  bool uniformChoice =
      condition && (uniformity.get(condition->first) != Agreement::Thread ||
                    isBorder(index, condition->first));
  return choose(condition ? &decided : nullptr, yes, no, value, kNone,
                uniformChoice);
}

std::optional<std::pair<ValueId, bool>>
LaneForms::getEdgeCondition(const KernelIndex::Incoming &in,
                            BlockId block) const {
  auto branchOf = [&](BlockId from,
                      BlockId to) -> std::optional<std::pair<ValueId, bool>> {
    OpId end = index.getTerminator(from);
    auto branch = dyn_cast<kern::CondBranchOp>(index.getOp(end));
    if (!branch)
      return std::nullopt;
    llvm::ArrayRef<BlockId> next = index.getSuccessors(from);
    if (next[0] == next[1])
      return std::nullopt;
    return std::pair(index.getId(branch.getCondition()), next[0] == to);
  };
  // The edge itself is one side of a branch, or the only block before it is.
  if (auto condition = branchOf(in.from, block)) {
    OpId end = index.getTerminator(in.from);
    auto branch = cast<kern::CondBranchOp>(index.getOp(end));
    bool first = index.getEdge(in.from, 0) == in.edge;
    return std::pair(index.getId(branch.getCondition()), first);
  }
  llvm::ArrayRef<BlockId> before = index.getPredecessors(in.from);
  if (before.size() == 1 && index.getSuccessors(in.from).size() == 1)
    return branchOf(before[0], in.from);
  return std::nullopt;
}

void LaneForms::collectStates(ValueId value,
                              llvm::SmallVectorImpl<ValueId> &states,
                              llvm::SmallVectorImpl<ValueId> &visited) const {
  if (llvm::is_contained(visited, value) || visited.size() > kMaxSlice)
    return;
  visited.push_back(value);
  if (constants.get(value))
    return;
  OpId def = index.getDef(value);
  if (def == kNone) {
    if (!index.getIncoming(value).empty() && !llvm::is_contained(states, value))
      states.push_back(value);
    return;
  }
  Operation *op = index.getOp(def);
  if (isa<kern::ArithOp, kern::SelectOp, kern::CompareOp, kern::ConvertOp,
          kern::SpaceCastOp, kern::PackOp, kern::UnpackOp>(op))
    for (ValueId operand : index.getOperands(def))
      collectStates(operand, states, visited);
}

LaneForm LaneForms::evaluateAt(ValueId value, ValueId of,
                               const LaneForm &state) {
  // The slice behind `value` once more, with `of` fixed. Other values that
  // control flow chooses are known by now, or have no form of their own.
  llvm::SmallVector<ValueId, 4> states;
  llvm::SmallVector<ValueId, 32> slice;
  collectStates(value, states, slice);
  std::vector<std::pair<ValueId, std::shared_ptr<const LaneForm>>> saved;
  llvm::SmallVector<std::pair<ValueId, uint32_t>, 4> asking;
  for (ValueId v : slice) {
    if (index.getDef(v) == kNone)
      continue;
    saved.push_back({v, forms[v]});
    forms[v].reset();
    if (asked[v] != kNone)
      asking.push_back({v, std::exchange(asked[v], kNone)});
  }
  std::shared_ptr<const LaneForm> savedOf = forms[of];
  forms[of] = std::make_shared<const LaneForm>(state);
  LaneForm result = get(value);
  for (auto &[v, form] : saved)
    forms[v] = form;
  forms[of] = savedOf;
  for (auto [v, position] : asking)
    asked[v] = position;
  return result;
}

/// Whether `value` is `of` plus something that does not depend on it.
static bool isSum(const KernelIndex &index, ValueId value, ValueId of) {
  enum class Part : uint8_t { Apart, Sum, Other };
  llvm::DenseMap<ValueId, Part> parts{{of, Part::Sum}};
  auto find = [&](auto &find, ValueId v) -> Part {
    OpId def = index.getDef(v);
    if (auto known = parts.find(v); known != parts.end())
      return known->second;
    Part part = Part::Apart;
    if (def == kNone)
      return part;
    Operation *op = index.getOp(def);
    if (!isa<kern::ArithOp, kern::SelectOp, kern::CompareOp, kern::ConvertOp,
             kern::SpaceCastOp, kern::PackOp, kern::UnpackOp>(op))
      return part;
    // Values in SSA form depend on themselves through arguments alone, which
    // are not looked through.
    for (ValueId operand : index.getOperands(def))
      part = std::max(part, find(find, operand));
    bool adds = isa<kern::ConvertOp, kern::SpaceCastOp>(op);
    if (auto arith = dyn_cast<kern::ArithOp>(op)) {
      llvm::ArrayRef<ValueId> in = index.getOperands(def);
      bool isAdd = arith.getKind() == kern::ArithKind::Add;
      if (isAdd || arith.getKind() == kern::ArithKind::Sub)
        adds = find(find, in[1]) == Part::Apart ||
               (isAdd && find(find, in[0]) == Part::Apart);
    }
    if (part == Part::Sum && (!adds || index.getGuard(def) != kNone))
      part = Part::Other;
    parts[v] = part;
    return part;
  };
  return find(find, value) == Part::Sum;
}

namespace {
/// A way on which `to` becomes what `from` was, plus `distance`, each time.
struct ConstantStep {
  ValueId from, to;
  int64_t distance;
};
} // namespace

/// Whether some way round along `steps` ends at another number than it began
/// with: the values on it have no end.
static bool goesOn(llvm::ArrayRef<ConstantStep> steps) {
  for (const ConstantStep &first : steps) {
    // What leads back to it, and how far everything is from it.
    llvm::SmallDenseMap<ValueId, int64_t, 8> at{{first.from, 0}};
    llvm::SmallVector<ValueId, 8> back{first.from};
    for (size_t i = 0; i < back.size(); ++i)
      for (const ConstantStep &step : steps)
        if (step.to == back[i] && !llvm::is_contained(back, step.from))
          back.push_back(step.from);
    llvm::SmallVector<ValueId, 8> pending{first.from};
    while (!pending.empty()) {
      ValueId from = pending.pop_back_val();
      for (const ConstantStep &step : steps) {
        if (step.from != from || !llvm::is_contained(back, step.to))
          continue;
        int64_t next = at[from] + step.distance;
        auto [it, isNew] = at.try_emplace(step.to, next);
        if (isNew)
          pending.push_back(step.to);
        else if (it->second != next)
          return true;
      }
    }
  }
  return false;
}

std::optional<LaneForm> LaneForms::findRing(ValueId value) {
  // All values that the arguments which feed one another take: what an edge
  // passes is worked out for every value of the argument that it depends on.
  llvm::SmallVector<ValueId, 4> arguments{value};
  std::map<ValueId, llvm::SmallVector<LaneForm, 8>> taken;
  struct Edge {
    ValueId to, from, passed;
    std::optional<std::pair<ValueId, bool>> condition;
    /// Values of `from` before this one have been passed on.
    size_t next = 0;
    /// It is taken by every value, as far as is known, and adds `distance`.
    bool isSum = false;
    int64_t distance = 0;
  };
  llvm::SmallVector<Edge, 8> edges;
  for (size_t i = 0; i < arguments.size(); ++i) {
    ValueId arg = arguments[i];
    for (const KernelIndex::Incoming &in : index.getIncoming(arg)) {
      if (!constants.isExecutableEdge(in.edge))
        continue;
      if (in.value == kNone)
        return std::nullopt;
      llvm::SmallVector<ValueId, 4> states;
      llvm::SmallVector<ValueId, 32> slice;
      collectStates(in.value, states, slice);
      if (slice.size() > kMaxSlice)
        return std::nullopt;
      // Arguments that count iterations, or are known already, are no state.
      for (ValueId state : states)
        if (!llvm::is_contained(arguments, state) && !forms[state] &&
            asked[state] == kNone) {
          BlockId block = index.getDefBlock(state);
          uint32_t loop = loops.getInnermost(block);
          if (loop == kNone || loops.getLoop(loop).header != block)
            continue;
          if (std::optional<LaneForm> form = findStep(state, loop))
            forms[state] = std::make_shared<const LaneForm>(*form);
        }
      llvm::erase_if(states, [&](ValueId state) {
        return !llvm::is_contained(arguments, state) && forms[state] &&
               asked[state] == kNone;
      });
      if (states.size() > 1)
        return std::nullopt;
      if (states.empty()) {
        LaneForm form = get(in.value);
        if (!form.known)
          return std::nullopt;
        for (LaneForm &value : expandRing(form))
          if (!llvm::is_contained(taken[arg], value))
            taken[arg].push_back(std::move(value));
        if (taken[arg].size() > kMaxRing)
          return std::nullopt;
        continue;
      }
      if (!llvm::is_contained(arguments, states[0])) {
        if (arguments.size() == kMaxStates)
          return std::nullopt;
        arguments.push_back(states[0]);
      }
      Edge edge{arg, states[0], in.value, std::nullopt};
      edge.isSum = isSum(index, in.value, states[0]);
      if (auto condition = getEdgeCondition(in, index.getDefBlock(arg))) {
        // Only a condition on the same argument tells its values apart.
        llvm::SmallVector<ValueId, 4> of;
        llvm::SmallVector<ValueId, 32> visited;
        collectStates(condition->first, of, visited);
        if (of.size() == 1 && of[0] == states[0])
          edge.condition = condition;
      }
      edges.push_back(edge);
    }
  }
  bool grew = true;
  for (unsigned round = 0; grew && round <= kMaxRing; ++round) {
    grew = false;
    for (Edge &edge : edges) {
      // What comes to them here waits for the next round.
      size_t end = taken[edge.from].size();
      while (edge.next < end) {
        LaneForm state = taken[edge.from][edge.next++];
        if (edge.condition) {
          LaneForm condition =
              evaluateAt(edge.condition->first, edge.from, state);
          edge.isSum &= !condition.isConstant();
          if (condition.isConstant() &&
              (condition.rest.getSame() != 0) != edge.condition->second)
            continue;
        }
        LaneForm form = evaluateAt(edge.passed, edge.from, state);
        if (!form.known)
          return std::nullopt;
        if (edge.isSum) {
          LaneForm distance = add(form, state, -1);
          edge.isSum =
              distance.isConstant() &&
              (edge.next == 1 || edge.distance == distance.rest.getSame());
          edge.distance = edge.isSum ? distance.rest.getSame() : 0;
        }
        llvm::SmallVector<LaneForm, 8> &to = taken[edge.to];
        if (llvm::is_contained(to, form))
          continue;
        if (to.size() == kMaxRing)
          return std::nullopt;
        // Values of a ring are numbers apart.
        if (edge.to == value && !to.empty() &&
            !add(form, to[0], -1).isConstant())
          return std::nullopt;
        to.push_back(std::move(form));
        grew = true;
      }
    }
    // Every edge with values has passed some on by now.
    if (round == 2 || round == 8) {
      llvm::SmallVector<ConstantStep, 8> steps;
      for (const Edge &edge : edges)
        if (edge.isSum && edge.next != 0)
          steps.push_back({edge.from, edge.to, edge.distance});
      if (goesOn(steps))
        return std::nullopt;
    }
  }
  if (grew)
    return std::nullopt;
  return ringOf(taken[value], value);
}
