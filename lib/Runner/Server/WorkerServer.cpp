// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The worker: opens the oracle's buffers, loads one library, calls it and
// samples it. From "load" on this process runs code that nobody trusts; what
// it answers afterwards is evidence, not truth.

#include "Server/DeviceSet.h"
#include "Server/Server.h"

#include "Cuda/Sampler.h"
#include "Server/Exchange.h"

#include "d2k/Support/Files.h"
#include "d2k/Task/Arguments.h"
#include "d2k/Task/EntryHeader.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <dlfcn.h>

using namespace d2k;
using namespace d2k::runner;

namespace {

using Entry = int (*)(const void *arguments, void *workspace,
                      size_t workspaceBytes, CUstream stream);
using Prepare = int (*)(const void *arguments, void *prepared, size_t bytes);

/// A buffer of the oracle as this process sees it.
struct Buffer {
  unsigned rank = 0;
  /// Negative: of all sets.
  int64_t set = 0;
  std::string tensor;
  /// By the rank that looks; 0 for ranks that have no use for it.
  std::vector<CUdeviceptr> addresses;
  uint64_t bytes = 0;
  /// Where memory cannot be shared: memory of this process, its size, and its
  /// place in the exchange.
  CUdeviceptr own = 0;
  uint64_t allocated = 0, position = 0;
};

class WorkerServer {
public:
  WorkerServer(const CudaDriver &driver, Isolation &isolation)
      : driver(driver), isolation(isolation), devices(driver) {}

  Result<json::Object> hello(const json::Cursor &request);
  Result<json::Object> confine(const json::Cursor &request);
  Result<json::Object> load(const json::Cursor &request);
  Result<json::Object> open(const json::Cursor &request);
  Result<json::Object> prepare(const json::Cursor &request);
  Result<json::Object> call(const json::Cursor &request);
  Result<json::Object> sample(const json::Cursor &request);
  Result<json::Object> batch(const json::Cursor &request);
  Result<json::Object> profile(const json::Cursor &request);
  Result<json::Object> modules(const json::Cursor &request);
  Result<json::Object> usage(const json::Cursor &request);
  Result<json::Object> tryIpc(const json::Cursor &request);
  Result<json::Object> exportSets(const json::Cursor &request);
  Result<json::Object> importSets(const json::Cursor &request);

private:
  Result<void> openBuffers(const json::Cursor &list);
  Result<void> openOwn(const json::Cursor &item, Buffer &buffer);
  Result<void> openShared(const json::Cursor &item, Buffer &buffer);
  Result<json::Object> copySets(const json::Cursor &request, bool isExport);
  Result<void> copyBuffer(const Buffer &buffer, bool isExport);
  /// The allocation in the context of the rank \p viewer.
  Result<CUdeviceptr> openHandle(unsigned viewer, const std::string &handle);
  /// Ranks other than its own reach a buffer of that name.
  bool isShared(std::string_view tensor) const;
  void closeBuffers();
  const Buffer *findBuffer(unsigned rank, unsigned set,
                           std::string_view name) const;
  /// Calls the entry on all ranks at once, each in its own thread.
  int callAll(unsigned set);
  int callRank(unsigned rank, unsigned set) const;
  Result<void> makeSampler();
  Result<void> checkSampler() const;

  const CudaDriver &driver;
  Isolation &isolation;
  DeviceSet devices;
  std::string libraryPath;
  void *library = nullptr;
  Entry entry = nullptr;
  /// Null when the library does not define it.
  Prepare prepareEntry = nullptr;
  const char *(*identity)() = nullptr;
  std::optional<task::Task> task;
  const task::Workload *workload = nullptr;
  /// Opened handles by viewer and text; closed with the workload.
  std::map<std::pair<unsigned, std::string>, CUdeviceptr> handles;
  std::vector<Buffer> buffers;
  std::unique_ptr<Exchange> exchange;
  /// By set, then rank.
  std::vector<std::vector<task::ArgumentBlock>> arguments;
  /// Whether CUPTI traces; without it there is no sampler.
  Result<void> tracing;
  bool wantCounters = false;
  std::unique_ptr<Sampler> sampler;
};

} // namespace

Result<json::Object> WorkerServer::hello(const json::Cursor &request) {
  Result<std::vector<int>> ordinals = getDevices(request);
  if (!ordinals)
    return forwardFailure(std::move(ordinals));
  wantCounters = request.getBoolean("counters").value_or(false);
  // Before the contexts, so that nothing is missed.
  if (request.getBoolean("tracing").value_or(true))
    tracing = Sampler::startTracing();
  else
    tracing = fail(FailureKind::Environment, "nothing is traced on request");
  if (Result<void> done = devices.open(*ordinals); !done)
    return forwardFailure(std::move(done));
  return json::Object{
      {"tracing_problem", tracing ? "" : tracing.error().message}};
}

