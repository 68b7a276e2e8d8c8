// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// persistent_kernel: blocks that loop over output tiles. The kernel's code
// shows the loop and who hands out tiles; the launch says whether there are
// more tiles than blocks and what sizes the grid.

#include "Engine/Detector.h"
#include "Engine/HostDetector.h"
#include "Engine/LaunchTexts.h"
#include "Engine/RowLoops.h"

#include "d2k/Analysis/Occupancy.h"
#include "d2k/Dialect/Kern/Location.h"
#include "d2k/Fact/LaunchExpression.h"
#include "d2k/Frontend/CUDA/HostReader.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Names of the terms of a claim: whether a block gets a second tile, and what
/// limits the tiles.
static constexpr const char *kMore = "more";

//===----------------------------------------------------------------------===//
// The kernel's code
//===----------------------------------------------------------------------===//

namespace {
/// What is known about one loop.
struct TileLoop {
  std::string scheduler;
  /// Text of whether a block gets a second tile; empty when the hardware hands
  /// out tiles, nothing when the text is not known.
  std::optional<std::string> more;
};

class TileLoops {
public:
  explicit TileLoops(Detector &detector)
      : detector(detector), kernel(detector.getKernel()),
        index(kernel.getIndex()), loops(kernel.getLoops()) {}

  /// The output stores of data that lie in `loop`.
  llvm::SmallVector<OpId, 4> getStores(uint32_t loop) const;
  /// Nothing when the loop does not walk over tiles. With `alone`, threads need
  /// not work together in it.
  std::optional<TileLoop> match(uint32_t loop, bool alone = false);
  /// Whether each iteration of `loop` writes a row (RowLoops.h).
  bool isOverRows(uint32_t loop);
  /// Whether `store` lies in a loop over the same tiles as `tiles`: compilers
  /// make two of one when a condition does not change in it.
  bool isInCopy(OpId store, const TileLoop &tiles);

private:
  struct Exit {
    BlockId block;
    ValueId condition;
    bool staysWhenTrue;
  };
  bool cooperates(uint32_t loop) const;
  bool hasMatrixProducts(uint32_t loop) const;
  LaunchBindings bindThread(uint32_t loop);
  std::vector<Exit> getExits(uint32_t loop) const;
  std::optional<TileLoop> matchStatic(uint32_t loop,
                                      llvm::ArrayRef<OpId> stores);
  std::optional<TileLoop> matchDynamic(uint32_t loop,
                                       llvm::ArrayRef<OpId> stores);
  std::vector<bool> getSlice(llvm::ArrayRef<ValueId> from);
  llvm::SmallVector<ValueId, 8> getPlace(OpId store) const;

  Detector &detector;
  KernelContext &kernel;
  const KernelIndex &index;
  const LoopNest &loops;
};
} // namespace

llvm::SmallVector<OpId, 4> TileLoops::getStores(uint32_t loop) const {
  llvm::SmallVector<OpId, 4> stores;
  for (const OutputStore &store : detector.getProvenance().getOutputStores())
    if ((!store.terms.empty() || store.unknown) &&
        loops.contains(loop, index.getBlockOf(store.op)))
      stores.push_back(store.op);
  return stores;
}

/// Whether threads work together in an iteration: a tile is more than an
/// element for each of them.
bool TileLoops::cooperates(uint32_t loop) const {
  for (BlockId block : loops.getLoop(loop).blocks) {
    uint32_t inner = loops.getInnermostWorking(block);
    if (inner != loop && inner != kNone && loops.encloses(loop, inner))
      return true;
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op)
      if (llvm::isa<kern::MatrixProductOpInterface, kern::BarrierOpInterface>(
              index.getOp(op)) &&
          !llvm::isa<kern::WarpBarrierOp>(index.getOp(op)))
        return true;
  }
  return false;
}

bool TileLoops::hasMatrixProducts(uint32_t loop) const {
  for (BlockId block : loops.getLoop(loop).blocks) {
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op)
      if (llvm::isa<kern::MatrixProductOpInterface>(index.getOp(op)))
        return true;
  }
  return false;
}

