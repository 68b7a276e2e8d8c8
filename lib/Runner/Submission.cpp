// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes a submission's files.

#include "d2k/Runner/Submission.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include <algorithm>
#include <filesystem>

using namespace d2k;
using namespace d2k::runner;

static bool hasExtension(const std::string &path, std::string_view extension) {
  return path.size() > extension.size() &&
         path.compare(path.size() - extension.size(), extension.size(),
                      extension) == 0;
}

bool SourceFile::isUnit() const { return hasExtension(path, ".cu"); }

static bool isSource(const std::string &path) {
  for (std::string_view extension : {".cu", ".cuh", ".h", ".hpp", ".inl"})
    if (hasExtension(path, extension))
      return true;
  return false;
}

/// Adds what is below \p folder. Links are not followed: they lead out.
static Result<void> collect(const std::string &root, const std::string &folder,
                            std::vector<std::string> &paths) {
  Result<std::vector<std::string>> names =
      listDirectory(joinPath(root, folder));
  if (!names)
    return forwardFailure(std::move(names));
  for (const std::string &name : *names) {
    std::string path = folder.empty() ? name : joinPath(folder, name);
    std::string full = joinPath(root, path);
    std::error_code error;
    if (std::filesystem::is_symlink(full, error))
      continue;
    if (isDirectory(full)) {
      if (Result<void> done = collect(root, path, paths); !done)
        return done;
    } else if (isSource(name)) {
      paths.push_back(path);
    }
  }
  return {};
}

Result<Submission> Submission::read(const std::string &path) {
  std::string root = path;
  std::vector<std::string> paths;
  if (isDirectory(path)) {
    if (Result<void> done = collect(path, "", paths); !done)
      return forwardFailure(std::move(done));
  } else {
    std::filesystem::path file(path);
    root = file.parent_path().empty() ? "." : file.parent_path().string();
    paths.push_back(file.filename().string());
  }
  std::sort(paths.begin(), paths.end());

  Submission submission;
  uint64_t total = 0;
  std::string digestInput;
  for (const std::string &name : paths) {
    Result<std::string> text =
        readFile(joinPath(root, name), kMaxSubmissionBytes);
    if (!text)
      return forwardFailure(std::move(text));
    total += text->size();
    if (total > kMaxSubmissionBytes)
      return fail(FailureKind::Input,
                  path + ": the submission's files have more than " +
                      std::to_string(kMaxSubmissionBytes >> 20) +
                      " MiB together");
    // Lengths keep names and contents apart.
    digestInput += std::to_string(name.size()) + ":" + name +
                   std::to_string(text->size()) + ":" + *text;
    submission.files.push_back({name, std::move(*text)});
  }
  if (std::none_of(submission.files.begin(), submission.files.end(),
                   [](const SourceFile &file) { return file.isUnit(); }))
    return fail(FailureKind::Input,
                path + ": no .cu file; a submission is one .cu file, or a "
                       "folder that has one");
  submission.sha256 = sha256Hex(digestInput);
  return submission;
}

Result<void> Submission::write(const std::string &folder) const {
  for (const SourceFile &file : files) {
    std::filesystem::path path = std::filesystem::path(folder) / file.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      return fail(FailureKind::Environment,
                  path.parent_path().string() +
                      ": cannot be made: " + error.message());
    if (Result<void> done = writeFile(path.string(), file.text); !done)
      return done;
  }
  return {};
}
