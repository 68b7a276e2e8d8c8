// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that the trusted process does with one workload: it owns the
// buffers, makes the inputs, keeps copies of the outputs and judges them. No
// protocol here, and no submitted code.
//
// The order of one trial: fill, poison, (the submission runs), capture, judge.

#ifndef D2K_RUNNER_DEVICE_ORACLEWORKLOAD_H
#define D2K_RUNNER_DEVICE_ORACLEWORKLOAD_H

#include "DeviceOps.h"
#include "d2k/Task/Arguments.h"
#include "d2k/Task/Task.h"
#include "d2k/Task/Trials.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace d2k::runner {

/// What a workload is made of. The task and the workload must outlive it.
struct OracleConfig {
  const task::Task *task = nullptr;
  const task::Workload *workload = nullptr;
  /// Values of machine axes.
  AxisValues machine;
  /// One a rank.
  std::vector<CUcontext> contexts;
  /// Sets of inputs and outputs.
  unsigned sets = 1;
  uint64_t workspaceBytes = 0;
  /// The compiled reference.cu; empty when nothing will be judged.
  std::string referenceLibrary;
  /// Expected values are kept until inputs are drawn again: for a check of many
  /// kernels that trusts them not to write there.
  bool keepsExpected = false;
};

/// BufferInfo::set of a buffer that all sets share.
inline constexpr unsigned kAllSets = ~0u;

/// One buffer, with guard zones before and after it in the same allocation.
struct BufferInfo {
  unsigned rank = 0;
  /// kAllSets for workspace, scratch and signals.
  unsigned set = 0;
  /// The tensor's name, or one of the names of d2k/Task/Arguments.h.
  std::string tensor;
  /// The allocation, and where in it the buffer begins (256-byte aligned).
  CUdeviceptr base = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  /// Of the allocation, with both guard zones.
  uint64_t allocated = 0;

  CUdeviceptr getAddress() const { return base + offset; }
};

/// An element that is wrong.
struct ElementFailure {
  unsigned rank = 0;
  std::string tensor;
  std::vector<int64_t> index;
  double expected = 0, got = 0;
  /// The largest error that passes; 0 for rules without one.
  double allowed = 0;
};

/// The verdict on one capture.
struct Judgement {
  bool passed = false;
  /// One sentence when not passed.
  std::string reason;
  /// The largest error as a fraction of what is allowed; infinite when an
  /// element is not finite.
  double maxError = 0;
  /// rms error over that of the working precision, the largest of all outputs
  /// that have one.
  std::optional<double> rmsRatio;
  uint64_t compared = 0, failed = 0, nonFinite = 0;
  std::optional<ElementFailure> first;
  /// Buffers whose guard zones were written, and inputs that were changed, as
  /// "X" or "X of rank 1".
  std::vector<std::string> brokenGuards, changedInputs;
};

/// Outputs that need no computation and must never pass.
enum class TrivialOutput : uint8_t {
  Zeros,
  /// The first input of the output's size in bytes, or zeros.
  CopyOfInput,
  /// The mean of the exact result everywhere.
  Mean,
};

/// Owner and judge of one workload's buffers.
class OracleWorkload {
public:
  /// Allocates all buffers and loads the reference. Fails with kind Environment
  /// when memory or kernels are missing, with kind Input when the task asks for
  /// what this version does not do.
  static Result<std::unique_ptr<OracleWorkload>>
  create(const CudaDriver &driver, const OracleConfig &config);
  ~OracleWorkload();
  OracleWorkload(const OracleWorkload &) = delete;
  OracleWorkload &operator=(const OracleWorkload &) = delete;

  const std::vector<BufferInfo> &getBuffers() const { return buffers; }