/// Asked of workers of submissions only: the libraries of a baseline start
/// processes and open sockets.
Result<json::Object> WorkerServer::confine(const json::Cursor &) {
  forbidSystemCalls(isolation);
  return json::Object{{"isolation", isolation.toJson()}};
}

Result<json::Object> WorkerServer::load(const json::Cursor &request) {
  Result<std::string> path = request.getString("library");
  Result<std::string> name = request.getString("entry");
  if (!path || !name)
    return request.fail("expected library and entry");
  libraryPath = *path;
  library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = ::dlerror();
    return fail(FailureKind::Input, "the library cannot be loaded: " +
                                        std::string(why ? why : "no reason"));
  }
  entry = reinterpret_cast<Entry>(::dlsym(library, name->c_str()));
  if (!entry)
    return fail(FailureKind::Input,
                "there is no function " + *name +
                    "; define it with extern \"C\" as its header declares it");
  prepareEntry =
      reinterpret_cast<Prepare>(::dlsym(library, (*name + "_prepare").c_str()));
  identity = reinterpret_cast<const char *(*)()>(
      ::dlsym(library, "d2k_baseline_identity"));
  return json::Object{};
}

bool WorkerServer::isShared(std::string_view name) const {
  if (name == task::kScratchName || name == task::kSignalsName)
    return true;
  const task::Tensor *tensor = task->findTensor(name);
  return tensor && tensor->hasPeers;
}

