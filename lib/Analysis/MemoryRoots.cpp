// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worklist propagates root sets and offset ranges over the def-use graph and
// through memory that holds pointers; then each access is resolved, and the
// accesses of one root are grouped into objects by overlap.

#include "d2k/Analysis/MemoryRoots.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::Space;

namespace {
/// A set with more roots than this says nothing.
constexpr size_t kMaxRoots = 8;
/// Offsets that still grow after so many rounds are not bounded.
constexpr uint8_t kMaxGrowth = 4;
/// Offsets beyond this are of no use: no object is larger.
constexpr int64_t kMaxOffset = int64_t(1) << 40;
/// Address field of a matrix descriptor: bits 0 to 13 hold address >> 4
/// (PTX ISA, "Matrix descriptor format").
constexpr uint64_t kDescriptorAddressMask = 0x3fff;
/// The address of any byte in shared memory fits in so many bits.
constexpr unsigned kSharedAddressBits = 18;
/// Columns of tensor memory (PTX ISA, "Tensor Memory").
constexpr uint64_t kTensorColumns = 512;
/// A mask up to this extracts an alignment remainder and no address.
constexpr uint64_t kLargestRemainderMask = 0xfff;
} // namespace

MemoryRoots::MemoryRoots(const KernelIndex &index,
                         const ConstantValues &constants,
                         SymbolTableCollection &symbols,
                         const UnreadMemory *unread)
    : index(index), constants(constants), symbols(symbols), unread(unread) {
  sets.push_back({});
  addRoot({});
  states.assign(index.getNumValues(), {});
  queued.assign(index.getNumOps(), false);
  solve();
  collectAccesses();
  buildObjects();
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

RootId MemoryRoots::addRoot(Root root) {
  uint64_t detail = root.symbol ? reinterpret_cast<uintptr_t>(root.symbol)
                                : uint64_t(root.offset) + 1;
  std::pair<uint32_t, uint64_t> key{uint32_t(root.kind) << 24 | root.number,
                                    detail};
  auto [it, isNew] = rootIds.try_emplace(key, roots.size());
  if (isNew) {
    bool isPointer =
        root.kind == Root::Kind::Pointer || root.kind == Root::Kind::Parameter;
    root.isUnread =
        unread && isPointer && unread->contains({root.number, root.offset});
    roots.push_back(root);
    content.push_back(0);
    loadsOf.push_back({});
  }
  return it->second;
}

uint32_t MemoryRoots::internSet(llvm::ArrayRef<RootId> set) {
  if (set.empty())
    return 0;
  if (set.size() == 1) {
    auto [it, isNew] = singletons.try_emplace(set[0], sets.size());
    if (isNew)
      sets.push_back({set[0]});
    return it->second;
  }
  sets.push_back(llvm::SmallVector<RootId, 2>(set));
  return sets.size() - 1;
}

uint32_t MemoryRoots::unite(uint32_t a, uint32_t b) {
  if (a == b || b == 0)
    return a;
  if (a == 0)
    return b;
  if (a > b)
    std::swap(a, b);
  auto [it, isNew] = unions.try_emplace(uint64_t(a) << 32 | b, 0);
  if (!isNew)
    return it->second;
  llvm::SmallVector<RootId, 4> merged;
  std::set_union(sets[a].begin(), sets[a].end(), sets[b].begin(), sets[b].end(),
                 std::back_inserter(merged));
  uint32_t result;
  if (llvm::ArrayRef(merged) == llvm::ArrayRef(sets[a]))
    result = a;
  else if (llvm::ArrayRef(merged) == llvm::ArrayRef(sets[b]))
    result = b;
  else
    result = internSet(merged.size() > kMaxRoots ? llvm::ArrayRef<RootId>(0u)
                                                 : llvm::ArrayRef(merged));
  unions[uint64_t(a) << 32 | b] = result;
  return result;
}

bool MemoryRoots::onlyShared(uint32_t set) const {
  return llvm::all_of(sets[set], [&](RootId root) {
    return roots[root].space == Space::Shared ||
           roots[root].kind == Root::Kind::TensorMemory;
  });
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

void MemoryRoots::propagate(ValueId value) {
  for (OpId user : index.getUsers(value))
    if (!queued[user] && constants.mayRun(user)) {
      queued[user] = true;
      worklist.push_back(user);
    }
}

bool MemoryRoots::update(ValueId value, State with) {
  if (with.set == 0)
    return false;
  State &state = states[value];
  if (with.low < -kMaxOffset || with.high > kMaxOffset)
    with.bounded = false;
  if (state.set == 0) {
    with.growth = 0;
    state = with;
    propagate(value);
    return true;
  }
  bool changed = false;
  uint32_t set = unite(state.set, with.set);
  if (set != state.set) {
    state.set = set;
    changed = true;
  }
  if (state.bounded) {
    int64_t low = std::min(state.low, with.low);
    int64_t high = std::max(state.high, with.high);
    if (!with.bounded || with.shift != state.shift ||
        ((low != state.low || high != state.high) &&
         ++state.growth > kMaxGrowth)) {
      state.bounded = false;
      changed = true;
    } else if (low != state.low || high != state.high) {
      state.low = low;
      state.high = high;
      changed = true;
    }
  }
  if (changed)
    propagate(value);
  return changed;
}

void MemoryRoots::addContent(RootId root, uint32_t set) {
  uint32_t merged = unite(content[root], set);
  if (merged == content[root])
    return;
  content[root] = merged;
  for (OpId load : loadsOf[root])
    if (!queued[load]) {
      queued[load] = true;
      worklist.push_back(load);
    }
}

MemoryRoots::State MemoryRoots::add(State address, Range by, int sign) const {
  if (by.full || by.low < -kMaxOffset || by.high > kMaxOffset) {
    // The high fields of a descriptor are added or or'ed as constants.
    if (!by.full && address.shift == 4 && by.low == by.high && sign > 0) {
      int64_t low = (uint64_t(by.low) & kDescriptorAddressMask) << 4;
      address.low += low;
      address.high += low;
      return address;
    }
    address.bounded = false;
    return address;
  }
  int64_t low = by.low * (int64_t(1) << address.shift);
  int64_t high = by.high * (int64_t(1) << address.shift);
  if (address.shift == 4 && by.low == by.high && sign > 0)
    low = high = (uint64_t(by.low) & kDescriptorAddressMask) << 4;
  address.low += sign > 0 ? low : -high;
  address.high += sign > 0 ? high : -low;
  return address;
}

MemoryRoots::State MemoryRoots::transferArith(OpId id) const {
  auto arith = cast<kern::ArithOp>(index.getOp(id));
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  if (kern::isFloat(arith.getType()) || in.empty() ||
      arith.getType() == kern::ElementType::Pred)
    return {};
  auto state = [&](unsigned i) {
    return i < in.size() ? states[in[i]] : State();
  };
  auto range = [&](unsigned i) { return constants.getRange(in[i]); };
  auto self = const_cast<MemoryRoots *>(this);
  auto uniteAll = [&](unsigned count) {
    State result;
    for (unsigned i = 0; i < count && i < in.size(); ++i)
      result.set = self->unite(result.set, state(i).set);
    return result;
  };
  State a = state(0), b = state(1);
  switch (arith.getKind()) {
  case ArithKind::Add:
  case ArithKind::Or:
    if (a.set && b.set)
      return uniteAll(2);
    if (!a.set && !b.set)
      return {};
    return a.set ? add(a, range(1), 1) : add(b, range(0), 1);
  case ArithKind::Sub:
    if (a.set && b.set)
      return {}; // A distance.
    if (a.set)
      return add(a, range(1), -1);
    b.bounded = false;
    return b;
  case ArithKind::Xor: {
    if (a.set && b.set)
      return uniteAll(2);
    if (!a.set && !b.set)
      return {};
    State result = a.set ? a : b;
    Range by = range(a.set ? 1 : 0);
    if (by.full || by.low < 0 || by.high > kMaxOffset) {
      result.bounded = false;
      return result;
    }
    int64_t most = int64_t(llvm::NextPowerOf2(uint64_t(by.high))) - 1;
    result.low -= most << result.shift;
    result.high += most << result.shift;
    return result;
  }
  case ArithKind::And: {
    if (a.set && b.set)
      return uniteAll(2);
    if (!a.set && !b.set)
      return {};
    State result = a.set ? a : b;
    ValueId other = a.set ? in[1] : in[0];
    std::optional<uint64_t> mask = constants.get(other);
    if (!mask) {
      result.bounded = false;
      return result;
    }
    if (*mask <= kLargestRemainderMask)
      return {};
    unsigned width = getWidth(index.getValue(other).getType());
    unsigned trailing = llvm::countr_zero(*mask);
    uint64_t filled = *mask >> trailing;
    bool contiguous = filled != 0 && (filled & (filled + 1)) == 0;
    if (!contiguous) {
      result.bounded = false;
      return result;
    }
    // A mask that ends below the top keeps the bits of an address in shared
    // memory, whose absolute value fits in 18 bits.
    bool toTop = trailing + unsigned(llvm::popcount(filled)) >= width;
    if (!toTop &&
        !(onlyShared(result.set) &&
          trailing + unsigned(llvm::popcount(filled)) + result.shift >=
              kSharedAddressBits)) {
      result.bounded = false;
      return result;
    }
    result.low -= ((int64_t(1) << trailing) - 1) << result.shift;
    if (result.low < 0 && a.low >= 0 && a.set)
      result.low = 0; // Aligning down does not leave an aligned object.
    return result;
  }
  case ArithKind::Shl:
  case ArithKind::Shr: {
    if (!a.set || !onlyShared(a.set))
      return {};
    std::optional<uint64_t> by = constants.get(in[1]);
    if (!by || *by > 8) {
      a.bounded = false;
      a.shift = 0;
      return a;
    }
    if (arith.getKind() == ArithKind::Shr) {
      a.shift += *by;
    } else if (a.shift >= *by) {
      a.shift -= *by;
    } else {
      a.bounded = false;
      a.shift = 0;
    }
    return a;
  }
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24: {
    State c = state(2);
    if (!c.set)
      return {};
    Range x = range(0), y = range(1);
    if (x.full || y.full || x.low < 0 || y.low < 0 || x.high > INT32_MAX ||
        y.high > INT32_MAX)
      return add(c, {}, 1);
    return add(c, Range::of(x.low * y.low, x.high * y.high), 1);
  }
  case ArithKind::Bfe: {
    std::optional<uint64_t> position =
        in.size() > 1 ? constants.get(in[1]) : std::nullopt;
    if (!a.set || !onlyShared(a.set))
      return {};
    if (position && *position <= 8)
      a.shift += *position;
    else
      a.bounded = false;
    return a;
  }
  case ArithKind::Bfi:
  case ArithKind::Prmt:
  case ArithKind::AddCarry:
  case ArithKind::SubCarry:
  case ArithKind::MadCarryLo:
    return uniteAll(3);
  case ArithKind::Lop3: {
    State result = uniteAll(3);
    // `lop3` of an address and constants is the masked form of and/or.
    return result;
  }
  default:
    return {};
  }
}

void MemoryRoots::visitLoad(OpId id) {
  auto load = cast<kern::LoadOp>(index.getOp(id));
  ValueId first = index.getFirstResult(id);
  uint32_t count = index.getNumResults(id);
  const State &address = states[index.getId(load.getBase())];
  unsigned bytes = std::max(1u, kern::getBits(load.getType()) / 8);
  for (uint32_t i = 0; i < count; ++i) {
    unsigned width = getWidth(index.getValue(first + i).getType());
    if (width < 32)
      continue;
    State result;
    // The set may move when roots are added: copy.
    llvm::SmallVector<RootId, 2> from = sets[address.set];
    for (RootId root : from) {
      const Root &r = roots[root];
      if (r.kind == Root::Kind::Parameter) {
        if (width < 64)
          continue;
        Root pointer;
        pointer.kind = Root::Kind::Pointer;
        pointer.number = r.number;
        pointer.offset =
            address.bounded && address.low == address.high
                ? address.low + int64_t(load.getOffset()) + int64_t(i) * bytes
                : -1;
        pointer.space = Space::Global;
        result.set = unite(result.set, internSet(addRoot(pointer)));
        result.bounded = true;
        continue;
      }
      result.set = unite(result.set, content[root]);
      bool global = r.kind == Root::Kind::Pointer ||
                    r.kind == Root::Kind::Loaded || r.space == Space::Global ||
                    r.space == Space::Constant;
      if (global && width == 64 && count == 1) {
        Root loaded;
        loaded.kind = Root::Kind::Loaded;
        loaded.number = r.kind == Root::Kind::Loaded ? r.number : root;
        loaded.space = Space::Global;
        result.set = unite(result.set, internSet(addRoot(loaded)));
      }
    }
    update(first + i, result);
  }
}

void MemoryRoots::visitStore(OpId id) {
  auto store = cast<kern::StoreOp>(index.getOp(id));
  const State &address = states[index.getId(store.getBase())];
  llvm::SmallVector<RootId, 2> to = sets[address.set];
  for (Value value : store.getValues()) {
    uint32_t set = states[index.getId(value)].set;
    if (set == 0)
      continue;
    for (RootId root : to)
      if (roots[root].kind == Root::Kind::Symbol)
        addContent(root, set);
  }
}

void MemoryRoots::visit(OpId id) {
  Operation *op = index.getOp(id);
  // What a terminator passes on.
  if (op->getNumSuccessors() != 0) {
    BlockId block = index.getBlockOf(id);
    llvm::ArrayRef<BlockId> to = index.getSuccessors(block);
    for (unsigned s = 0; s < to.size(); ++s) {
      uint32_t edge = index.getEdge(block, s);
      if (!constants.isExecutableEdge(edge))
        continue;
      ValueId arg = index.getFirstArg(to[s]);
      for (ValueId value : index.getPassed(edge)) {
        if (value != kNone)
          update(arg, states[value]);
        ++arg;
      }
    }
    return;
  }
  uint32_t count = index.getNumResults(id);
  ValueId first = index.getFirstResult(id);
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](kern::AddressOfOp address) {
        auto [it, isNew] = symbolRoots.try_emplace(op, 0);
        if (isNew) {
          Operation *symbol =
              symbols.lookupNearestSymbolFrom(op, address.getSymbolAttr());
          Root root;
          root.symbol = symbol;
          root.kind = Root::Kind::Function;
          if (auto object = dyn_cast_or_null<kern::ObjectOp>(symbol)) {
            root.kind = Root::Kind::Symbol;
            root.space = object.getSpace();
          }
          it->second = addRoot(root);
        }
        State state;
        state.set = internSet(it->second);
        state.bounded = true;
        update(first, state);
      })
      .Case([&](kern::ArithOp) { update(first, transferArith(id)); })
      .Case([&](kern::ConvertOp convert) {
        if (in.empty() || kern::isFloat(convert.getFrom()) ||
            kern::isFloat(convert.getTo()))
          return;
        // The address field of a descriptor fits into 16 bits.
        const State &from = states[in[0]];
        bool fits =
            from.set != 0 && onlyShared(from.set) &&
            kern::getBits(convert.getTo()) + from.shift >= kSharedAddressBits;
        if (kern::getBits(convert.getTo()) >= 32 || fits)
          update(first, from);
      })
      .Case<kern::SpaceCastOp, kern::MapSharedOp>(
          [&](Operation *) { update(first, states[in[0]]); })
      .Case([&](kern::SelectOp select) {
        std::optional<uint64_t> condition = constants.get(in[0]);
        if (!condition || *condition != 0)
          update(first, states[in[1]]);
        if (!condition || *condition == 0)
          update(first, states[in[2]]);
      })
      .Case([&](kern::PackOp) {
        State result = in.empty() ? State() : states[in[0]];
        uint32_t set = result.set;
        for (ValueId v : in)
          set = unite(set, states[v].set);
        if (set != result.set)
          result.bounded = false;
        // Bits above a descriptor's address field come from the other inputs.
        result.set = set;
        update(first, result);
      })
      .Case([&](kern::UnpackOp) {
        for (uint32_t i = 0; i < count; ++i) {
          State part = states[in[0]];
          if (i != 0)
            part.bounded = false;
          update(first + i, part);
        }
      })
      .Case([&](kern::ShuffleOp) {
        if (count != 0 && !in.empty())
          update(first, states[in[0]]);
      })
      .Case([&](kern::LoadOp) { visitLoad(id); })
      .Case([&](kern::StoreOp) { visitStore(id); })
      .Case([&](kern::TmemStateOp state) {
        if (state.getAction() != "reserve" || count == 0)
          return;
        Root root;
        root.kind = Root::Kind::TensorMemory;
        root.number = id;
        root.space = Space::TensorMemory;
        State reserved;
        reserved.set = internSet(addRoot(root));
        update(first, reserved);
      })
      .Case([&](kern::TmemAllocOp alloc) {
        Root root;
        root.kind = Root::Kind::TensorMemory;
        root.number = id;
        root.space = Space::TensorMemory;
        uint32_t set = internSet(addRoot(root));
        llvm::SmallVector<RootId, 2> to =
            sets[states[index.getId(alloc.getBase())].set];
        for (RootId target : to)
          addContent(target, set);
      })
      .Case<kern::CallOp, kern::CallIndirectOp, kern::OpaqueOp>(
          [&](Operation *) {
            State unknown;
            unknown.set = internSet(RootId(0));
            for (uint32_t i = 0; i < count; ++i)
              if (getWidth(index.getValue(first + i).getType()) >= 64)
                update(first + i, unknown);
          })
      .Default([](Operation *) {});
  if (index.getGuard(id) != kNone && count != 0) {
    llvm::ArrayRef<ValueId> old = in.take_back(count);
    for (uint32_t i = 0; i < count; ++i)
      update(first + i, states[old[i]]);
  }
}

