// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stand-in for NCCL, so that baselines which call it run on the host: the
// functions that they use, between the threads of this process, by plain loops.
// Sums are rounded at every hop of a ring, as NCCL's are. A call waits until
// all ranks have come, for a minute at most.

#include "d2k/Task/Numbers.h"
#include "include/Execution.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

using namespace d2k::task;

namespace {

constexpr std::chrono::minutes kPatience(1);

/// The ranks that one id connects.
struct Group {
  explicit Group(int world) : world(world), sent(size_t(world)) {}

  /// Waits until all ranks are here. False when they do not come.
  bool meet();

  int world;
  /// What each rank sends, between two meetings.
  std::vector<const void *> sent;

private:
  std::mutex mutex;
  std::condition_variable allCame;
  int came = 0;
  uint64_t meetings = 0;
};

bool Group::meet() {
  std::unique_lock<std::mutex> lock(mutex);
  uint64_t own = meetings;
  if (++came == world) {
    came = 0;
    ++meetings;
    allCame.notify_all();
    return true;
  }
  if (allCame.wait_for(lock, kPatience, [&] { return meetings != own; }))
    return true;
  std::fprintf(stderr, "NCCL on the host: a rank did not come to a call\n");
  return false;
}

/// By the number in their id.
std::map<uint64_t, std::shared_ptr<Group>> groups;
std::mutex groupsMutex;
uint64_t lastId = 0;

bool getType(DType &type, ncclDataType_t from) {
  switch (from) {
  case ncclBfloat16:
    type = DType::BFloat16;
    return true;
  case ncclFloat16:
    type = DType::Float16;
    return true;
  case ncclFloat32:
    type = DType::Float32;
    return true;
  default:
    std::fprintf(stderr, "NCCL on the host: no data type %d\n", int(from));
    return false;
  }
}

} // namespace

/// What is behind a communicator.
struct ncclComm {
  std::shared_ptr<Group> group;
  int rank;
};

/// Element \p index of all ranks' buffers, added in the ring that ends at rank
/// \p last.
static uint64_t addInRing(const Group &group, DType type, int64_t index,
                          int last) {
  uint64_t sum = 0;
  for (int hop = 1; hop <= group.world; ++hop) {
    uint64_t own = loadElement(
        type, group.sent[size_t((last + hop) % group.world)], index);
    sum = hop == 1 ? own
                   : encodeElement(type, decodeElement(type, sum) +
                                             decodeElement(type, own));
  }
  return sum;
}

/// Runs \p work when the buffers of all ranks are complete, and lets none go on
/// before all are done.
template <typename Work>
static ncclResult_t runTogether(ncclComm_t comm, const void *send,
                                cudaStream_t stream, const Work &work) {
  Group &group = *comm->group;
  if (cudaStreamSynchronize(stream) != cudaSuccess)
    return ncclUnhandledCudaError;
  group.sent[size_t(comm->rank)] = send;
  if (!group.meet())
    return ncclSystemError;
  if (!d2k::host::isWorkLeftOut())
    work(group);
  return group.meet() ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::lock_guard<std::mutex> lock(groupsMutex);
  std::memset(id, 0, sizeof(*id));
  ++lastId;
  std::memcpy(id->internal, &lastId, sizeof(lastId));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int world, ncclUniqueId id,
                              int rank) {
  if (rank < 0 || rank >= world)
    return ncclInvalidArgument;
  uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  std::shared_ptr<Group> group;
  {
    std::lock_guard<std::mutex> lock(groupsMutex);
    std::shared_ptr<Group> &own = groups[number];
    if (!own)
      own = std::make_shared<Group>(world);
    group = own;
  }
  if (group->world != world)
    return ncclInvalidArgument;
  *comm = new ncclComm{group, rank};
  return group->meet() ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                           ncclDataType_t dataType, ncclComm_t comm,
                           cudaStream_t stream) {
  DType type;
  if (!getType(type, dataType))
    return ncclInvalidArgument;
  size_t bytes = count * size_t(getElementBits(type)) / 8;
  return runTogether(comm, send, stream, [&](const Group &group) {
    for (size_t rank = 0; rank < size_t(group.world); ++rank)
      std::memmove(static_cast<char *>(receive) + rank * bytes,
                   group.sent[rank], bytes);
  });
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                               ncclDataType_t dataType, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  DType type;
  if (!getType(type, dataType) || op != ncclSum)
    return ncclInvalidArgument;
  std::vector<uint64_t> sums(d2k::host::isWorkLeftOut() ? 0 : count);
  ncclResult_t result =
      runTogether(comm, send, stream, [&](const Group &group) {
        for (size_t i = 0; i < count; ++i)
          sums[i] = addInRing(
              group, type, int64_t(size_t(comm->rank) * count + i), comm->rank);
      });
  // After the last meeting: it may be part of what others read.
  for (size_t i = 0; result == ncclSuccess && i < sums.size(); ++i)
    storeElement(type, receive, int64_t(i), sums[i]);
  return result;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                           ncclDataType_t dataType, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  DType type;
  if (!getType(type, dataType) || op != ncclSum)
    return ncclInvalidArgument;
  std::vector<uint64_t> sums(d2k::host::isWorkLeftOut() ? 0 : count);
  ncclResult_t result =
      runTogether(comm, send, stream, [&](const Group &group) {
        // Each rank adds a part, which then goes round.
        size_t part = (count + size_t(group.world) - 1) / size_t(group.world);
        for (size_t i = 0; i < count; ++i)
          sums[i] = addInRing(group, type, int64_t(i), int(i / part));
      });
  for (size_t i = 0; result == ncclSuccess && i < sums.size(); ++i)
    storeElement(type, receive, int64_t(i), sums[i]);
  return result;
}
