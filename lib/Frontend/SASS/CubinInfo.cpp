// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's sections. Their layout is not documented; nvdisasm prints the names
// of the attributes (`nvinfo : EIATTR_REGCOUNT`) beside their bytes.

#include "CubinInfo.h"

#include "ModuleBuilder.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::sass;

namespace {

/// Attributes of .nv.info, as nvdisasm names them.
enum Attribute : uint8_t {
  kMaxThreads = 0x05,
  kParameterBank = 0x0a,
  kRequiredThreads = 0x10,
  kFrameSize = 0x11,
  kMinStackSize = 0x12,
  kParameter = 0x17,
  kExitOffsets = 0x1c,
  kRegisterCount = 0x2f,
  kIndirectBranchTargets = 0x34,
  kBlocksPerCluster = 0x3d,
  kExplicitCluster = 0x3e,
  kNumBarriers = 0x4c,
};

/// One attribute with its value: no bytes, 1, 2, or as many as it says.
struct InfoItem {
  uint8_t attribute = 0;
  std::string_view value;

  uint32_t getWord(size_t index) const {
    return readLittleEndian<uint32_t>(value, 4 * index);
  }
  size_t getNumWords() const { return value.size() / 4; }
};

} // namespace

/// The attributes of a section; ends where the bytes make no sense.
static std::vector<InfoItem> readItems(std::string_view bytes) {
  std::vector<InfoItem> items;
  size_t at = 0;
  while (at + 4 <= bytes.size()) {
    uint8_t format = uint8_t(bytes[at]);
    InfoItem item{uint8_t(bytes[at + 1]), {}};
    size_t length = 0;
    switch (format) {
    case 1:
      break;
    case 2:
      item.value = bytes.substr(at + 2, 1);
      break;
    case 3:
      item.value = bytes.substr(at + 2, 2);
      break;
    case 4:
      length = readLittleEndian<uint16_t>(bytes, at + 2);
      if (length > bytes.size() - at - 4)
        return items;
      item.value = bytes.substr(at + 4, length);
      break;
    default:
      return items;
    }
    items.push_back(item);
    at += 4 + length;
  }
  return items;
}

CompilerNote d2k::sass::readCompilerNote(const ElfFile &file) {
  CompilerNote note;
  const ElfSection *section = file.findSection(".note.nv.tkinfo");
  // A note header (name size, descriptor size, type) and the name; then a
  // version, places of five strings, and the strings.
  constexpr size_t kDescriptor = 0x18, kStrings = kDescriptor + 24;
  if (!section || section->contents.size() < kStrings)
    return note;
  std::string_view bytes = section->contents;
  std::string_view strings = bytes.substr(kStrings);
  auto get = [&](unsigned index) {
    uint32_t place =
        readLittleEndian<uint32_t>(bytes, kDescriptor + 4 + 4 * index);
    if (place >= strings.size())
      return std::string();
    std::string_view text = strings.substr(place);
    return std::string(text.substr(0, text.find('\0')));
  };
  note.version = get(2);
  note.options = get(4);
  return note;
}

Target d2k::sass::readTarget(const ElfFile &file, const CompilerNote &note) {
  // Cubins of CUDA 13 have the number in the second byte. Before, it was the
  // lowest one, and a bit said that architecture-specific features are used.
  constexpr uint8_t kNewOsAbi = 0x41;
  constexpr uint32_t kOldSpecificFlag = 0x800;
  bool isNew = file.osAbi == kNewOsAbi;
  unsigned number = isNew ? (file.flags >> 8) & 0xff : file.flags & 0xff;
  Target target = findTarget(number, note.options);
  if (!isNew && !target.suffix && (file.flags & kOldSpecificFlag))
    target.suffix = 'a';
  return target;
}

static std::optional<std::array<uint32_t, 3>> readTriple(const InfoItem &item) {
  if (item.getNumWords() < 3)
    return std::nullopt;
  return std::array<uint32_t, 3>{item.getWord(0), item.getWord(1),
                                 item.getWord(2)};
}

/// Pairs of a branch and its targets: offset, two halves, count, offsets.
static void readIndirectTargets(const InfoItem &item, FunctionInfo &info) {
  size_t at = 0;
  while (at + 3 <= item.getNumWords()) {
    std::vector<uint32_t> &targets = info.indirectTargets[item.getWord(at)];
    size_t count = item.getWord(at + 2);
    at += 3;
    for (size_t i = 0; i < count && at < item.getNumWords(); ++i)
      targets.push_back(item.getWord(at++));
  }
}

