// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The argument structure of a task's entry as bytes, laid out as the generated
// header (d2k/Task/EntryHeader.h) declares it, for callers that know the task
// at run time only.

#ifndef D2K_TASK_ARGUMENTS_H
#define D2K_TASK_ARGUMENTS_H

#include "d2k/Task/Task.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::task {

/// Names of buffers that are no tensors, as PointerLookup is asked for them.
inline constexpr std::string_view kWorkspaceName = ".workspace";
inline constexpr std::string_view kScratchName = ".scratch";
inline constexpr std::string_view kSignalsName = ".signals";
inline constexpr std::string_view kPreparedName = ".prepared";
/// What the baseline has there: each side repacks in its own way.
inline constexpr std::string_view kBaselinePreparedName = ".prepared.baseline";

/// The address, in the caller's process, of the buffer \p name of \p rank; 0
/// when the caller has none.
using PointerLookup =
    std::function<uint64_t(unsigned rank, std::string_view name)>;

/// The structure of one rank, with the arrays of peer pointers that it points
/// to. Moving keeps the pointers valid, copying would not.
class ArgumentBlock {
public:
  ArgumentBlock(ArgumentBlock &&) = default;
  ArgumentBlock &operator=(ArgumentBlock &&) = default;

  /// The structure, to be passed to the entry.
  const void *getData() const { return bytes.data(); }
  size_t getSize() const { return bytes.size(); }

private:
  friend class ArgumentPacker;
  ArgumentBlock() = default;

  std::vector<char> bytes;
  std::vector<std::vector<uint64_t>> peerArrays;
};

/// Which tensors a structure has.
enum class ArgumentsFor : uint8_t {
  /// All.
  Entry,
  /// The constant inputs; the others are null.
  Prepare,
};

/// The structures of all ranks (one without a machine axis) of \p workload of
/// \p task. Scalars have the value of their distribution, which must be
/// constant. Fails with kind Input when a value cannot be had, and when
/// \p lookup has no buffer for a tensor that is not empty.
Result<std::vector<ArgumentBlock>>
packArguments(const Task &task, const Workload &workload,
              const AxisValues &machine, const PointerLookup &lookup,
              ArgumentsFor purpose = ArgumentsFor::Entry);

} // namespace d2k::task

#endif // D2K_TASK_ARGUMENTS_H
