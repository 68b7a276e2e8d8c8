// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evidence file of an evaluation (docs/schemas/profile.schema.json): what
// ran on the GPU, as the worker says. The analyser reads it instead of guessing
// which kernels are launched with which sizes.

#ifndef D2K_RUNNER_PROFILE_H
#define D2K_RUNNER_PROFILE_H

#include "d2k/Support/Json.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d2k::runner {

struct ProfileSubject {
  std::string task;
  std::string submissionSha256;
  std::string deviceName;
  /// "sm_90a"
  std::string arch;
};

/// The profile of workloads by id, as the worker sent them, and the files of
/// the module images in \p moduleFolder (empty: none were kept), whose hashes
/// are taken here. Fails with kind Input on a profile that does not conform to
/// the schema: it comes from a process that runs submitted code.
Result<json::Value>
makeProfile(const ProfileSubject &subject,
            const std::vector<std::pair<std::string, json::Value>> &workloads,
            const std::string &moduleFolder);

/// The schema that this program was built with.
std::string_view getProfileSchemaText();

} // namespace d2k::runner

#endif // D2K_RUNNER_PROFILE_H
