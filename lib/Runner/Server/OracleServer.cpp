// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle: translates requests into calls of OracleWorkload.

#include "Server/DeviceSet.h"
#include "Server/Server.h"

#include "Device/OracleWorkload.h"
#include "Server/Exchange.h"

#include <algorithm>
#include <cmath>

using namespace d2k;
using namespace d2k::runner;

static constexpr size_t kProbeBytes = 4096;

namespace {

class OracleServer {
public:
  explicit OracleServer(const CudaDriver &driver)
      : driver(driver), devices(driver) {}

  /// Describes the devices; makes no context yet, so that an evaluation that
  /// waits for a device does not disturb the one that is timed there.
  Result<json::Object> hello(const json::Cursor &request);
  /// Makes the contexts.
  Result<json::Object> attach(const json::Cursor &request);
  Result<json::Object> open(const json::Cursor &request);
  Result<json::Object> fill(const json::Cursor &request);
  Result<json::Object> prepare(const json::Cursor &request);
  Result<json::Object> seal(const json::Cursor &request);
  Result<json::Object> capture(const json::Cursor &request);
  Result<json::Object> judge(const json::Cursor &request);
  Result<json::Object> hash(const json::Cursor &request);
  Result<json::Object> usage(const json::Cursor &request);
  Result<json::Object> exportSets(const json::Cursor &request);
  Result<json::Object> importSets(const json::Cursor &request);
  Result<json::Object> ping(const json::Cursor &request);

private:
  Result<unsigned> checkSet(int64_t set) const;
  /// The set that \p request names, of the workload that is open.
  Result<unsigned> getSet(const json::Cursor &request) const;
  Result<json::Array> describeBuffers();
  Result<std::string> makeHandle(unsigned rank, CUdeviceptr base);
  Result<json::Object> copySets(const json::Cursor &request, bool isExport);

  const CudaDriver &driver;
  DeviceSet devices;
  std::vector<int> ordinals;
  std::optional<task::Task> task;
  unsigned sets = 0;
  /// Of the workloads before this one.
  double preparedSeconds = 0;
  /// Memory that a worker tries to open.
  CUdeviceptr probe = 0;
  /// Where buffers go when memory cannot be shared, and where in it each is.
  std::unique_ptr<Exchange> exchange;
  std::vector<uint64_t> positions;
  // After the task, to which it refers.
  std::unique_ptr<OracleWorkload> workload;
};

} // namespace

Result<json::Object> OracleServer::hello(const json::Cursor &request) {
  Result<std::vector<int>> asked = getDevices(request);
  if (!asked)
    return forwardFailure(std::move(asked));
  ordinals = std::move(*asked);
  Result<json::Array> list = devices.describe(ordinals);
  if (!list)
    return forwardFailure(std::move(list));
  return json::Object{{"devices", std::move(*list)}};
}

Result<json::Object> OracleServer::attach(const json::Cursor &) {
  if (Result<void> done = devices.open(ordinals); !done)
    return forwardFailure(std::move(done));
  json::Object reply;
  // For a worker to try; without it there is none.
  driver.cuCtxSetCurrent(devices.getRanks().front().context);
  if (Result<void> done = driver.check(driver.cuMemAlloc(&probe, kProbeBytes),
                                       "allocate device memory");
      !done)
    return forwardFailure(std::move(done));
  if (Result<std::string> handle = makeHandle(0, probe))
    reply.set("probe", *handle);
  return reply;
}

Result<json::Array> OracleServer::describeBuffers() {
  json::Array list;
  uint64_t end = 0;
  positions.clear();
  for (const BufferInfo &buffer : workload->getBuffers()) {
    json::Object description{
        {"rank", int64_t(buffer.rank)},
        // -1: all sets share it.
        {"set", buffer.set == kAllSets ? int64_t(-1) : int64_t(buffer.set)},
        {"tensor", buffer.tensor},
        {"offset", int64_t(buffer.offset)},
        {"bytes", int64_t(buffer.bytes)}};
    if (exchange) {
      positions.push_back(end);
      description.set("position", int64_t(end));
      description.set("allocated", int64_t(buffer.allocated));
      end += buffer.allocated;
    } else {
      Result<std::string> handle = makeHandle(buffer.rank, buffer.base);
      if (!handle)
        return forwardFailure(std::move(handle));
      description.set("handle", *handle);
    }
    list.emplace_back(std::move(description));
  }
  return list;
}

Result<std::string> OracleServer::makeHandle(unsigned rank, CUdeviceptr base) {
  CUipcMemHandle handle = {};
  driver.cuCtxSetCurrent(devices.getRanks()[rank].context);
  if (Result<void> done =
          driver.check(driver.cuIpcGetMemHandle(&handle, base),
                       "share device memory with the worker (CUDA IPC)");
      !done)
    return forwardFailure(std::move(done));
  return toHex(handle.reserved, sizeof(handle.reserved));
}

