// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference of the test's task, for the fake device.

#include "d2k/Task/Reference.h"
#include "d2k_toy_scale.h"

#include <math.h>

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t) {
  const auto *args = static_cast<const d2k_toy_scale_args *>(arguments);
  const d2k_expected &expected = request->outputs[0];
  for (int64_t m = 0; m < args->M; ++m)
    for (int64_t n = 0; n < args->N; ++n) {
      int64_t i = m * args->N + n;
      double exact = double(args->s[m]) * args->X[i];
      expected.exact[i] = exact;
      if (expected.working)
        expected.working[i] = args->s[m] * args->X[i];
      if (expected.magnitude)
        expected.magnitude[i] = float(fabs(exact));
    }
  return 0;
}
