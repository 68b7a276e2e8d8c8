// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of properties, made by explicit calls from the generated list of
// files: objects that nobody refers to would be dropped from a static library.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::properties;

namespace d2k::properties {
#define D2K_PROPERTY(Name) Property make##Name();
#include "Properties.inc"
#undef D2K_PROPERTY
} // namespace d2k::properties

const std::vector<Property> &properties::getProperties() {
  static const std::vector<Property> list = [] {
    std::vector<Property> all;
#define D2K_PROPERTY(Name) all.push_back(make##Name());
#include "Properties.inc"
#undef D2K_PROPERTY
    return all;
  }();
  return list;
}

const PropertyCatalog &properties::getCatalog() {
  static const PropertyCatalog catalog = [] {
    PropertyCatalog all;
    for (const Property &property : getProperties()) {
      bool added = all.add(property.info);
      assert(added && "two detectors with one id");
      (void)added;
    }
    for (PropertyInfo &info : getUndetectedVocabulary()) {
      bool added = all.add(std::move(info));
      assert(added && "a detector and a row of the vocabulary with one id");
      (void)added;
    }
    return all;
  }();
  return catalog;
}

std::vector<std::string> properties::getDetectedIds() {
  std::vector<std::string> ids;
  for (const Property &property : getProperties())
    ids.push_back(property.info.id);
  llvm::sort(ids);
  return ids;
}
