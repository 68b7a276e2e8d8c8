// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/MatrixDescriptors.h"

#include "d2k/Analysis/LaneForms.h"

using namespace d2k;
using namespace d2k::analysis;

std::optional<MatrixDescriptor>
analysis::getMatrixDescriptor(KernelContext &kernel, uint32_t access) {
  const AccessInfo &info = kernel.getMemory().getAccesses()[access];
  if (info.access.form != kern::MemoryAccess::Form::Descriptor)
    return std::nullopt;
  LaneForms &forms = kernel.getLaneForms();
  LaneForm form = forms.get(kernel.getIndex().getId(info.access.address));
  if (!form.known)
    return std::nullopt;
  // Symbols stay in the address field; of those that do not, fields above it
  // may be made.
  for (const auto &term : form.terms) {
    LaneForm part;
    part.terms.push_back(term);
    Range range = forms.getRange(part);
    if (!range.isNonNegative() || range.high >= 1 << 14)
      return std::nullopt;
  }
  std::vector<bool> active = forms.getActive(info.op);
  std::optional<uint64_t> fields;
  for (unsigned t = 0; t < forms.getNumThreads(); ++t) {
    if (!active[t])
      continue;
    uint64_t bits = uint64_t(form.rest[t]) >> 16;
    if (fields && *fields != bits)
      return std::nullopt;
    fields = bits;
  }
  if (!fields)
    return std::nullopt;
  MatrixDescriptor result;
  result.leading = int64_t(*fields & 0x3fff) * 16;
  result.stride = int64_t(*fields >> 16 & 0x3fff) * 16;
  result.baseOffset = unsigned(*fields >> 33 & 7);
  auto product = llvm::dyn_cast<kern::MatrixProductOpInterface>(
      kernel.getIndex().getOp(info.op));
  if (product && product.getMatrixFamily() == kern::MatrixFamily::Wgmma) {
    static constexpr unsigned bytes[] = {0, 128, 64, 32};
    result.swizzle = bytes[*fields >> 46 & 3];
  } else {
    static constexpr unsigned bytes[] = {0, 128, 128, 0, 64, 0, 32, 0};
    result.swizzle = bytes[*fields >> 45 & 7];
  }
  return result;
}
