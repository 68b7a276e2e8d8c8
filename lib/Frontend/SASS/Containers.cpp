// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that hold cubins: fatbins, objects, archives, libraries and programs,
// taken apart by cuobjdump.

#include "CubinInfo.h"

#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include <algorithm>
#include <filesystem>

using namespace d2k;
using namespace d2k::sass;

/// Magic number of a fatbin (`fatbinary` of the toolkit writes it).
static constexpr uint32_t kFatbinMagic = 0xBA55ED50;

bool d2k::sass::isContainer(std::string_view bytes) {
  if (isElf(bytes) || bytes.substr(0, 8) == "!<arch>\n")
    return true;
  return bytes.size() >= 4 &&
         readLittleEndian<uint32_t>(bytes, 0) == kFatbinMagic;
}

/// The path with its folders, for a program that runs in another folder.
static std::string getAbsolute(const std::string &path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

/// Lines of \p text that begin with \p prefix.
static std::vector<std::string> getLines(std::string_view text,
                                         std::string_view prefix) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.substr(0, prefix.size()) == prefix)
      lines.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

namespace {

/// Calls cuobjdump on one file.
class Extractor {
public:
  Extractor(std::string program, std::string path)
      : program(std::move(program)), path(std::move(path)) {}

  Result<CommandResult> run(std::vector<std::string> arguments,
                            const std::string &directory) const {
    Command command;
    command.argv = {program};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.argv.push_back(getAbsolute(path));
    command.directory = directory;
    return runCommand(command);
  }

  /// Why there is no machine code in the file.
  Failure explainNone(const std::string &directory,
                      const CommandResult &extraction) const;

private:
  std::string program;
  std::string path;
};

} // namespace

Failure Extractor::explainNone(const std::string &directory,
                               const CommandResult &extraction) const {
  std::string messages = extraction.output + extraction.error;
  if (messages.find("does not contain device code") != std::string::npos)
    return {FailureKind::Input,
            path + ": has no device code, only code for the host: name the "
                   "library or object that has the kernels"};
  // Obfuscated PTX is what cuobjdump takes LTO-IR for.
  bool isLto = messages.find("deobfuscate") != std::string::npos;
  std::vector<std::string> ptx;
  if (Result<CommandResult> listing = run({"-lptx"}, directory))
    ptx = getLines(listing->output, "PTX file");
  if (isLto)
    return {FailureKind::Input,
            path + ": has no machine code, only LTO-IR for the linker: link "
                   "it (nvcc -dlto) and name the result"};
  if (!ptx.empty())
    return {FailureKind::Input,
            path + ": has no machine code, only PTX (" +
                ptx.front().substr(ptx.front().rfind(' ') + 1) +
                "): compile it for an architecture (-gencode ...,code=sm_90a) "
                "or extract the PTX (cuobjdump -xptx all) and name that"};
  return {FailureKind::Input, path + ": has no machine code: cuobjdump: " +
                                  extraction.describeEnd() + ": " +
                                  messages.substr(0, messages.find('\n'))};
}

/// The architecture of a cubin by its ELF header.
static Result<Target> findImageTarget(const std::string &name,
                                      std::string_view bytes) {
  Result<ElfFile> file = ElfFile::parse(bytes, name);
  if (!file)
    return forwardFailure(std::move(file));
  return readTarget(*file, readCompilerNote(*file));
}

namespace {

/// A cubin inside of a file, by the name that cuobjdump gives it.
struct Member {
  std::string name, contents;
};

} // namespace

/// All cubins of a file; nothing when several have the same name, because
/// cuobjdump writes them over one another.
static Result<std::optional<std::vector<Member>>>
extract(const std::string &program, const std::string &path) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::create();
  if (!directory)
    return forwardFailure(std::move(directory));
  Extractor extractor(program, path);
  Result<CommandResult> extraction =
      extractor.run({"-xelf", "all"}, directory->getPath());
  if (!extraction)
    return forwardFailure(std::move(extraction));
  Result<std::vector<std::string>> names = listDirectory(directory->getPath());
  if (!names)
    return forwardFailure(std::move(names));
  if (names->empty())
    return tl::unexpected<Failure>(
        extractor.explainNone(directory->getPath(), *extraction));
  size_t expected = getLines(extraction->output, "Extracting ELF file").size();
  if (expected != names->size())
    return std::nullopt;
  std::vector<Member> members;
  for (std::string &name : *names) {
    Result<std::string> contents =
        readFile(joinPath(directory->getPath(), name));
    if (!contents)
      return forwardFailure(std::move(contents));
    members.push_back({std::move(name), std::move(*contents)});
  }
  return members;
}