static void readParameter(const InfoItem &item, FunctionInfo &info) {
  if (item.getNumWords() < 3)
    return;
  Parameter parameter;
  parameter.ordinal = item.getWord(1) & 0xffff;
  parameter.offset = item.getWord(1) >> 16;
  // The upper 14 bits; the others are the alignment and the bank.
  parameter.size = item.getWord(2) >> 18;
  info.parameters.push_back(parameter);
}

/// Attributes in the function's own section.
static void readOwnItem(const InfoItem &item, FunctionInfo &info) {
  switch (item.attribute) {
  case kMaxThreads:
    info.maxThreads = readTriple(item);
    break;
  case kRequiredThreads:
    info.requiredThreads = readTriple(item);
    break;
  case kBlocksPerCluster:
    info.clusterSize = readTriple(item);
    break;
  case kExplicitCluster:
    info.explicitCluster = true;
    break;
  case kParameterBank:
    if (item.getNumWords() >= 2) {
      info.parameterBase = item.getWord(1) & 0xffff;
      info.parameterSize = item.getWord(1) >> 16;
    }
    break;
  case kParameter:
    readParameter(item, info);
    break;
  case kExitOffsets:
    for (size_t i = 0; i < item.getNumWords(); ++i)
      info.exits.push_back(item.getWord(i));
    break;
  case kIndirectBranchTargets:
    readIndirectTargets(item, info);
    break;
  case kNumBarriers:
    if (!item.value.empty())
      info.barriers = uint8_t(item.value[0]);
    break;
  default:
    break;
  }
}

/// Attributes in the module's section: pairs of a symbol and a number.
static void readSharedItem(const ElfFile &file, const InfoItem &item,
                           std::string_view name, FunctionInfo &info) {
  if (item.getNumWords() < 2 || item.getWord(0) >= file.symbols.size() ||
      file.symbols[item.getWord(0)].name != name)
    return;
  switch (item.attribute) {
  case kRegisterCount:
    info.registers = item.getWord(1);
    break;
  case kFrameSize:
    info.frameSize = item.getWord(1);
    break;
  case kMinStackSize:
    info.stackSize = item.getWord(1);
    break;
  default:
    break;
  }
}

FunctionInfo d2k::sass::readFunctionInfo(const ElfFile &file, size_t index,
                                         Target target) {
  FunctionInfo info;
  const ElfSection &text = file.sections[index];
  std::string name(text.name.substr(std::string_view(".text.").size()));
  // Barriers are in the flags where the attribute does not exist yet.
  if (uint64_t barriers = (text.flags >> 20) & 0x7f)
    info.barriers = uint32_t(barriers);
  if (const ElfSection *section = file.findSection(".nv.info"))
    for (const InfoItem &item : readItems(section->contents))
      readSharedItem(file, item, name, info);
  if (const ElfSection *section = file.findSection(".nv.info." + name))
    for (const InfoItem &item : readItems(section->contents))
      readOwnItem(item, info);
  std::sort(info.parameters.begin(), info.parameters.end(),
            [](const Parameter &a, const Parameter &b) {
              return a.ordinal < b.ordinal;
            });
  constexpr uint64_t kReserved = 1024;
  uint64_t reserved = target.number >= 90 ? kReserved : 0;
  info.staticShared = 0;
  if (const ElfSection *section = file.findSection(".nv.shared." + name))
    info.staticShared =
        uint32_t(section->size - std::min(section->size, reserved));
  if (!info.barriers)
    info.barriers = 0;
  return info;
}

Result<std::map<uint32_t, std::string>>
d2k::sass::readAddressTable(const ElfFile &file, const std::string &name) {
  std::map<uint32_t, std::string> table;
  const ElfSection *section = file.findSection(".nv.constant4");
  if (!section)
    return table;
  Result<std::vector<ElfRelocation>> relocations =
      file.getRelocations(size_t(section - file.sections.data()), name);
  if (!relocations)
    return forwardFailure(std::move(relocations));
  for (const ElfRelocation &relocation : *relocations)
    if (relocation.offset < section->size)
      table[uint32_t(relocation.offset)] =
          std::string(file.symbols[relocation.symbol].name);
  return table;
}
