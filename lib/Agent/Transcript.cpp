// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and appends to transcripts.

#include "d2k/Agent/Transcript.h"

#include "d2k/Agent/ModelClient.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::agent;

/// A line is `{...,"sha256":"<64 digits>"}`; the hash is that of the line
/// without this member.
static constexpr std::string_view kHashMember = ",\"sha256\":\"";
static constexpr size_t kTailBytes = kHashMember.size() + 64 + 2;

static std::string finishLine(std::string line) {
  std::string hash = sha256Hex(line);
  line.pop_back();
  line += kHashMember;
  line += hash + "\"}";
  return line;
}

/// Checks one line; the hash is returned.
static Result<std::string> readLine(std::string_view line,
                                    const std::string &place,
                                    const std::string &lastHash,
                                    std::vector<Event> &events) {
  auto damaged = [&](const std::string &what) {
    return fail(FailureKind::Input,
                place + ": " + what +
                    "; the transcript was changed after it was written");
  };
  if (line.size() < kTailBytes ||
      line.substr(line.size() - kTailBytes, kHashMember.size()) != kHashMember)
    return damaged("the line has no hash");
  std::string hash(line.substr(line.size() - 66, 64));
  std::string hashed(line.substr(0, line.size() - kTailBytes));
  if (sha256Hex(hashed + "}") != hash)
    return damaged("the hash does not match");
  Result<json::Document> document = json::Document::parse(line, place);
  if (!document)
    return forwardFailure(std::move(document));
  json::Cursor root = document->getRoot();
  if (root.getString("previous").value_or("?") != lastHash)
    return damaged("the line before it is missing or another one");
  Result<std::string> type = root.getString("type");
  Result<json::Cursor> data = root.get("data");
  Result<double> elapsed = root.getNumber("elapsed");
  if (!type)
    return forwardFailure(std::move(type));
  if (!data)
    return forwardFailure(std::move(data));
  if (!elapsed)
    return forwardFailure(std::move(elapsed));
  events.push_back({std::move(*type), data->getValue(), *elapsed});
  return hash;
}

static Result<std::vector<Event>>
read(const std::string &path, uint64_t &wholeBytes, std::string &lastHash) {
  Result<std::string> text = readFile(path);
  if (!text)
    return forwardFailure(std::move(text));
  std::vector<Event> events;
  wholeBytes = 0;
  for (size_t at = 0, end; (end = text->find('\n', at)) != std::string::npos;
       at = end + 1) {
    Result<std::string> hash = readLine(
        std::string_view(*text).substr(at, end - at),
        path + ":" + std::to_string(events.size() + 1), lastHash, events);
    if (!hash)
      return forwardFailure(std::move(hash));
    lastHash = std::move(*hash);
    wholeBytes = end + 1;
  }
  return events;
}

Result<std::vector<Event>> agent::readTranscript(const std::string &path,
                                                 uint64_t *wholeBytes) {
  uint64_t bytes = 0;
  std::string lastHash;
  return read(path, wholeBytes ? *wholeBytes : bytes, lastHash);
}

static tl::unexpected<Failure> failFile(const std::string &path,
                                        const char *what) {
  return fail(FailureKind::Environment,
              path + ": " + what + ": " + std::strerror(errno));
}

Result<Transcript> Transcript::open(const std::string &path) {
  Transcript transcript;
  transcript.path = path;
  transcript.fd = ::open(
      path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (transcript.fd < 0)
    return failFile(path, "cannot be opened");
  if (::flock(transcript.fd, LOCK_EX | LOCK_NB) != 0)
    return fail(FailureKind::Usage,
                path + ": another d2k-run works on this run; wait for its end "
                       "or name another folder");
  uint64_t wholeBytes = 0;
  Result<std::vector<Event>> events =
      read(path, wholeBytes, transcript.lastHash);
  if (!events)
    return forwardFailure(std::move(events));
  transcript.events = std::move(*events);
  if (::ftruncate(transcript.fd, off_t(wholeBytes)) != 0)
    return failFile(path, "cannot be cut");
  if (!transcript.events.empty())
    transcript.elapsedBefore = transcript.events.back().elapsed;
  transcript.start = std::chrono::steady_clock::now();
  return transcript;
}

Transcript::Transcript(Transcript &&other) noexcept {
  *this = std::move(other);
}

Transcript &Transcript::operator=(Transcript &&other) noexcept {
  std::swap(path, other.path);
  std::swap(fd, other.fd);
  std::swap(events, other.events);
  std::swap(secrets, other.secrets);
  std::swap(lastHash, other.lastHash);
  std::swap(elapsedBefore, other.elapsedBefore);
  std::swap(start, other.start);
  return *this;
}

Transcript::~Transcript() {
  if (fd >= 0)
    ::close(fd);
}

double Transcript::getElapsed() const {
  return elapsedBefore +
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
             .count();
}

/// The time of day, for people; nothing is computed from it.
static std::string getTimeOfDay() {
  std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Result<void> Transcript::append(std::string type, json::Object data) {
  double elapsed = getElapsed();
  json::Object line = {
      {"n", int64_t(events.size())}, {"type", type},
      {"time", getTimeOfDay()},      {"elapsed", elapsed},
      {"previous", lastHash},        {"data", json::Value(std::move(data))}};
  std::string text =
      redact(json::dump(std::move(line), /*pretty=*/false), secrets);
  // What is kept in memory is what the file says.
  Result<json::Document> written = json::Document::parse(text, path);
  if (!written)
    return forwardFailure(std::move(written));
  std::string whole = finishLine(std::move(text));
  lastHash = whole.substr(whole.size() - 66, 64);
  whole += '\n';
  for (size_t at = 0; at < whole.size();) {
    ssize_t count = ::write(fd, whole.data() + at, whole.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failFile(path, "cannot be written");
    at += size_t(count);
  }
  if (::fdatasync(fd) != 0)
    return failFile(path, "cannot be written");
  events.push_back(
      {std::move(type), written->getRoot().at("data").getValue(), elapsed});
  return {};
}