Result<json::Object> OracleServer::open(const json::Cursor &request) {
  if (workload)
    preparedSeconds += workload->getPrepareSeconds();
  workload.reset();
  Result<std::string> path = request.getString("task");
  Result<std::string> id = request.getString("workload");
  Result<std::string> reference = request.getString("reference");
  Result<uint64_t> count = getUnsigned(request, "sets");
  if (!path || !id || !reference || !count)
    return request.fail("expected task, workload, reference and sets");
  Result<task::Task> loaded = task::Task::load(*path);
  if (!loaded)
    return forwardFailure(std::move(loaded));
  task = std::move(*loaded);
  const task::Workload *found = task->findWorkload(*id);
  if (!found)
    return fail(FailureKind::Input, *path + ": no workload " + *id);

  OracleConfig config;
  config.task = &*task;
  config.workload = found;
  if (const task::Axis *axis = task->findMachineAxis())
    config.machine[axis->name] = int64_t(devices.getRanks().size());
  for (const DeviceSet::Rank &rank : devices.getRanks())
    config.contexts.push_back(rank.context);
  config.sets = sets = unsigned(*count);
  Result<int64_t> workspace = task->getWorkspaceBytes(*found, config.machine);
  if (!workspace)
    return forwardFailure(std::move(workspace));
  config.workspaceBytes = uint64_t(*workspace);
  config.referenceLibrary = *reference;
  Result<std::unique_ptr<OracleWorkload>> created =
      OracleWorkload::create(driver, config);
  if (!created)
    return forwardFailure(std::move(created));
  workload = std::move(*created);
  exchange.reset();
  if (Result<std::string> path = request.getString("exchange")) {
    Result<std::unique_ptr<Exchange>> made = Exchange::create(driver, *path);
    if (!made)
      return forwardFailure(std::move(made));
    exchange = std::move(*made);
  }
  Result<json::Array> buffers = describeBuffers();
  if (!buffers)
    return forwardFailure(std::move(buffers));
  return json::Object{{"buffers", std::move(*buffers)}};
}

Result<unsigned> OracleServer::checkSet(int64_t set) const {
  if (!workload)
    return fail(FailureKind::Internal, "no workload is open");
  if (set < 0 || set >= int64_t(sets))
    return fail(FailureKind::Internal, "there is no set " +
                                           std::to_string(set) + " of " +
                                           std::to_string(sets));
  return unsigned(set);
}

Result<unsigned> OracleServer::getSet(const json::Cursor &request) const {
  Result<int64_t> set = request.getInteger("set");
  if (!set)
    return forwardFailure(std::move(set));
  return checkSet(*set);
}

Result<json::Object> OracleServer::fill(const json::Cursor &request) {
  Result<unsigned> set = getSet(request);
  if (!set)
    return forwardFailure(std::move(set));
  Result<std::string> kind = request.getString("kind");
  Result<uint64_t> seed = getUnsigned(request, "seed");
  Result<bool> exact = request.getBoolean("exact");
  if (!kind || !seed || !exact)
    return request.fail("expected kind, seed and exact");
  task::TrialSpec trial;
  trial.kind = *kind;
  trial.seed = *seed;
  trial.isExact = *exact;
  if (Result<void> done = workload->fill(*set, trial); !done)
    return forwardFailure(std::move(done));
  return json::Object{};
}

/// What comes before calls on `sets`: a perturbation of their inputs when there
/// is a seed, then the poison.
Result<json::Object> OracleServer::prepare(const json::Cursor &request) {
  Result<std::vector<unsigned>> which = getNumbers(request, "sets");
  if (!which)
    return forwardFailure(std::move(which));
  for (unsigned set : *which)
    if (Result<unsigned> known = checkSet(set); !known)
      return forwardFailure(std::move(known));
  std::optional<uint64_t> seed;
  if (request.find("perturbation")) {
    Result<uint64_t> given = getUnsigned(request, "perturbation");
    if (!given)
      return forwardFailure(std::move(given));
    seed = *given;
  }
  // Waits, because nothing else orders the worker's device work after ours.
  if (Result<void> done = workload->prepare(*which, seed); !done)
    return forwardFailure(std::move(done));
  return json::Object{};
}

Result<json::Object> OracleServer::seal(const json::Cursor &request) {
  Result<unsigned> set = getSet(request);
  if (!set)
    return forwardFailure(std::move(set));
  if (Result<void> done = workload->seal(*set); !done)
    return forwardFailure(std::move(done));
  return json::Object{};
}

Result<json::Object> OracleServer::capture(const json::Cursor &request) {
  Result<unsigned> set = getSet(request);
  if (!set)
    return forwardFailure(std::move(set));
  if (Result<void> done = workload->capture(*set); !done)
    return forwardFailure(std::move(done));
  return json::Object{};
}

static json::Value makeStrings(const std::vector<std::string> &strings) {
  json::Array array;
  for (const std::string &string : strings)
    array.emplace_back(string);
  return array;
}