/// Numbers of the first thread that runs `loop`, where it takes tiles by its
/// role: of two groups of threads, each takes every second tile. Only where
/// threads multiply matrices together; elements and rows are no tiles.
LaunchBindings TileLoops::bindThread(uint32_t loop) {
  LaunchBindings bindings;
  if (!hasMatrixProducts(loop))
    return bindings;
  LaneForms &forms = kernel.getLaneForms();
  std::vector<bool> active =
      forms.getActive(index.getTerminator(loops.getLoop(loop).header));
  auto first = llvm::find(active, true);
  if (!forms.getShape().known || first == active.end() ||
      forms.getShape().y != 1 || forms.getShape().z != 1)
    return bindings;
  std::string number = std::to_string(first - active.begin());
  for (OpId op = 0; op < index.getNumOps(); ++op)
    if (auto special = llvm::dyn_cast<kern::SpecialOp>(index.getOp(op));
        special && special.getReg() == "tid.x")
      bindings[index.getFirstResult(op)] = number;
  return bindings;
}

bool TileLoops::isOverRows(uint32_t loop) {
  llvm::SmallVector<ValueId, 16> places;
  for (OpId store : getStores(loop))
    llvm::append_range(places, getPlace(store));
  return properties::isOverRows(kernel, loop, getSlice(places));
}

std::vector<TileLoops::Exit> TileLoops::getExits(uint32_t loop) const {
  std::vector<Exit> exits;
  for (BlockId block : loops.getLoop(loop).blocks) {
    OpId end = index.getTerminator(block);
    auto branch = llvm::dyn_cast<kern::CondBranchOp>(index.getOp(end));
    llvm::ArrayRef<BlockId> next = index.getSuccessors(block);
    if (!branch || next.size() != 2)
      continue;
    bool inside[2];
    for (unsigned side : {0u, 1u})
      inside[side] =
          loops.contains(loop, next[side]) ||
          !kernel.getConstants().isExecutableEdge(index.getEdge(block, side)) ||
          llvm::isa<kern::UnreachableOp>(
              index.getOp(index.getTerminator(next[side])));
    if (inside[0] != inside[1])
      exits.push_back({block, index.getId(branch.getCondition()), inside[0]});
  }
  return exits;
}

/// What says where an output store writes.
llvm::SmallVector<ValueId, 8> TileLoops::getPlace(OpId store) const {
  llvm::SmallVector<ValueId, 8> place;
  mlir::Operation *op = index.getOp(store);
  if (auto copy = llvm::dyn_cast<kern::BulkCopyOp>(op)) {
    for (mlir::Value value : copy.getCoordinates())
      place.push_back(index.getId(value));
    for (mlir::Value value : copy.getDst())
      place.push_back(index.getId(value));
    return place;
  }
  for (const AccessInfo &info : kernel.getMemory().getAccessesOf(store))
    if (info.access.write && info.access.address)
      place.push_back(index.getId(info.access.address));
  return place;
}

/// The operations that `from` is made by, through registers, what a loop
/// carries, and what threads put into shared memory.
std::vector<bool> TileLoops::getSlice(llvm::ArrayRef<ValueId> from) {
  const MemoryRoots &memory = kernel.getMemory();
  std::vector<bool> ops(index.getNumOps(), false);
  std::vector<bool> seen(index.getNumValues(), false);
  std::vector<ValueId> work(from.begin(), from.end());
  while (!work.empty()) {
    ValueId value = work.back();
    work.pop_back();
    if (value == kNone || seen[value])
      continue;
    seen[value] = true;
    OpId def = index.getDef(value);
    if (def == kNone) {
      for (const KernelIndex::Incoming &in : index.getIncoming(value))
        work.push_back(in.value);
      continue;
    }
    if (ops[def])
      continue;
    ops[def] = true;
    if (!llvm::isa<kern::MemoryAccessOpInterface>(index.getOp(def))) {
      llvm::append_range(work, index.getOperands(def));
      continue;
    }
    // Of a load, what was stored there.
    uint32_t first = memory.getFirstAccess(def);
    for (auto [i, info] : llvm::enumerate(memory.getAccessesOf(def))) {
      if (!info.access.read || info.isGlobal())
        continue;
      for (ObjectId object : memory.getObjectsOf(first + i))
        for (uint32_t other : memory.getAccessesTo(object)) {
          OpId writer = memory.getAccesses()[other].op;
          if (!memory.getAccesses()[other].access.write || ops[writer])
            continue;
          if (auto store = llvm::dyn_cast<kern::StoreOp>(index.getOp(writer)))
            for (mlir::Value stored : store.getValues())
              work.push_back(index.getId(stored));
          if (llvm::isa<kern::LaunchCancelOp>(index.getOp(writer)))
            ops[writer] = true;
        }
    }
  }
  return ops;
}