void MemoryRoots::solve() {
  kern::FuncOp func = index.getFunc();
  for (uint32_t i = 0, e = index.getNumArgs(0); i < e; ++i) {
    State state;
    Root root;
    root.number = i;
    root.kind = Root::Kind::Parameter;
    root.space = Space::Param;
    if (!func.isEntry()) {
      root.kind = Root::Kind::Unknown;
      continue;
    }
    state.set = internSet(addRoot(root));
    state.bounded = true;
    states[index.getFirstArg(0) + i] = state;
  }
  // Loads read what stores put into memory: register them before the first
  // store is seen, under every root that they may get.
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (!constants.mayRun(op))
      continue;
    visit(op);
  }
  std::vector<OpId> allLoads;
  llvm::DenseSet<std::pair<RootId, OpId>> registered;
  auto registerLoads = [&] {
    bool grew = false;
    for (OpId op : allLoads) {
      auto load = cast<kern::LoadOp>(index.getOp(op));
      for (RootId root : sets[states[index.getId(load.getBase())].set])
        if (content[root] != 0 && registered.insert({root, op}).second) {
          loadsOf[root].push_back(op);
          grew = true;
          if (!queued[op]) {
            queued[op] = true;
            worklist.push_back(op);
          }
        }
    }
    return grew;
  };
  for (OpId op = 0; op < index.getNumOps(); ++op)
    if (auto load = dyn_cast<kern::LoadOp>(index.getOp(op)))
      if (constants.mayRun(op) && load.getSpace() != Space::Param)
        allLoads.push_back(op);
  auto drain = [&] {
    while (!worklist.empty()) {
      OpId op = worklist.back();
      worklist.pop_back();
      queued[op] = false;
      visit(op);
    }
  };
  // Few roots hold pointers, so that this settles in two or three rounds.
  drain();
  while (registerLoads())
    drain();
}

