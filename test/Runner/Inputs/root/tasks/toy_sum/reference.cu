// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference of the test's task on several ranks, for the fake device.

#include "d2k/Task/Reference.h"
#include "d2k_toy_sum.h"

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t) {
  const auto *args = static_cast<const d2k_toy_sum_args *>(arguments);
  for (int64_t n = 0; n < args->N; ++n) {
    double exact = 0;
    float working = 0;
    for (int64_t rank = 0; rank < args->world; ++rank) {
      exact += args->X[rank][n];
      working += args->X[rank][n];
    }
    request->outputs[0].exact[n] = exact;
    request->outputs[0].working[n] = working;
  }
  return 0;
}
