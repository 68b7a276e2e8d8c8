// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle: translates requests into calls of OracleWorkload.

#include "Server/DeviceSet.h"
#include "Server/Server.h"

#include "Device/OracleWorkload.h"

#include <cmath>

using namespace d2k;
using namespace d2k::runner;

namespace {

class OracleServer {
public:
  explicit OracleServer(const CudaDriver &driver)
      : driver(driver), devices(driver) {}

  Result<json::Object> hello(const json::Cursor &request);
  Result<json::Object> open(const json::Cursor &request);
  Result<json::Object> fill(const json::Cursor &request);
  Result<json::Object> prepare(const json::Cursor &request);
  Result<json::Object> seal(const json::Cursor &request);
  Result<json::Object> capture(const json::Cursor &request);
  Result<json::Object> judge(const json::Cursor &request);
  Result<json::Object> hash(const json::Cursor &request);
  Result<json::Object> usage(const json::Cursor &request);

private:
  Result<unsigned> checkSet(int64_t set) const;
  /// The set that \p request names, of the workload that is open.
  Result<unsigned> getSet(const json::Cursor &request) const;
  Result<json::Array> describeBuffers() const;

  const CudaDriver &driver;
  DeviceSet devices;
  std::optional<task::Task> task;
  unsigned sets = 0;
  /// Of the workloads before this one.
  double preparedSeconds = 0;
  // After the task, to which it refers.
  std::unique_ptr<OracleWorkload> workload;
};

} // namespace

Result<json::Object> OracleServer::hello(const json::Cursor &request) {
  Result<std::vector<int>> ordinals = getDevices(request);
  if (!ordinals)
    return forwardFailure(std::move(ordinals));
  if (Result<void> done = devices.open(*ordinals); !done)
    return forwardFailure(std::move(done));
  json::Array list;
  for (const DeviceSet::Rank &rank : devices.getRanks()) {
    Result<json::Object> description = devices.describe(rank.device);
    if (!description)
      return forwardFailure(std::move(description));
    list.emplace_back(std::move(*description));
  }
  return json::Object{{"devices", std::move(list)}};
}

Result<json::Array> OracleServer::describeBuffers() const {
  json::Array list;
  for (const BufferInfo &buffer : workload->getBuffers()) {
    CUipcMemHandle handle = {};
    driver.cuCtxSetCurrent(devices.getRanks()[buffer.rank].context);
    if (Result<void> done =
            driver.check(driver.cuIpcGetMemHandle(&handle, buffer.base),
                         "share device memory with the worker (CUDA IPC)");
        !done)
      return forwardFailure(std::move(done));
    list.emplace_back(json::Object{
        {"rank", int64_t(buffer.rank)},
        // -1: all sets share it.
        {"set", buffer.set == kAllSets ? int64_t(-1) : int64_t(buffer.set)},
        {"tensor", buffer.tensor},
        {"handle", toHex(handle.reserved, sizeof(handle.reserved))},
        {"offset", int64_t(buffer.offset)},
        {"bytes", int64_t(buffer.bytes)}});
  }
  return list;
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
  Result<json::Cursor> list = request.get("sets");
  if (!list)
    return forwardFailure(std::move(list));
  Result<std::vector<json::Cursor>> items = list->asArray();
  if (!items)
    return forwardFailure(std::move(items));
  std::optional<uint64_t> seed;
  if (request.find("perturbation")) {
    Result<uint64_t> given = getUnsigned(request, "perturbation");
    if (!given)
      return forwardFailure(std::move(given));
    seed = *given;
  }
  std::vector<unsigned> which;
  for (const json::Cursor &item : *items) {
    Result<unsigned> set = checkSet(item.asInteger().value_or(-1));
    if (!set)
      return forwardFailure(std::move(set));
    which.push_back(*set);
  }
  // Waits, because nothing else orders the worker's device work after ours.
  if (Result<void> done = workload->prepare(which, seed); !done)
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

int runner::serveOracle(Channel &channel) {
  std::unique_ptr<OracleServer> server;
  auto on = [&](Result<json::Object> (OracleServer::*method)(
                const json::Cursor &)) {
    return [&server,
            method](const json::Cursor &request) -> Result<json::Object> {
      if (!server)
        return fail(FailureKind::Internal, "the first request must be hello");
      return (server.get()->*method)(request);
    };
  };
  std::map<std::string, Handler> handlers = {
      {"hello",
       [&](const json::Cursor &request) -> Result<json::Object> {
         Result<const CudaDriver *> driver = CudaDriver::load();
         if (!driver)
           return forwardFailure(std::move(driver));
         server = std::make_unique<OracleServer>(**driver);
         return server->hello(request);
       }},
      {"open", on(&OracleServer::open)},
      {"fill", on(&OracleServer::fill)},
      {"prepare", on(&OracleServer::prepare)},
      {"seal", on(&OracleServer::seal)},
      {"capture", on(&OracleServer::capture)},
      {"judge", on(&OracleServer::judge)},
      {"hash", on(&OracleServer::hash)},
      {"usage", on(&OracleServer::usage)},
      {"ping",
       [](const json::Cursor &) -> Result<json::Object> {
         return json::Object{};
       }},
      {"close",
       [](const json::Cursor &) -> Result<json::Object> {
         return json::Object{};
       }},
  };
  return serve(channel, handlers);
}