  /// Draws the inputs of \p set, remembers their hashes, and waits for that.
  Result<void> fill(unsigned set, const task::TrialSpec &trial);
  /// Remembers what the submission repacked from the constant inputs of \p set,
  /// which no call may change. Waits.
  Result<void> seal(unsigned set);
  /// Makes \p sets ready for calls and waits until they are: fills their
  /// outputs, workspace and scratch with NaN, and gives outputs that are in
  /// place what they held. With a \p seed it first redraws
  /// 1/256 of the cache lines of their inputs, as the last fill drew them, and
  /// remembers the new hashes.
  Result<void> prepare(const std::vector<unsigned> &sets,
                       std::optional<uint64_t> seed = std::nullopt);
  /// Waits for the devices, copies the outputs of \p set, and looks at guard
  /// zones and inputs. What is written later is not judged.
  Result<void> capture(unsigned set);
  /// Judges the last capture of \p set by the reference on its inputs: a random
  /// sample of output tiles, all edges among them, when there is a
  /// \p sampleSeed and the reference can compute tiles; else every element.
  Result<Judgement> judge(unsigned set, std::optional<uint64_t> sampleSeed);
  /// A hash of the last capture of \p set, to see whether two calls agree.
  Result<std::string> hashCapture(unsigned set);

  /// Time on the first rank's stream from the first to the last kernel of all
  /// `prepare`s.
  double getPrepareSeconds() const { return prepareSeconds; }

  /// Replaces the last capture of \p set, to see that it is not accepted.
  Result<void> replaceCapture(unsigned set, TrivialOutput output);

private:
  /// Device memory that is freed with its owner.
  struct Allocation {
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    uint64_t bytes = 0;
  };
  /// What is known of one set.
  struct SetState {
    /// How its inputs were drawn last: null for the ordinary way.
    const task::Trial *trial = nullptr;
    bool isFilled = false, isExact = false;
    uint64_t seed = 0;
    /// How each input is drawn; nothing for scalars and derived ones.
    std::vector<std::optional<task::DrawSpec>> specs;
    /// What outputs that are in place hold before a call, by rank, then output;
    /// 0 for the others. Empty until the first fill.
    std::vector<std::vector<CUdeviceptr>> before;
    bool isCaptured = false, isSealed = false;
    std::vector<std::string> brokenGuards, changedInputs;
    /// Copies of the outputs on rank 0's device, by rank, then output; 0 until
    /// the first capture.
    std::vector<std::vector<CUdeviceptr>> captures;
  };
  /// Where in `buffers` those of one set are, by input and by output; scalars
  /// have none.
  struct SetPlaces {
    std::vector<size_t> inputs, outputs;
  };
  /// Which of the expected values are computed.
  struct ExpectedKey {
    unsigned set = 0, rank = 0;
    std::optional<uint64_t> sampleSeed;
    bool operator==(const ExpectedKey &) const = default;
  };
  /// Expected values of one output, on rank 0's device.
  struct ExpectedArrays {
    CUdeviceptr exact = 0, working = 0, magnitude = 0;
  };
  struct Reference;
  /// A list in device memory; null for everything.
  struct TileList {
    CUdeviceptr address = 0;
    int64_t count = 0;
  };

  OracleWorkload(const CudaDriver &driver, const OracleConfig &config);