//===----------------------------------------------------------------------===//
// Accesses and objects
//===----------------------------------------------------------------------===//

/// Whether an access in `space` may go to `root`.
static bool isCompatible(const Root &root, Space space,
                         kern::MemoryAccess::Form form) {
  switch (root.kind) {
  case Root::Kind::Unknown:
  case Root::Kind::Function:
    return false;
  case Root::Kind::TensorMemory:
    return space == Space::TensorMemory;
  case Root::Kind::Parameter:
    return space == Space::Param || space == Space::Generic ||
           form == kern::MemoryAccess::Form::TensorMap;
  case Root::Kind::Pointer:
  case Root::Kind::Loaded:
    return space == Space::Global || space == Space::Generic ||
           space == Space::Constant || space == Space::Unknown;
  case Root::Kind::Symbol:
    if (space == Space::Generic || space == Space::Unknown ||
        form == kern::MemoryAccess::Form::TensorMap)
      return true;
    if (root.space == Space::Shared)
      return space == Space::Shared || space == Space::SharedCluster;
    return root.space == space;
  }
  return false;
}

RootId MemoryRoots::findOnlyTensorMemory() const {
  RootId only = kNone;
  for (RootId root = 0; root < roots.size(); ++root)
    if (roots[root].kind == Root::Kind::TensorMemory) {
      if (only != kNone)
        return kNone;
      only = root;
    }
  if (only == kNone)
    return kNone;
  // Numbers and offsets from the allocation agree when it is all there is.
  auto alloc = dyn_cast<kern::TmemAllocOp>(index.getOp(roots[only].number));
  if (alloc && constants.get(index.getId(alloc.getColumns())) == kTensorColumns)
    return only;
  for (const AccessInfo &info : accesses)
    if (info.space == Space::TensorMemory && info.access.address &&
        !getRoots(index.getId(info.access.address)).empty())
      return kNone;
  return only;
}

