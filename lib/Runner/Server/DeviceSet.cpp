// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts, peers and the description of a device.

#include "Server/DeviceSet.h"

#include "Server/Server.h"

#include "d2k/Runner/Compile.h"

#include <numeric>

using namespace d2k;
using namespace d2k::runner;

Result<void> DeviceSet::open(const std::vector<int> &ordinals) {
  for (int ordinal : ordinals) {
    Rank rank;
    std::string name = "device " + std::to_string(ordinal);
    for (auto [result, what] :
         {std::pair{driver.cuDeviceGet(&rank.device, ordinal), "find "},
          std::pair{driver.cuDevicePrimaryCtxRetain(&rank.context, rank.device),
                    "make a context on "},
          std::pair{driver.cuCtxSetCurrent(rank.context), "use "},
          std::pair{driver.cuStreamCreate(&rank.stream, CU_STREAM_NON_BLOCKING),
                    "make a stream on "}})
      if (Result<void> done = driver.check(result, what + name); !done)
        return done;
    ranks.push_back(rank);
  }
  for (const Rank &from : ranks) {
    if (Result<void> done =
            driver.check(driver.cuCtxSetCurrent(from.context), "use a device");
        !done)
      return done;
    for (const Rank &to : ranks) {
      if (from.context == to.context)
        continue;
      CUresult result = driver.cuCtxEnablePeerAccess(to.context, 0);
      if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        continue;
      if (Result<void> done =
              driver.check(result, "let device " + std::to_string(from.device) +
                                       " reach the memory of device " +
                                       std::to_string(to.device));
          !done)
        return done;
    }
  }
  return driver.check(driver.cuCtxSetCurrent(ranks.front().context),
                      "use the first device");
}

CUresult DeviceSet::synchronize() const {
  CUresult first = CUDA_SUCCESS;
  for (const Rank &rank : ranks) {
    CUresult result = driver.cuCtxSetCurrent(rank.context);
    if (result == CUDA_SUCCESS)
      result = driver.cuCtxSynchronize();
    if (first == CUDA_SUCCESS)
      first = result;
  }
  driver.cuCtxSetCurrent(ranks.front().context);
  return first;
}

Result<json::Object> DeviceSet::describe(CUdevice device) const {
  char name[256] = {};
  char bus[64] = {};
  CUuuid uuid = {};
  size_t memory = 0;
  int version = 0;
  for (CUresult result : {driver.cuDeviceGetName(name, sizeof(name), device),
                          driver.cuDeviceGetPCIBusId(bus, sizeof(bus), device),
                          driver.cuDeviceGetUuid(&uuid, device),
                          driver.cuDeviceTotalMem(&memory, device),
                          driver.cuDriverGetVersion(&version)})
    if (Result<void> done = driver.check(result, "ask about the device"); !done)
      return forwardFailure(std::move(done));
  json::Object object = {
      {"ordinal", int64_t(device)},
      {"name", std::string(name)},
      {"pci_bus_id", std::string(bus)},
      {"uuid", toHex(uuid.bytes, sizeof(uuid.bytes))},
      {"memory_bytes", int64_t(memory)},
      {"driver_version", int64_t(version)},
  };
  int major = 0;
  int minor = 0;
  for (auto [attribute, key, value] :
       {std::tuple{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "major",
                   &major},
        std::tuple{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "minor",
                   &minor},
        std::tuple{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "multiprocessors",
                   static_cast<int *>(nullptr)},
        std::tuple{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, "l2_bytes",
                   static_cast<int *>(nullptr)},
        std::tuple{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "sm_clock_khz",
                   static_cast<int *>(nullptr)},
        std::tuple{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, "memory_clock_khz",
                   static_cast<int *>(nullptr)},
        std::tuple{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
                   "memory_bus_bits", static_cast<int *>(nullptr)}}) {
    int number = 0;
    if (Result<void> done = driver.check(
            driver.cuDeviceGetAttribute(&number, attribute, device),
            "ask about the device");
        !done)
      return forwardFailure(std::move(done));
    object.set(key, int64_t(number));
    if (value)
      *value = number;
  }
  object.set("arch", getArchName(major, minor));
  return object;
}

Result<json::Array>
DeviceSet::describe(const std::vector<int> &ordinals) const {
  json::Array list;
  for (int ordinal : ordinals) {
    CUdevice device = 0;
    if (Result<void> done =
            driver.check(driver.cuDeviceGet(&device, ordinal),
                         "find device " + std::to_string(ordinal));
        !done)
      return forwardFailure(std::move(done));
    Result<json::Object> description = describe(device);
    if (!description)
      return forwardFailure(std::move(description));
    list.emplace_back(std::move(*description));
  }
  return list;
}

Result<json::Array> DeviceSet::describeAll() const {
  int count = 0;
  if (Result<void> done =
          driver.check(driver.cuDeviceGetCount(&count), "count the devices");
      !done)
    return forwardFailure(std::move(done));
  std::vector<int> ordinals(count);
  std::iota(ordinals.begin(), ordinals.end(), 0);
  return describe(ordinals);
}

Result<std::vector<int>> runner::getDevices(const json::Cursor &request) {
  Result<std::vector<json::Cursor>> items = request.getArray("devices");
  if (!items)
    return forwardFailure(std::move(items));
  std::vector<int> devices;
  for (const json::Cursor &item : *items) {
    Result<int64_t> ordinal = item.asInteger();
    if (!ordinal)
      return forwardFailure(std::move(ordinal));
    devices.push_back(int(*ordinal));
  }
  if (devices.empty())
    return request.at("devices").fail("expected a device");
  return devices;
}
