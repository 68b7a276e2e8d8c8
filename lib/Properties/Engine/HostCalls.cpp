// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/HostCalls.h"

using namespace d2k;
using namespace d2k::properties;

Property properties::makeCallProperty(std::string id, std::string summary,
                                      void (*detect)(HostDetector &detector)) {
  PropertyInfo info;
  info.id = std::move(id);
  info.group = 'E';
  info.summary = std::move(summary);
  info.attributes = {{"call", AttrType::String, {}, "the function called"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  info.inverse = true;
  return {info, nullptr, detect};
}