void MemoryRoots::collectAccesses() {
  // In machine code a number is an address in shared memory.
  RootId window = 0;
  if (auto symbol = index.getFunc()->getAttrOfType<FlatSymbolRefAttr>(
          "kern.shared_window")) {
    Root root;
    root.symbol = SymbolTable::lookupNearestSymbolFrom(index.getFunc(), symbol);
    if (root.symbol) {
      root.kind = Root::Kind::Symbol;
      root.space = Space::Shared;
      window = addRoot(root);
    }
  }
  // Numbers and pointers look alike in a parameter. A parameter is a pointer
  // for sure when it alone is the root of an address that is used as one.
  std::vector<bool> confirmed(roots.size(), false);
  auto confirm = [&](ValueId value) {
    llvm::ArrayRef<RootId> set = getRoots(value);
    if (set.size() == 1)
      confirmed[set[0]] = true;
  };
  llvm::SmallVector<kern::MemoryAccess, 4> list;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (!constants.mayRun(op))
      continue;
    if (auto cast = dyn_cast<kern::SpaceCastOp>(index.getOp(op)))
      confirm(index.getId(cast.getAddress()));
  }
  firstAccess.reserve(index.getNumOps() + 1);
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    firstAccess.push_back(accesses.size());
    if (!constants.mayRun(op))
      continue;
    auto memory = dyn_cast<kern::MemoryAccessOpInterface>(index.getOp(op));
    if (!memory)
      continue;
    list.clear();
    memory.getAccesses(list);
    for (const kern::MemoryAccess &access : list) {
      if (access.space == Space::Param)
        continue;
      AccessInfo info;
      info.op = op;
      info.access = access;
      info.space = access.space;
      accesses.push_back(info);
      if (access.address)
        confirm(index.getId(access.address));
    }
  }
  firstAccess.push_back(accesses.size());

  // Tensor memory is addressed by number, too: a block that allocates it once
  // can only mean that allocation.
  RootId tensor = findOnlyTensorMemory();
  for (AccessInfo &info : accesses) {
    if (!info.access.address)
      continue;
    ValueId address = index.getId(info.access.address);
    State state = states[address];
    if (tensor != kNone && info.space == Space::TensorMemory &&
        sets[state.set].empty()) {
      Range range = constants.getRange(address);
      state.set = internSet(tensor);
      state.bounded = !range.full && range.low >= 0 && range.high <= kMaxOffset;
      state.low = range.low;
      state.high = range.high;
    }
    bool isShared =
        info.space == Space::Shared || info.space == Space::SharedCluster;
    if (window != 0 && isShared &&
        llvm::none_of(sets[state.set], [&](RootId root) {
          return isCompatible(roots[root], info.space, info.access.form);
        })) {
      Range range = constants.getRange(address);
      state = {};
      state.set = internSet(window);
      state.bounded = !range.full && range.low >= 0 && range.high <= kMaxOffset;
      state.low = range.low;
      state.high = range.high;
    }
    bool anyUnknown = false;
    for (RootId root : sets[state.set]) {
      anyUnknown |= roots[root].kind == Root::Kind::Unknown;
      if (isCompatible(roots[root], info.space, info.access.form))
        info.roots.push_back(root);
    }
    if (anyUnknown) {
      info.roots.clear();
    } else if (info.roots.size() > 1) {
      bool anyConfirmed = llvm::any_of(
          info.roots, [&](RootId root) { return confirmed[root]; });
      if (anyConfirmed)
        llvm::erase_if(info.roots, [&](RootId root) {
          return roots[root].kind == Root::Kind::Pointer && !confirmed[root];
        });
    }
    if (info.space == Space::Generic || info.space == Space::Unknown) {
      info.space =
          info.roots.empty() ? Space::Unknown : roots[info.roots[0]].space;
      for (RootId root : info.roots)
        if (roots[root].space != info.space)
          info.space = Space::Unknown;
    }
    if (info.space == Space::SharedCluster)
      info.space = Space::Shared;
    // A descriptor names the start of a matrix whose extent it does not give.
    bool extent = info.access.bytes &&
                  info.access.form == kern::MemoryAccess::Form::Address;
    if (state.bounded && state.shift == 0 && extent && !info.roots.empty()) {
      info.bounded = true;
      info.low = state.low + info.access.offset;
      info.high = state.high + info.access.offset + int64_t(*info.access.bytes);
    }
  }
}

