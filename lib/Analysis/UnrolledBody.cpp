// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks for the longest stretch of a body that repeats one sequence.

#include "d2k/Analysis/UnrolledBody.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

/// Longer bodies are not searched for repetitions.
static constexpr size_t kMaxSequence = 4096;

unsigned analysis::countRepeats(const KernelIndex &index,
                                const ConstantValues &constants,
                                const MemoryRoots &memory,
                                const MainRegion &region) {
  if (region.getKind() != MainRegion::Kind::Body)
    return 1;
  llvm::ArrayRef<OpId> products = region.getProducts();
  unsigned unrolled = 1;
  // What is copied, loaded, waited for and multiplied, equal neighbours as one.
  llvm::DenseSet<OpId> isProduct(products.begin(), products.end());
  llvm::StringMap<unsigned> numbers;
  std::vector<unsigned> sequence;
  std::vector<bool> multiplies;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (region.contains(op) != Tristate::Yes)
      continue;
    Operation *operation = index.getOp(op);
    bool global = false;
    if (isa<kern::LoadOp>(operation))
      for (const AccessInfo &access : memory.getAccessesOf(op))
        global |= access.isGlobal();
    if (!constants.mayRun(op) ||
        (!global && !isProduct.contains(op) &&
         !isa<kern::AsyncEffectOpInterface, kern::BarrierOpInterface,
              kern::MatrixLoadOp>(operation)))
      continue;
    unsigned number =
        numbers
            .try_emplace(cast<kern::InstOpInterface>(operation).getMnemonic(),
                         numbers.size())
            .first->second;
    if (!sequence.empty() && sequence.back() == number)
      continue;
    sequence.push_back(number);
    multiplies.push_back(isProduct.contains(op));
  }
  size_t best = 0;
  if (sequence.size() > kMaxSequence)
    return 1;
  for (size_t period = 2; 2 * period <= sequence.size(); ++period)
    for (size_t i = 0, run = 0; i + period < sequence.size(); ++i) {
      run = sequence[i] == sequence[i + period] ? run + 1 : 0;
      size_t repeats = run / period + 1;
      if (repeats < 2 || repeats * period <= best)
        continue;
      // A group without a product is no iteration.
      size_t begin = i + 1 - run;
      if (std::find(multiplies.begin() + begin,
                    multiplies.begin() + begin + period,
                    true) == multiplies.begin() + begin + period)
        continue;
      best = repeats * period;
      unrolled = unsigned(repeats);
    }
  return unrolled;
}
