// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/MovedBytes.h"

#include "d2k/Analysis/EmptyCopies.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

Judgement properties::judgeMovedBytes(Detector &detector, OpId op) {
  switch (getCopiedBytes(detector.getIndex(), detector.getConstants(), op)) {
  case CopiedBytes::Source:
    break;
  case CopiedBytes::Zeros:
    return Judgement::nearMiss(
        "reads no source byte: it only fills with zeros");
  case CopiedBytes::Nothing:
    return Judgement::nearMiss("its size is 0: it moves nothing");
  }
  return Judgement::proved();
}