void MemoryRoots::buildObjects() {
  // Data accesses by root.
  std::vector<std::vector<uint32_t>> byRoot(roots.size());
  for (uint32_t i = 0; i < accesses.size(); ++i)
    if (!accesses[i].access.barrier)
      for (RootId root : accesses[i].roots)
        byRoot[root].push_back(i);
  std::vector<std::pair<uint32_t, uint32_t>> pairs; // (object, access)
  for (RootId root = 0; root < roots.size(); ++root) {
    std::vector<uint32_t> &list = byRoot[root];
    if (list.empty())
      continue;
    MemoryObject object;
    object.root = root;
    object.space = roots[root].space;
    bool allBounded =
        llvm::all_of(list, [&](uint32_t i) { return accesses[i].bounded; });
    if (!allBounded) {
      for (uint32_t i : list)
        pairs.push_back({uint32_t(objects.size()), i});
      objects.push_back(object);
      continue;
    }
    llvm::sort(list, [&](uint32_t a, uint32_t b) {
      return std::pair(accesses[a].low, a) < std::pair(accesses[b].low, b);
    });
    object.bounded = true;
    object.low = accesses[list[0]].low;
    object.high = accesses[list[0]].high;
    for (uint32_t i : list) {
      if (accesses[i].low >= object.high) {
        objects.push_back(object);
        object.low = accesses[i].low;
        object.high = accesses[i].high;
      }
      object.high = std::max(object.high, accesses[i].high);
      pairs.push_back({uint32_t(objects.size()), i});
    }
    objects.push_back(object);
  }
  accessObjects = FlatLists::invert(accesses.size(), pairs);
  for (auto &[object, access] : pairs)
    std::swap(object, access);
  llvm::sort(pairs);
  objectAccesses = FlatLists::invert(objects.size(), pairs);
}

bool MemoryRoots::isUnread(uint32_t access) const {
  const AccessInfo &info = accesses[access];
  return !info.roots.empty() && llvm::all_of(info.roots, [&](RootId root) {
    return roots[root].isUnread;
  });
}

std::string MemoryRoots::describe(RootId id) const {
  const Root &root = roots[id];
  switch (root.kind) {
  case Root::Kind::Unknown:
    return "an unknown address";
  case Root::Kind::Symbol: {
    auto object = cast<kern::ObjectOp>(root.symbol);
    StringRef name =
        object.getSourceName() ? *object.getSourceName() : object.getSymName();
    return ("'" + name + "'").str();
  }
  case Root::Kind::Parameter:
    return "parameter " + std::to_string(root.number);
  case Root::Kind::Pointer:
    return "the pointer in parameter " + std::to_string(root.number);
  case Root::Kind::Loaded:
    return "a pointer loaded from memory";
  case Root::Kind::TensorMemory:
    return "tensor memory";
  case Root::Kind::Function:
    return "a function";
  }
  return "";
}