Result<CUdeviceptr> WorkerServer::openHandle(unsigned viewer,
                                             const std::string &text) {
  auto [found, isNew] = handles.try_emplace({viewer, text}, 0);
  if (!isNew)
    return found->second;
  CUipcMemHandle handle;
  if (!fromHex(text, handle.reserved, sizeof(handle.reserved)))
    return fail(FailureKind::Internal, "a memory handle is ill-formed");
  driver.cuCtxSetCurrent(devices.getRanks()[viewer].context);
  if (Result<void> done = driver.check(
          driver.cuIpcOpenMemHandle(&found->second, handle,
                                    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          "open the oracle's device memory (CUDA IPC)");
      !done) {
    handles.erase(found);
    return forwardFailure(std::move(done));
  }
  return found->second;
}

void WorkerServer::closeBuffers() {
  sampler.reset();
  arguments.clear();
  workload = nullptr;
  for (const Buffer &buffer : buffers)
    if (buffer.own) {
      driver.cuCtxSetCurrent(devices.getRanks()[buffer.rank].context);
      driver.cuMemFree(buffer.own);
    }
  buffers.clear();
  exchange.reset();
  for (const auto &[key, address] : handles) {
    driver.cuCtxSetCurrent(devices.getRanks()[key.first].context);
    driver.cuIpcCloseMemHandle(address);
  }
  handles.clear();
}

Result<void> WorkerServer::openBuffers(const json::Cursor &list) {
  Result<std::vector<json::Cursor>> items = list.asArray();
  if (!items)
    return forwardFailure(std::move(items));
  for (const json::Cursor &item : *items) {
    Result<uint64_t> rank = getUnsigned(item, "rank");
    Result<int64_t> set = item.getInteger("set");
    Result<std::string> tensor = item.getString("tensor");
    Result<uint64_t> bytes = getUnsigned(item, "bytes");
    if (!rank || !set || !tensor || !bytes ||
        *rank >= devices.getRanks().size())
      return item.fail("expected the description of a buffer");
    Buffer buffer;
    buffer.rank = unsigned(*rank);
    buffer.set = *set;
    buffer.tensor = *tensor;
    buffer.bytes = *bytes;
    buffer.addresses.resize(devices.getRanks().size());
    Result<void> opened =
        exchange ? openOwn(item, buffer) : openShared(item, buffer);
    // In the list also when that failed half-way: it is freed from there.
    buffers.push_back(std::move(buffer));
    if (!opened)
      return opened;
  }
  return {};
}

/// Memory of this process with what the exchange has.
Result<void> WorkerServer::openOwn(const json::Cursor &item, Buffer &buffer) {
  Result<uint64_t> offset = getUnsigned(item, "offset");
  Result<uint64_t> position = getUnsigned(item, "position");
  Result<uint64_t> allocated = getUnsigned(item, "allocated");
  if (!offset || !position || !allocated)
    return item.fail("expected a place in the exchange");
  buffer.position = *position;
  buffer.allocated = *allocated;
  driver.cuCtxSetCurrent(devices.getRanks()[buffer.rank].context);
  if (Result<void> done =
          driver.check(driver.cuMemAlloc(&buffer.own, *allocated),
                       "allocate memory for copies");
      !done)
    return done;
  // Peer access covers memory of one process.
  for (CUdeviceptr &address : buffer.addresses)
    address = buffer.own + *offset;
  return copyBuffer(buffer, /*isExport=*/false);
}

Result<void> WorkerServer::openShared(const json::Cursor &item,
                                      Buffer &buffer) {
  Result<uint64_t> offset = getUnsigned(item, "offset");
  Result<std::string> handle = item.getString("handle");
  if (!offset || !handle)
    return item.fail("expected a memory handle");
  Result<CUdeviceptr> base = openHandle(buffer.rank, *handle);
  if (!base)
    return forwardFailure(std::move(base));
  for (unsigned viewer = 0; viewer < buffer.addresses.size(); ++viewer) {
    if (viewer != buffer.rank && !isShared(buffer.tensor))
      continue;
    // A mapping of its own where the driver gives one; else that of the owner,
    // which peer access covers.
    Result<CUdeviceptr> view =
        viewer == buffer.rank ? *base : openHandle(viewer, *handle);
    buffer.addresses[viewer] = view.value_or(*base) + *offset;
  }
  return {};
}

const Buffer *WorkerServer::findBuffer(unsigned rank, unsigned set,
                                       std::string_view name) const {
  for (const Buffer &buffer : buffers)
    if (buffer.rank == rank && (buffer.set < 0 || buffer.set == set) &&
        buffer.tensor == name)
      return &buffer;
  return nullptr;
}

Result<json::Object> WorkerServer::open(const json::Cursor &request) {
  closeBuffers();
  Result<std::string> text = request.getString("task");
  Result<std::string> id = request.getString("workload");
  Result<json::Cursor> list = request.get("buffers");
  Result<uint64_t> sets = getUnsigned(request, "sets");
  if (!text || !id || !list || !sets)
    return request.fail("expected task, workload, buffers and sets");
  if (!entry)
    return fail(FailureKind::Internal, "no library is loaded");
  Result<json::Document> document = json::Document::parse(*text, "task.json");
  if (!document)
    return forwardFailure(std::move(document));
  Result<task::Task> loaded = task::Task::fromDocument(*document);
  if (!loaded)
    return forwardFailure(std::move(loaded));
  task = std::move(*loaded);
  workload = task->findWorkload(*id);
  if (!workload)
    return fail(FailureKind::Internal, "task.json: no workload " + *id);
  if (Result<std::string> path = request.getString("exchange")) {
    Result<std::unique_ptr<Exchange>> opened = Exchange::open(driver, *path);
    if (!opened)
      return forwardFailure(std::move(opened));
    exchange = std::move(*opened);
  }
  if (Result<void> done = openBuffers(*list); !done) {
    closeBuffers();
    return forwardFailure(std::move(done));
  }
  AxisValues machine;
  if (const task::Axis *axis = task->findMachineAxis())
    machine[axis->name] = int64_t(devices.getRanks().size());
  for (unsigned set = 0; set < *sets; ++set) {
    std::vector<task::ArgumentBlock> ofRanks;
    for (unsigned viewer = 0; viewer < devices.getRanks().size(); ++viewer) {
      Result<std::vector<task::ArgumentBlock>> blocks = task::packArguments(
          *task, *workload, machine, [&](unsigned rank, std::string_view name) {
            const Buffer *buffer = findBuffer(rank, set, name);
            // A rank whose structure is not wanted here sees its own.
            return buffer
                       ? uint64_t(
                             buffer->addresses[isShared(name) ? viewer : rank])
                       : uint64_t(0);
          });
      if (!blocks)
        return forwardFailure(std::move(blocks));
      ofRanks.push_back(std::move((*blocks)[viewer]));
    }
    arguments.push_back(std::move(ofRanks));
  }
  if (tracing)
    if (Result<void> done = makeSampler(); !done)
      return forwardFailure(std::move(done));
  return json::Object{};
}

Result<void> WorkerServer::makeSampler() {
  std::vector<RankContext> ranks;
  for (unsigned rank = 0; rank < devices.getRanks().size(); ++rank) {
    const DeviceSet::Rank &device = devices.getRanks()[rank];
    ranks.push_back(
        {device.context, device.stream, device.device,
         [this, rank](unsigned set) { return callRank(rank, set); }});
  }
  driver.cuCtxSetCurrent(devices.getRanks().front().context);
  Result<std::unique_ptr<Sampler>> made =
      Sampler::create(driver, std::move(ranks), wantCounters);
  if (!made)
    return forwardFailure(std::move(made));
  sampler = std::move(*made);
  return sampler->setSubmission(libraryPath);
}

/// A request that needs a sampler cannot be answered without one.
Result<void> WorkerServer::checkSampler() const {
  if (!tracing)
    return tracing;
  if (!sampler)
    return fail(FailureKind::Internal, "no workload is open");
  return {};
}

int WorkerServer::callRank(unsigned rank, unsigned set) const {
  const Buffer *workspace = findBuffer(rank, set, task::kWorkspaceName);
  return entry(arguments[set][rank].getData(),
               workspace ? reinterpret_cast<void *>(workspace->addresses[rank])
                         : nullptr,
               workspace ? workspace->bytes : 0,
               devices.getRanks()[rank].stream);
}

int WorkerServer::callAll(unsigned set) {
  const std::vector<DeviceSet::Rank> &ranks = devices.getRanks();
  if (ranks.size() == 1)
    return callRank(0, set);
  std::vector<int> results(ranks.size());
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back([&, rank] {
      driver.cuCtxSetCurrent(ranks[rank].context);
      results[rank] = callRank(rank, set);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int result : results)
    if (result)
      return result;
  return 0;
}

Result<json::Object> WorkerServer::prepare(const json::Cursor &request) {
  Result<uint64_t> set = getUnsigned(request, "set");
  if (!set || *set >= arguments.size())
    return request.fail("expected a set that exists");
  const Buffer *prepared = findBuffer(0, unsigned(*set), task::kPreparedName);
  if (!prepareEntry || !prepared)
    return json::Object{{"defined", false}};
  Result<std::vector<task::ArgumentBlock>> blocks = task::packArguments(
      *task, *workload, {},
      [&](unsigned rank, std::string_view name) {
        const Buffer *buffer = findBuffer(rank, unsigned(*set), name);
        return buffer ? uint64_t(buffer->addresses[rank]) : uint64_t(0);
      },
      task::ArgumentsFor::Prepare);
  if (!blocks)
    return forwardFailure(std::move(blocks));
  auto start = std::chrono::steady_clock::now();
  int returned = prepareEntry(blocks->front().getData(),
                              reinterpret_cast<void *>(prepared->addresses[0]),
                              prepared->bytes);
  CUresult device = devices.synchronize();
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  CUresult result = device != CUDA_SUCCESS ? device : CUresult(returned);
  return json::Object{
      {"defined", true},
      {"seconds", seconds},
      {"device_error", device != CUDA_SUCCESS},
      {"error", result == CUDA_SUCCESS ? "" : driver.describe(result)}};
}

Result<json::Object> WorkerServer::call(const json::Cursor &request) {
  Result<uint64_t> set = getUnsigned(request, "set");
  if (!set || *set >= arguments.size())
    return request.fail("expected a set that exists");
  int returned = callAll(unsigned(*set));
  // Also when the call failed: a fault of the device says more than its code.
  CUresult device = devices.synchronize();
  CUresult result = device != CUDA_SUCCESS ? device : CUresult(returned);
  json::Object reply = {
      {"returned", int64_t(returned)},
      {"device_error", device != CUDA_SUCCESS},
      {"error", result == CUDA_SUCCESS ? "" : driver.describe(result)}};
  if (identity)
    if (const char *text = identity())
      reply.set("identity", std::string(text));
  return reply;
}

Result<json::Object> WorkerServer::sample(const json::Cursor &request) {
  if (Result<void> done = checkSampler(); !done)
    return forwardFailure(std::move(done));
  Result<json::Cursor> what = request.get("request");
  if (!what)
    return forwardFailure(std::move(what));
  Result<SampleRequest> parsed = sampleRequestFromJson(*what);
  if (!parsed)
    return forwardFailure(std::move(parsed));
  Result<SampleRecord> record = sampler->sample(*parsed);
  if (!record)
    return forwardFailure(std::move(record));
  return json::Object{{"record", toJson(*record)}};
}

Result<json::Object> WorkerServer::batch(const json::Cursor &request) {
  if (Result<void> done = checkSampler(); !done)
    return forwardFailure(std::move(done));
  Result<json::Cursor> what = request.get("request");
  if (!what)
    return forwardFailure(std::move(what));
  Result<BatchRequest> parsed = batchRequestFromJson(*what);
  if (!parsed)
    return forwardFailure(std::move(parsed));
  Result<BatchRecord> record = sampler->batch(*parsed);
  if (!record)
    return forwardFailure(std::move(record));
  return json::Object{{"record", toJson(*record)}};
}

Result<json::Object> WorkerServer::profile(const json::Cursor &request) {
  if (Result<void> done = checkSampler(); !done)
    return forwardFailure(std::move(done));
  Result<uint64_t> set = getUnsigned(request, "set");
  if (!set || *set >= arguments.size())
    return request.fail("expected a set that exists");
  Result<json::Value> profile = sampler->profile(unsigned(*set));
  if (!profile)
    return forwardFailure(std::move(profile));
  return json::Object{{"profile", std::move(*profile)}};
}

/// Writes the images of all modules to the folder that the request names.
Result<json::Object> WorkerServer::modules(const json::Cursor &request) {
  if (Result<void> done = checkSampler(); !done)
    return forwardFailure(std::move(done));
  Result<std::string> folder = request.getString("folder");
  if (!folder)
    return forwardFailure(std::move(folder));
  json::Array names;
  for (const ModuleImage &image : sampler->takeModuleImages()) {
    std::string name = image.sha256 + ".cubin";
    if (Result<void> done = writeFile(joinPath(*folder, name), image.contents);
        !done)
      return forwardFailure(std::move(done));
    names.emplace_back(name);
  }
  return json::Object{{"files", std::move(names)}};
}

Result<json::Object> WorkerServer::usage(const json::Cursor &) {
  if (Result<void> done = checkSampler(); !done)
    return forwardFailure(std::move(done));
  return json::Object{{"gpu_seconds", sampler->getBusySeconds()}};
}

/// Whether the oracle's memory can be opened here.
Result<json::Object> WorkerServer::tryIpc(const json::Cursor &request) {
  Result<std::string> text = request.getString("handle");
  if (!text)
    return forwardFailure(std::move(text));
  Result<CUdeviceptr> opened = openHandle(0, *text);
  if (opened)
    closeBuffers();
  return json::Object{{"works", opened.has_value()},
                      {"reason", opened ? "" : opened.error().message}};
}

Result<json::Object> WorkerServer::exportSets(const json::Cursor &request) {
  return copySets(request, /*isExport=*/true);
}

Result<json::Object> WorkerServer::importSets(const json::Cursor &request) {
  return copySets(request, /*isExport=*/false);
}

Result<json::Object> WorkerServer::copySets(const json::Cursor &request,
                                            bool isExport) {
  Result<std::vector<unsigned>> which = getNumbers(request, "sets");
  if (!which)
    return forwardFailure(std::move(which));
  for (const Buffer &buffer : buffers) {
    bool isWanted =
        buffer.set < 0 || std::find(which->begin(), which->end(),
                                    unsigned(buffer.set)) != which->end();
    // Signals keep what calls made of them.
    if (!isWanted || (!isExport && buffer.tensor == task::kSignalsName))
      continue;
    if (Result<void> done = copyBuffer(buffer, isExport); !done)
      return forwardFailure(std::move(done));
  }
  return json::Object{};
}

Result<void> WorkerServer::copyBuffer(const Buffer &buffer, bool isExport) {
  if (!exchange)
    return fail(FailureKind::Internal, "nothing is exchanged");
  CUcontext context = devices.getRanks()[buffer.rank].context;
  return isExport ? exchange->copyOut(context, buffer.own, buffer.position,
                                      buffer.allocated)
                  : exchange->copyIn(context, buffer.own, buffer.position,
                                     buffer.allocated);
}

int runner::serveWorker(Channel &channel, Isolation isolation) {
  std::unique_ptr<WorkerServer> server;
  auto make = [&]() -> Result<std::unique_ptr<WorkerServer>> {
    Result<const CudaDriver *> driver = CudaDriver::load();
    if (!driver)
      return forwardFailure(std::move(driver));
    return std::make_unique<WorkerServer>(**driver, isolation);
  };
  return serve(channel, makeHandlers<WorkerServer>(
                            server, make,
                            {{"try_ipc", &WorkerServer::tryIpc},
                             {"confine", &WorkerServer::confine},
                             {"load", &WorkerServer::load},
                             {"open", &WorkerServer::open},
                             {"import", &WorkerServer::importSets},
                             {"export", &WorkerServer::exportSets},
                             {"prepare", &WorkerServer::prepare},
                             {"call", &WorkerServer::call},
                             {"sample", &WorkerServer::sample},
                             {"batch", &WorkerServer::batch},
                             {"profile", &WorkerServer::profile},
                             {"modules", &WorkerServer::modules},
                             {"usage", &WorkerServer::usage}}));
}
