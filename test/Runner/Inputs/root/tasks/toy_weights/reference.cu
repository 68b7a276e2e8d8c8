// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference of the test's task, for the fake device.

#include "d2k/Task/Reference.h"
#include "d2k_toy_weights.h"

#include <math.h>

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t) {
  const auto *args = static_cast<const d2k_toy_weights_args *>(arguments);
  const d2k_expected &expected = request->outputs[0];
  for (int64_t i = 0; i < args->M * args->N; ++i) {
    float weight = args->w[i % args->N];
    double exact = double(weight) * args->X[i];
    expected.exact[i] = exact;
    expected.working[i] = weight * args->X[i];
    expected.magnitude[i] = float(fabs(exact));
  }
  return 0;
}