  Result<void> open();
  Result<void> addBuffer(unsigned rank, unsigned set, std::string name,
                         uint64_t bytes);
  Result<void> addBuffersOfRank(unsigned rank);
  Result<CUdeviceptr> allocate(unsigned rank, uint64_t bytes);
  /// The buffer, which the caller knows to be there.
  const BufferInfo &getBuffer(unsigned rank, unsigned set,
                              std::string_view name) const;
  const BufferInfo &getInput(unsigned rank, unsigned set, size_t input) const {
    return buffers[places[rank][set].inputs[input]];
  }
  /// Nothing for a derived tensor.
  Result<std::optional<task::DrawSpec>>
  getSpec(unsigned set, const task::Tensor &input) const;
  /// The word in device memory with the hash of an input when it was drawn, or
  /// of what it is \p isNow. After the inputs comes what was repacked.
  CUdeviceptr getHash(unsigned rank, unsigned set, size_t input,
                      bool isNow) const;
  /// Enqueues the hashing of the inputs of \p set: all, or the derived ones.
  Result<void> hashInputs(unsigned set, bool isNow, bool derivedOnly = false);
  Result<void> hashBuffer(const BufferInfo &buffer, CUdeviceptr hash);
  Result<void> perturb(unsigned set, uint64_t seed);
  /// Enqueues the drawing of \p tensor into \p address; NaN without \p spec.
  Result<void> draw(unsigned set, unsigned rank, const task::Tensor &tensor,
                    const std::optional<task::DrawSpec> &spec,
                    CUdeviceptr address);
  /// Lets the reference make the derived inputs.
  Result<void> derive(unsigned set, bool isPerturbation);
  Result<void> allocateBefore(SetState &state);
  bool isDerived(unsigned set, const task::Tensor &tensor) const;
  /// The arguments of all ranks as the reference gets them.
  Result<std::vector<task::ArgumentBlock>> packForReference(unsigned set) const;
  /// Enqueues NaN for an output of \p set, or what one in place holds before.
  Result<void> resetOutput(unsigned rank, unsigned set, size_t output);
  Result<void> recordEvent(CUevent event);
  Result<void> writeGuards(const BufferInfo &buffer);
  Result<void> synchronizeAll();
  /// "X", or "X of rank 1" when there are several.
  std::string describe(const BufferInfo &buffer) const;
  std::string describeOutput(unsigned rank, size_t output) const;
  Result<void> checkGuards(unsigned set);
  Result<void> checkInputs(unsigned set);

  // OracleJudge.cpp
  Result<void> loadReference();
  Result<void> allocateExpected();
  /// Runs the reference on the inputs of a set with the arguments of a rank,
  /// unless what it would compute is kept. The tiles are those of the sample.
  Result<void> computeExpected(const ExpectedKey &key, const TileList &tiles);
  /// Tiles or units for a sample; none when there is nothing to choose from.
  Result<std::vector<int64_t>> chooseTiles(unsigned set, uint64_t seed);
  bool differsBetweenRanks() const;
  Result<void> judgeRank(Judgement &judgement, unsigned set, unsigned rank,
                         const TileList &tiles);
  /// The acceptance rule `reference`.
  Result<void> judgeByReference(Judgement &judgement, unsigned set,
                                unsigned rank, size_t output,
                                const TileList &tiles);
  Result<CompareJob> makeJob(unsigned set, unsigned rank, size_t output) const;
  Result<void> judgeOutput(Judgement &judgement, unsigned set, unsigned rank,
                           size_t output, const CompareJob &job);
  Result<void> judgeReplicas(Judgement &judgement, unsigned set, size_t output);
  Result<void> explainFirst(Judgement &judgement, const CompareJob &job,
                            unsigned rank, size_t output, uint64_t index);

  const CudaDriver &driver;
  OracleConfig config;
  AxisValues axes;
  unsigned ranks = 1;
  std::vector<CUstream> streams;
  std::vector<std::unique_ptr<DeviceOps>> ops;
  std::vector<Allocation> allocations;
  std::vector<BufferInfo> buffers;
  /// By rank, then set; and those that all sets share and that are poisoned.
  std::vector<std::vector<SetPlaces>> places;
  std::vector<size_t> shared;
  std::vector<SetState> states;
  /// Shapes and bytes of the outputs.
  std::vector<std::vector<int64_t>> outputShapes;
  std::vector<uint64_t> outputBytes;
  std::unique_ptr<Reference> reference;
  std::vector<ExpectedArrays> expected;
  /// What is in there, of the inputs as they were drawn last; nothing when it
  /// is not kept.
  std::optional<ExpectedKey> kept;
  /// Room for a d2k_acceptance.
  CUdeviceptr acceptance = 0;
  /// By rank: two words for each input of each set, and for what was repacked
  /// from them, see getHash.
  std::vector<CUdeviceptr> hashes;
  CUevent prepareBegin = nullptr, prepareEnd = nullptr;
  double prepareSeconds = 0;
  /// Private: nobody else can make data with a given hash.
  uint64_t hashKey = 0;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_DEVICE_ORACLEWORKLOAD_H
