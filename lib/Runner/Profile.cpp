// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Putting the evidence file together.

#include "d2k/Runner/Profile.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/JsonSchema.h"
#include "d2k/Support/Sha256.h"

using namespace d2k;
using namespace d2k::runner;

namespace d2k::embedded {
extern const char *const profileSchema;
} // namespace d2k::embedded

std::string_view runner::getProfileSchemaText() {
  return embedded::profileSchema;
}

Result<json::Value> runner::makeProfile(
    const ProfileSubject &subject,
    const std::vector<std::pair<std::string, json::Value>> &workloads,
    const std::string &moduleFolder) {
  json::Array profiles, modules;
  for (const auto &[id, profile] : workloads)
    profiles.push_back(json::Object{{"id", id}, {"profile", profile}});
  if (!moduleFolder.empty()) {
    Result<std::vector<std::string>> names = listDirectory(moduleFolder);
    if (!names)
      return forwardFailure(std::move(names));
    for (const std::string &name : *names) {
      Result<std::string> contents = readFile(joinPath(moduleFolder, name));
      if (!contents)
        return forwardFailure(std::move(contents));
      modules.push_back(
          json::Object{{"file", name}, {"sha256", sha256Hex(*contents)}});
    }
  }
  json::Value profile =
      json::Object{{"schema", "d2k.profile/1"},
                   {"task", subject.task},
                   {"submission_sha256", subject.submissionSha256},
                   {"device", json::Object{{"name", subject.deviceName},
                                           {"arch", subject.arch}}},
                   {"workloads", std::move(profiles)},
                   {"modules", std::move(modules)}};

  Result<json::Document> document =
      json::Document::parse(getProfileSchemaText(), "profile.schema.json");
  if (!document)
    return forwardFailure(std::move(document));
  Result<json::Schema> schema = json::Schema::create(std::move(*document));
  if (!schema)
    return forwardFailure(std::move(schema));
  std::vector<json::SchemaError> errors = schema->validate(profile);
  if (!errors.empty())
    return fail(FailureKind::Input,
                "the worker's profile: " + errors.front().toString());
  return profile;
}
