// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads measured.json.

#include "d2k/Task/Measured.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Json.h"

using namespace d2k;
using namespace d2k::task;

static Result<MeasuredWorkload> readWorkload(const json::Cursor &from) {
  Result<double> bound = from.getNumber("bound_us");
  Result<double> baseline = from.getNumber("baseline_us");
  Result<std::string> limit = from.getString("limit");
  if (!bound)
    return forwardFailure(std::move(bound));
  if (!baseline)
    return forwardFailure(std::move(baseline));
  if (!limit)
    return forwardFailure(std::move(limit));
  if (!(*bound > 0) || !(*baseline > 0))
    return from.fail("expected times above 0");
  MeasuredWorkload workload{*bound, std::move(*limit), *baseline, {}};
  if (from.find("naive_us")) {
    Result<double> naive = from.getNumber("naive_us");
    if (!naive)
      return forwardFailure(std::move(naive));
    workload.naive = *naive;
  }
  return workload;
}

static Result<MeasuredDevice> readDevice(const json::Cursor &from) {
  Result<std::string> name = from.getString("name");
  Result<int64_t> world = from.getInteger("world");
  Result<std::string> date = from.getString("date");
  Result<std::string> baseline = from.getString("baseline");
  for (const Result<std::string> *text : {&name, &date, &baseline})
    if (!*text)
      return tl::unexpected<Failure>(text->error());
  if (!world)
    return forwardFailure(std::move(world));
  MeasuredDevice device{*name, *world, *date, *baseline, {}};
  Result<json::Cursor> list = from.get("workloads");
  if (!list)
    return forwardFailure(std::move(list));
  Result<std::vector<std::pair<std::string, json::Cursor>>> workloads =
      list->asObject();
  if (!workloads)
    return forwardFailure(std::move(workloads));
  for (const auto &[id, content] : *workloads) {
    Result<MeasuredWorkload> workload = readWorkload(content);
    if (!workload)
      return forwardFailure(std::move(workload));
    device.workloads.emplace(id, std::move(*workload));
  }
  return device;
}

Result<std::vector<MeasuredDevice>>
task::loadMeasured(const std::string &path) {
  std::vector<MeasuredDevice> devices;
  if (!isRegularFile(path))
    return devices;
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return forwardFailure(std::move(document));
  json::Cursor root = document->getRoot();
  Result<std::string> schema = root.getString("schema");
  if (!schema)
    return forwardFailure(std::move(schema));
  if (*schema != "d2k.measured/1")
    return root.fail("expected schema d2k.measured/1, found " + *schema);
  Result<std::vector<json::Cursor>> list = root.getArray("devices");
  if (!list)
    return forwardFailure(std::move(list));
  for (const json::Cursor &content : *list) {
    Result<MeasuredDevice> device = readDevice(content);
    if (!device)
      return forwardFailure(std::move(device));
    devices.push_back(std::move(*device));
  }
  return devices;
}