std::optional<TileLoop> TileLoops::matchStatic(uint32_t loop,
                                               llvm::ArrayRef<OpId> stores) {
  BlockId header = loops.getLoop(loop).header;
  // What the loop carries in its first and in its second iteration.
  const LaunchBindings threads = bindThread(loop);
  LaunchBindings first = threads, second = threads;
  llvm::SmallVector<ValueId, 4> moving;
  ValueId arg = index.getFirstArg(header);
  auto gather = [&](ValueId value, bool inside,
                    const LaunchBindings &with) -> std::optional<std::string> {
    std::optional<std::string> text;
    for (const KernelIndex::Incoming &in : index.getIncoming(value)) {
      if (loops.contains(loop, in.from) != inside ||
          !kernel.getConstants().isExecutableEdge(in.edge))
        continue;
      std::optional<std::string> here =
          in.value == kNone ? std::nullopt
                            : getLaunchText(kernel, in.value, with);
      if (!here || (text && text != here))
        return std::nullopt;
      text = here;
    }
    return text;
  };
  for (uint32_t i = 0, e = index.getNumArgs(header); i < e; ++i)
    if (std::optional<std::string> text = gather(arg + i, false, threads))
      first[arg + i] = *text;
  bool stepsByGrid = false, startsByBlock = false;
  for (uint32_t i = 0, e = index.getNumArgs(header); i < e; ++i) {
    if (!first.count(arg + i))
      continue;
    std::optional<std::string> text = gather(arg + i, true, first);
    if (!text || *text == first[arg + i])
      continue;
    second[arg + i] = *text;
    moving.push_back(arg + i);
    startsByBlock |= first[arg + i].find("ctaid.") != std::string::npos;
    stepsByGrid |= text->find("grid.") != std::string::npos;
  }
  if (moving.empty())
    return std::nullopt;
  // Each iteration writes somewhere else.
  auto movesWith = [&](OpId store) {
    std::vector<bool> seen(index.getNumValues(), false);
    llvm::SmallVector<ValueId, 8> work = getPlace(store);
    while (!work.empty()) {
      ValueId value = work.pop_back_val();
      if (value == kNone || seen[value])
        continue;
      seen[value] = true;
      if (llvm::is_contained(moving, value))
        return true;
      OpId def = index.getDef(value);
      if (def != kNone)
        llvm::append_range(work, index.getOperands(def));
      else
        for (const KernelIndex::Incoming &in : index.getIncoming(value))
          work.push_back(in.value);
    }
    return false;
  };
  if (!llvm::all_of(stores, movesWith))
    return std::nullopt;
  TileLoop result;
  result.scheduler = "static";
  for (const Exit &exit : getExits(loop)) {
    bool before = llvm::all_of(stores, [&](OpId store) {
      BlockId at = index.getBlockOf(store);
      return at != exit.block &&
             kernel.getDominance().dominates(exit.block, at);
    });
    std::optional<std::string> text =
        getLaunchText(kernel, exit.condition, before ? second : first);
    if (!text)
      continue;
    if (!exit.staysWhenTrue)
      text = "eq " + *text + " 0";
    // The block's own index must be in it, and the whole grid or a share of
    // consecutive tiles, which the index bounds as well.
    size_t at = text->find("ctaid.");
    if (at == std::string::npos ||
        (text->find("grid.") == std::string::npos &&
         text->find("ctaid.", at + 1) == std::string::npos))
      continue;
    if (result.more)
      return std::nullopt;
    result.more = text;
  }
  // A loop that steps by the whole grid, but whose end is not known.
  if (!result.more && !(startsByBlock && stepsByGrid))
    return std::nullopt;
  return result;
}