/// Infinite and undefined numbers are strings: JSON has none.
static json::Value makeNumber(double number) {
  if (std::isnan(number))
    return "nan";
  if (std::isinf(number))
    return number > 0 ? "inf" : "-inf";
  return number;
}

Result<json::Object> OracleServer::judge(const json::Cursor &request) {
  Result<unsigned> set = getSet(request);
  if (!set)
    return forwardFailure(std::move(set));
  std::optional<uint64_t> sample;
  if (request.find("sample")) {
    Result<uint64_t> seed = getUnsigned(request, "sample");
    if (!seed)
      return forwardFailure(std::move(seed));
    sample = *seed;
  }
  Result<Judgement> judgement = workload->judge(*set, sample);
  if (!judgement)
    return forwardFailure(std::move(judgement));
  json::Object object = {
      {"passed", judgement->passed},
      {"reason", judgement->reason},
      {"max_error", makeNumber(judgement->maxError)},
      {"compared", int64_t(judgement->compared)},
      {"failed", int64_t(judgement->failed)},
      {"non_finite", int64_t(judgement->nonFinite)},
      {"broken_guards", makeStrings(judgement->brokenGuards)},
      {"changed_inputs", makeStrings(judgement->changedInputs)},
  };
  if (judgement->rmsRatio)
    object.set("rms_ratio", makeNumber(*judgement->rmsRatio));
  if (const std::optional<ElementFailure> &first = judgement->first) {
    json::Array index;
    for (int64_t i : first->index)
      index.emplace_back(i);
    object.set("first", json::Object{{"rank", int64_t(first->rank)},
                                     {"tensor", first->tensor},
                                     {"index", std::move(index)},
                                     {"expected", makeNumber(first->expected)},
                                     {"got", makeNumber(first->got)},
                                     {"allowed", makeNumber(first->allowed)}});
  }
  return object;
}

Result<json::Object> OracleServer::hash(const json::Cursor &request) {
  Result<unsigned> set = getSet(request);
  if (!set)
    return forwardFailure(std::move(set));
  Result<std::string> hash = workload->hashCapture(*set);
  if (!hash)
    return forwardFailure(std::move(hash));
  return json::Object{{"hash", *hash}};
}

Result<json::Object> OracleServer::usage(const json::Cursor &) {
  return json::Object{
      {"gpu_seconds",
       preparedSeconds + (workload ? workload->getPrepareSeconds() : 0)}};
}

/// Copies everything of some sets, and of what all share, to the exchange.
Result<json::Object> OracleServer::exportSets(const json::Cursor &request) {
  return copySets(request, /*isExport=*/true);
}

/// And back: what a worker made of it.
Result<json::Object> OracleServer::importSets(const json::Cursor &request) {
  return copySets(request, /*isExport=*/false);
}

Result<json::Object> OracleServer::copySets(const json::Cursor &request,
                                            bool isExport) {
  Result<std::vector<unsigned>> which = getNumbers(request, "sets");
  if (!which)
    return forwardFailure(std::move(which));
  if (!exchange)
    return fail(FailureKind::Internal, "nothing is exchanged");
  const std::vector<BufferInfo> &buffers = workload->getBuffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferInfo &buffer = buffers[i];
    bool isWanted =
        buffer.set == kAllSets ||
        std::find(which->begin(), which->end(), buffer.set) != which->end();
    // Signals begin as zeros in every worker.
    if (!isWanted || (!isExport && buffer.tensor == task::kSignalsName))
      continue;
    CUcontext context = devices.getRanks()[buffer.rank].context;
    Result<void> done = isExport
                            ? exchange->copyOut(context, buffer.base,
                                                positions[i], buffer.allocated)
                            : exchange->copyIn(context, buffer.base,
                                               positions[i], buffer.allocated);
    if (!done)
      return forwardFailure(std::move(done));
  }
  return json::Object{};
}

Result<json::Object> OracleServer::ping(const json::Cursor &) {
  return json::Object{};
}

int runner::serveOracle(Channel &channel) {
  std::unique_ptr<OracleServer> server;
  auto make = []() -> Result<std::unique_ptr<OracleServer>> {
    Result<const CudaDriver *> driver = CudaDriver::load();
    if (!driver)
      return forwardFailure(std::move(driver));
    return std::make_unique<OracleServer>(**driver);
  };
  return serve(channel, makeHandlers<OracleServer>(
                            server, make,
                            {{"attach", &OracleServer::attach},
                             {"open", &OracleServer::open},
                             {"fill", &OracleServer::fill},
                             {"prepare", &OracleServer::prepare},
                             {"seal", &OracleServer::seal},
                             {"export", &OracleServer::exportSets},
                             {"import", &OracleServer::importSets},
                             {"capture", &OracleServer::capture},
                             {"judge", &OracleServer::judge},
                             {"hash", &OracleServer::hash},
                             {"usage", &OracleServer::usage},
                             {"ping", &OracleServer::ping}}));
}
