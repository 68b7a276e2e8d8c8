// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of activity.

#include "Spans.h"

#include "d2k/Metrics/Statistics.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::runner;

bool runner::isHarness(const Activity &activity) {
  return activity.kind == ActivityKind::Kernel &&
         (activity.name == kReadClocks || activity.name == kReadFlush ||
          activity.name == kBarrier || activity.name == kSpin);
}

ActivityList runner::selectDevice(std::span<const Activity> activities,
                                  uint32_t device) {
  ActivityList selected;
  for (const Activity &activity : activities)
    if (activity.device == device)
      selected.push_back(&activity);
  return selected;
}

bool runner::stripHarness(ActivityList &activities,
                          std::span<const std::string_view> before,
                          std::span<const std::string_view> after) {
  for (std::string_view name : before) {
    auto at = std::find_if(
        activities.begin(), activities.end(),
        [&](const Activity *activity) { return activity->name == name; });
    if (at == activities.end())
      return false;
    activities.erase(at);
  }
  for (std::string_view name : after) {
    auto at = std::find_if(
        activities.rbegin(), activities.rend(),
        [&](const Activity *activity) { return activity->name == name; });
    if (at == activities.rend())
      return false;
    activities.erase(std::next(at).base());
  }
  return true;
}

double runner::getSpan(std::span<const Activity *const> activities) {
  if (activities.empty())
    return 0;
  uint64_t first = activities.front()->start, last = 0;
  for (const Activity *activity : activities) {
    first = std::min(first, activity->start);
    last = std::max(last, activity->end);
  }
  return last > first ? double(last - first) : 0;
}

double runner::getRoundSpan(std::span<const Activity *const> activities,
                            unsigned rounds, bool flush) {
  if (!flush) {
    ActivityList calls;
    for (const Activity *activity : activities)
      if (!isHarness(*activity))
        calls.push_back(activity);
    return getSpan(calls) / rounds;
  }
  std::vector<double> spans;
  size_t begin = 0;
  for (size_t i = 0; i <= activities.size(); ++i) {
    bool isEnd = i == activities.size();
    if (!isEnd && activities[i]->name != kReadFlush)
      continue;
    // The spin stands right before the flush, if there is one.
    bool hasSpin = !isEnd && i > begin && activities[i - 1]->name == kSpin;
    size_t length = i - begin - (hasSpin ? 1 : 0);
    // Before the first flush is no round, but perhaps a barrier.
    if (begin != 0)
      spans.push_back(getSpan(activities.subspan(begin, length)));
    begin = i + 1;
  }
  return spans.empty() ? 0 : metrics::median(spans);
}