std::optional<TileLoop> TileLoops::matchDynamic(uint32_t loop,
                                                llvm::ArrayRef<OpId> stores) {
  auto has = [&](const std::vector<bool> &ops, auto test) {
    for (OpId op = 0; op < ops.size(); ++op)
      if (ops[op] && kernel.getConstants().mayRun(op) && test(op))
        return true;
    return false;
  };
  auto isTicket = [&](OpId op) {
    auto atomic = llvm::dyn_cast<kern::AtomicOp>(index.getOp(op));
    if (!atomic || (atomic.getOp() != kern::AtomicFunction::Add &&
                    atomic.getOp() != kern::AtomicFunction::Inc))
      return false;
    llvm::ArrayRef<AccessInfo> at = kernel.getMemory().getAccessesOf(op);
    return !at.empty() && at[0].isGlobal() &&
           loops.getInnermostWorking(index.getBlockOf(op)) != kNone;
  };
  auto isAnswer = [&](OpId op) {
    return llvm::isa<kern::LaunchQueryOp>(index.getOp(op));
  };
  auto isRequest = [&](OpId op) {
    return llvm::isa<kern::LaunchCancelOp>(index.getOp(op));
  };
  for (const Exit &exit : getExits(loop)) {
    std::vector<bool> decides = getSlice(exit.condition);
    bool hardware = has(decides, isAnswer) && has(decides, isRequest);
    if (!hardware && !has(decides, isTicket))
      continue;
    bool everywhere = llvm::all_of(stores, [&](OpId store) {
      std::vector<bool> places = getSlice(getPlace(store));
      return hardware ? has(places, isAnswer) : has(places, isTicket);
    });
    if (!everywhere)
      continue;
    TileLoop result;
    result.scheduler = hardware ? "cluster_launch_control" : "atomic";
    if (hardware) {
      result.more = "";
      return result;
    }
    // The number of tiles is what the ticket is compared with.
    OpId def = index.getDef(exit.condition);
    auto compare = def == kNone
                       ? kern::CompareOp()
                       : llvm::dyn_cast<kern::CompareOp>(index.getOp(def));
    if (compare && !compare.getCombine())
      for (unsigned i : {0u, 1u}) {
        std::optional<std::string> limit =
            getLaunchText(kernel, index.getOperands(def)[i]);
        if (limit && limit->find("ctaid.") == std::string::npos &&
            limit->front() != '-' && *limit != "0")
          result.more = "lt mul grid.x mul grid.y grid.z " + *limit;
      }
    return result;
  }
  return std::nullopt;
}

std::optional<TileLoop> TileLoops::match(uint32_t loop, bool alone) {
  llvm::SmallVector<OpId, 4> stores = getStores(loop);
  if (loops.getLoop(loop).spin || stores.empty() ||
      (!alone && !cooperates(loop)))
    return std::nullopt;
  if (std::optional<TileLoop> found = matchStatic(loop, stores))
    return found;
  return matchDynamic(loop, stores);
}

bool TileLoops::isInCopy(OpId store, const TileLoop &tiles) {
  if (!tiles.more || tiles.more->empty())
    return false;
  for (uint32_t loop = loops.getInnermostWorking(index.getBlockOf(store));
       loop != kNone; loop = loops.getLoop(loop).parent)
    if (std::optional<TileLoop> here = match(loop, /*alone=*/true);
        here && here->more == tiles.more)
      return true;
  return false;
}

/// An operation that stands for the loop: one of its header that has a line.
static OpId getHead(const KernelIndex &index, const Loop &loop) {
  auto [begin, end] = index.getOps(loop.header);
  for (OpId op = begin; op < end; ++op)
    if (kern::getSourceLocation(index.getOp(op)->getLoc()))
      return op;
  return begin;
}

