// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Frontend/CUDA/HostReader.h"

using namespace d2k::cuda;

std::optional<Machine> d2k::cuda::getMachine(const std::string &arch) {
#define MACHINE(TARGET, PRODUCT, SMS, OPTIN, SHARED, THREADS, L2, MAJOR,       \
                MINOR)                                                         \
  if (arch == TARGET)                                                          \
    return Machine{PRODUCT, SMS, OPTIN, SHARED, 65536,                         \
                   THREADS, L2,  MAJOR, MINOR};
#include "Machines.def"
  return std::nullopt;
}