/// The fat binaries of a library, program or object. Each begins with a magic
/// number, two bytes of version, two of the length of this header and eight of
/// the length of what is behind it.
static std::vector<std::string_view> splitFatBinaries(std::string_view bytes) {
  constexpr uint32_t kMagic = 0xba55ed50;
  constexpr size_t kHeader = 16;
  std::vector<std::string_view> parts;
  Result<ElfFile> file = ElfFile::parse(bytes, "");
  if (!file)
    return parts;
  for (const ElfSection &section : file->sections) {
    if (section.name != ".nv_fatbin" && section.name != "__nv_relfatbin")
      continue;
    std::string_view left = section.contents;
    while (left.size() > kHeader) {
      uint64_t length = readLittleEndian<uint64_t>(left, 8);
      uint64_t header = readLittleEndian<uint16_t>(left, 6);
      // Padding of a linker between two of them.
      if (readLittleEndian<uint32_t>(left, 0) != kMagic || header < kHeader ||
          header > left.size() || length > left.size() - header) {
        left.remove_prefix(8);
        continue;
      }
      parts.push_back(left.substr(0, header + length));
      left.remove_prefix(header + length);
    }
  }
  return parts;
}

/// The cubins of a file in which several have the same name, one fat binary
/// after the other: with -lineinfo, nvcc gives the image of the device linker
/// and that of the source the same one. Fails for an archive, whose members are
/// files.
static Result<std::vector<Member>> extractParts(const std::string &program,
                                                const std::string &path,
                                                std::string_view bytes) {
  Failure ambiguous{FailureKind::Input,
                    path + ": has several images of the same name: unpack the "
                           "archive (ar x) and name its members"};
  Result<TemporaryDirectory> directory = TemporaryDirectory::create();
  if (!directory)
    return forwardFailure(std::move(directory));
  std::vector<Member> members;
  for (std::string_view part : splitFatBinaries(bytes)) {
    std::string file = joinPath(directory->getPath(), "part.fatbin");
    if (Result<void> done = writeFile(file, std::string(part)); !done)
      return forwardFailure(std::move(done));
    Result<std::optional<std::vector<Member>>> some = extract(program, file);
    // One with PTX only is passed over.
    if (!some)
      continue;
    if (!*some)
      return tl::unexpected<Failure>(ambiguous);
    for (Member &member : **some)
      members.push_back({std::to_string(members.size() + 1) + "." + member.name,
                         std::move(member.contents)});
  }
  if (members.empty())
    return tl::unexpected<Failure>(ambiguous);
  return members;
}

Result<std::vector<Image>> d2k::sass::listImages(const std::string &path,
                                                 const ReadOptions &options) {
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return forwardFailure(std::move(bytes));
  std::vector<Image> images;
  if (isCubin(*bytes)) {
    Result<Target> target = findImageTarget(path, *bytes);
    if (!target)
      return forwardFailure(std::move(target));
    images.push_back({path, *target, std::move(*bytes)});
    return images;
  }
  if (!isContainer(*bytes))
    return fail(FailureKind::Input,
                path + ": is no cubin, fatbin, object, archive, library or "
                       "program: it begins like none of them");

  std::string program = options.cuobjdump;
  if (program.empty()) {
    Result<std::string> found = findCudaTool(CudaTool::Cuobjdump);
    if (!found)
      return forwardFailure(std::move(found));
    program = std::move(*found);
  }
  Result<std::optional<std::vector<Member>>> members = extract(program, path);
  if (!members)
    return forwardFailure(std::move(members));
  if (!*members) {
    Result<std::vector<Member>> parts = extractParts(program, path, *bytes);
    if (!parts)
      return forwardFailure(std::move(parts));
    *members = std::move(*parts);
  }
  for (Member &member : **members) {
    std::string name = path + ": " + member.name;
    Result<Target> target = findImageTarget(name, member.contents);
    if (!target)
      return forwardFailure(std::move(target));
    images.push_back({name, *target, std::move(member.contents)});
  }
  return images;
}