static void detect(Detector &detector) {
  const LoopNest &loops = detector.getKernel().getLoops();
  const KernelIndex &index = detector.getIndex();
  TileLoops tiles(detector);
  std::optional<TileLoop> found;
  uint32_t at = kNone;
  for (uint32_t loop = 0; loop < loops.getLoops().size(); ++loop) {
    // Inside a loop over tiles there are none.
    if (at != kNone && loops.encloses(at, loop))
      continue;
    std::optional<TileLoop> here = tiles.match(loop);
    if (!here)
      continue;
    OpId head = getHead(index, loops.getLoop(loop));
    if (found && found->more && found->more == here->more)
      continue;
    if (found) {
      detector.addUndecided(
          "the kernel has several loops over output tiles: " +
              detector.describe({getHead(index, loops.getLoop(at)), head}),
          "one loop, or a profile", {head});
      return;
    }
    found = here;
    at = loop;
  }
  if (!found)
    return;
  OpId head = getHead(index, loops.getLoop(at));
  std::string sentence =
      "the loop at " + detector.describe(head) + " walks over output tiles";
  for (const OutputStore &store : detector.getProvenance().getOutputStores())
    if (!store.terms.empty() &&
        !loops.contains(at, index.getBlockOf(store.op)) &&
        !tiles.isInCopy(store.op, *found)) {
      detector.addUndecided(sentence + ", but " + detector.describe(store.op) +
                                " stores results outside of it",
                            "one loop for all output tiles", {head, store.op});
      return;
    }
  if (found->scheduler == "static" && tiles.isOverRows(at)) {
    detector.addNearMiss("the loop at " + detector.describe(head) +
                             " walks over rows in steps of the grid: an "
                             "iteration writes a row, and no tile of a matrix "
                             "product",
                         {head});
    return;
  }
  Judgement modelled = detector.judgeModelled();
  if (!modelled.isProved()) {
    detector.addUndecided(sentence + " and " + modelled.reason,
                          modelled.wouldDecide, {head});
    return;
  }
  if (!found->more) {
    detector.addUndecided(
        sentence + ", and how many there are depends on more than the launch",
        "a number of tiles that the kernel gets as a parameter", {head});
    return;
  }
  LaunchClaim claim;
  claim.attributes["scheduler"] = found->scheduler;
  if (!found->more->empty())
    claim.terms[kMore] = *found->more;
  claim.loop = loops.getLoop(at).id;
  detector.addLaunchClaim(std::move(claim), {head});
  detector.addUndecided(
      sentence + "; whether there are more tiles than blocks, and whether the "
                 "machine sizes the grid, is seen at the launch",
      "host code and a workload", {head});
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

/// Without a workload, more blocks than any machine holds.
static constexpr int64_t kManyBlocks = 800;
/// Blocks of a multiprocessor up to which a constant grid counts as sized by
/// the machine.
static constexpr int64_t kBlocksEach = 4;

/// The integer at `offset` of `argument`.
static const cuda::Quantity *findInteger(const cuda::Argument &argument,
                                         int64_t offset) {
  if (argument.kind == cuda::Argument::Kind::Integer && offset == 0)
    return &argument.integer;
  if (argument.kind != cuda::Argument::Kind::Record)
    return nullptr;
  for (const cuda::ArgumentField &field : argument.fields) {
    int64_t size = std::max<int64_t>(field.value.bytes, 1);
    if (offset >= field.offset && offset < field.offset + size)
      return findInteger(field.value, offset - field.offset);
  }
  return nullptr;
}

/// The most blocks of this launch that \p target holds at once: no less than an
/// occupancy query can give.
static std::optional<int64_t> getMostBlocks(const cuda::Event &event,
                                            const KernelFacts &kernel,
                                            const std::string &target) {
  std::optional<cuda::Machine> machine = cuda::getMachine(target);
  std::optional<SmLimits> limits = getSmLimits(target);
  if (!machine || !limits)
    return std::nullopt;
  int64_t threads = 1;
  for (const cuda::Quantity &extent : event.block)
    threads *= extent.value.value_or(0);
  if (threads < 1 || threads > 1024)
    return machine->multiprocessors * limits->blocks;
  BlockNeeds needs;
  needs.threads = threads;
  needs.registers = kernel.registers.value_or(0);
  needs.sharedBytes =
      kernel.sharedBytes.value_or(0) + event.dynamicShared.value.value_or(0);
  return machine->multiprocessors * computeOccupancy(*limits, needs).blocks;
}

/// What `leaf` is under the launch; block 0 stands for all blocks. A grid that
/// only the machine sizes, in a way that is not known (an occupancy query), is
/// the largest one when `most` is given.
static std::optional<int64_t> lookUp(const cuda::Event &event,
                                     const KernelFacts &kernel,
                                     std::string_view leaf,
                                     std::optional<int64_t> most) {
  if (std::optional<LaunchParameter> at = parseLaunchParameter(leaf)) {
    if (at->parameter >= event.arguments.size())
      return std::nullopt;
    const cuda::Quantity *found =
        findInteger(event.arguments[at->parameter], at->offset);
    return found ? found->value : std::nullopt;
  }
  if (leaf.substr(0, 5) == "ctaid")
    return 0;
  size_t axis = leaf.back() - 'x';
  if (axis > 2)
    return std::nullopt;
  if (leaf.substr(0, 4) == "grid") {
    const cuda::Quantity &extent = event.grid[axis];
    bool byMachine = extent.origins.machine && !extent.origins.problem;
    return extent.value ? extent.value : byMachine ? most : std::nullopt;
  }
  if (leaf.substr(0, 5) == "block")
    return event.block[axis].value;
  if (leaf.substr(0, 7) != "cluster")
    return std::nullopt;
  // The kernel's own attribute is in its code.
  for (const Fact &fact : kernel.facts)
    if (fact.property == "cluster_launch")
      if (auto found = fact.attributes.find(std::string(1, leaf.back()));
          found != fact.attributes.end())
        return std::get<int64_t>(found->second);
  return event.cluster[axis].value;
}

/// "the parameter at byte 0 of argument 5"
static std::string nameLeaf(const std::string &leaf) {
  if (std::optional<LaunchParameter> at = parseLaunchParameter(leaf))
    return "argument " + std::to_string(at->parameter + 1) + " (byte " +
           std::to_string(at->offset) + ")";
  return leaf.empty() ? std::string("a quantity that is not known") : leaf;
}

namespace {
/// The grid of one launch.
struct Grid {
  std::optional<int64_t> blocks = 1;
  cuda::Origins origins;
  std::string unknown;
};
/// Outcome for one launch; `reason` for what is no fact.
struct Verdict {
  Tristate holds = Tristate::Unknown;
  std::string reason;
};
} // namespace

static Grid getGrid(const cuda::Event &event) {
  Grid grid;
  for (const cuda::Quantity &extent : event.grid) {
    grid.origins = grid.origins | extent.origins;
    if (!extent.value) {
      grid.unknown = extent.unknown;
      grid.blocks.reset();
    } else if (grid.blocks) {
      *grid.blocks *= *extent.value;
    }
  }
  return grid;
}

/// Whether the hardware has tiles left to hand out when all resident blocks
/// run.
static Verdict judgeHardware(const Grid &grid, const cuda::Event &event,
                             const KernelFacts &kernel,
                             const std::string &target) {
  if (!grid.blocks)
    return {Tristate::Unknown, "the grid depends on " + grid.unknown};
  std::optional<cuda::Machine> machine = cuda::getMachine(target);
  std::optional<SmLimits> limits = getSmLimits(target);
  int64_t threads = 1;
  for (const cuda::Quantity &extent : event.block)
    threads *= extent.value.value_or(0);
  if (!machine || !limits)
    return {Tristate::Unknown, "it is not known what a " + target + " has"};
  int64_t least = machine->multiprocessors;
  if (*grid.blocks <= least)
    return {Tristate::No, "all " + std::to_string(*grid.blocks) +
                              " blocks run at once: the hardware has no tile "
                              "left to hand out"};
  if (!kernel.registers || !kernel.sharedBytes || !event.dynamicShared.value ||
      threads < 1 || threads > 1024)
    return {Tristate::Unknown, "it is not known how many blocks are resident"};
  BlockNeeds needs;
  needs.threads = threads;
  needs.registers = *kernel.registers;
  needs.sharedBytes = *kernel.sharedBytes + *event.dynamicShared.value;
  int64_t resident = least * computeOccupancy(*limits, needs).blocks;
  if (*grid.blocks > resident)
    return {Tristate::Yes, ""};
  return {Tristate::No, "all " + std::to_string(*grid.blocks) +
                            " blocks can run at once: the hardware has no "
                            "tile left to hand out"};
}

static Verdict judgeLaunch(const cuda::HostTrace &trace,
                           const cuda::Event &event, const LaunchClaim &claim,
                           const KernelFacts &kernel,
                           const std::string &target) {
  Grid grid = getGrid(event);
  auto more = claim.terms.find(kMore);
  if (more == claim.terms.end())
    return judgeHardware(grid, event, kernel, target);
  std::string unknown;
  auto evaluate = [&](std::optional<int64_t> most) {
    return evaluateLaunchExpression(
        more->second,
        [&](std::string_view leaf) {
          return lookUp(event, kernel, leaf, most);
        },
        &unknown);
  };
  std::optional<int64_t> second = evaluate(std::nullopt);
  // With the largest grid there are the fewest tiles for each block.
  if (!second &&
      evaluate(getMostBlocks(event, kernel, target)).value_or(0) != 0)
    second = 1;
  if (!second)
    return {Tristate::Unknown,
            "whether a block gets a second tile depends on " +
                nameLeaf(unknown)};
  std::string blocks =
      grid.blocks ? std::to_string(*grid.blocks) + " blocks" : "the grid";
  if (*second == 0)
    return {Tristate::No, "with " + blocks +
                              " there is a block for each tile, and the loop "
                              "runs once at most"};
  if (grid.origins.machine)
    return {Tristate::Yes, ""};
  if (grid.origins.problem)
    return {Tristate::No,
            "the problem and not the machine sizes the grid of " + blocks};
  if (!grid.blocks)
    return {Tristate::Unknown, "the grid depends on " + grid.unknown};
  std::optional<cuda::Machine> machine = cuda::getMachine(target);
  int64_t most = trace.workload.empty() || !machine
                     ? kManyBlocks
                     : kBlocksEach * machine->multiprocessors;
  if (*grid.blocks <= most)
    return {Tristate::Yes, ""};
  return {Tristate::No, "a constant grid of " + blocks +
                            " is more than the machine holds at once"};
}

static void detectHost(HostDetector &detector) {
  const std::string &target = detector.getAnalysis().target;
  std::set<size_t> launched, open;
  std::set<std::pair<size_t, std::string>> missed;
  for (const cuda::HostTrace &trace : detector.getTraces())
    for (const cuda::Event *event : detector.getLaunches(trace)) {
      std::optional<size_t> index = detector.findKernel(*event);
      if (!index)
        continue;
      const KernelFacts &kernel = detector.getAnalysis().kernels[*index];
      for (const LaunchClaim &claim : kernel.launchClaims) {
        if (claim.property != "persistent_kernel" ||
            !detector.isOpen(trace, *index, claim.property))
          continue;
        launched.insert(*index);
        Verdict verdict = judgeLaunch(trace, *event, claim, kernel, target);
        std::vector<SourceLocation> where = claim.where;
        where.push_back(event->where);
        std::string at =
            "the launch at " + HostDetector::describe(event->where);
        if (verdict.holds == Tristate::Yes && event->certain) {
          detector.addFact(trace, index, claim.attributes, where);
        } else if (verdict.holds == Tristate::Yes) {
          open.insert(*index);
          detector.addEvent(trace, index, *event, claim.attributes);
        } else if (verdict.holds == Tristate::Unknown) {
          open.insert(*index);
          detector.addUndecided(trace, index, at + ": " + verdict.reason,
                                std::string("a workload, or ") + kLaunchList,
                                where);
        } else if (missed.insert({*index, verdict.reason}).second) {
          detector.addNearMiss(index,
                               at +
                                   (trace.workload.empty()
                                        ? std::string()
                                        : " under " + trace.workload) +
                                   ": " + verdict.reason,
                               where);
        }
      }
    }
  for (size_t kernel : launched)
    if (!open.contains(kernel))
      detector.settle(kernel);
}

namespace d2k::properties {
Property makePersistentKernel() {
  PropertyInfo info;
  info.id = "persistent_kernel";
  info.group = 'C';
  info.summary =
      "a loop runs over output tiles, there are more tiles than blocks for "
      "this workload, and the machine sizes the grid (or the hardware hands "
      "out the blocks of a larger one)";
  info.attributes = {{"scheduler",
                      AttrType::String,
                      {"static", "atomic", "cluster_launch_control"},
                      "who hands out tiles"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx};
  info.detectorTiers = {Tier::Source, Tier::Ptx};
  return {info, detect, detectHost};
}
} // namespace d2k::properties
