// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of activity.

#include "Spans.h"

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

double runner::getMeanSpan(std::span<const Activity *const> activities,
                           unsigned calls, bool flush) {
  if (!flush)
    return getSpan(activities) / calls;
  double sum = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= activities.size(); ++i) {
    if (i != activities.size() && activities[i]->name != kReadFlush)
      continue;
    sum += getSpan(activities.subspan(begin, i - begin));
    begin = i + 1;
  }
  return sum / calls;
}
