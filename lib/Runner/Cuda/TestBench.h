// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two programs of the self-test on one GPU, and a source of their samples that
// needs no other process.

#ifndef D2K_RUNNER_CUDA_TESTBENCH_H
#define D2K_RUNNER_CUDA_TESTBENCH_H

#include "Sampler.h"

#include <memory>

namespace d2k::runner {

/// A kernel of SelfTest.ptx or SelfTestTensor.ptx with its size.
struct TestProgram {
  enum class Kernel : uint8_t { Copy, Read, Delay, Tensor };
  Kernel kernel = Kernel::Copy;
  /// Bytes read (and written, by a copy), nanoseconds, or rounds of products.
  uint64_t amount = 0;
};

/// FLOP that each multiprocessor does in a round of products: four of 64 x 256
/// x 16 for each of two warpgroups.
inline constexpr double kFlopsPerRound = 2.0 * 4 * 2 * 64 * 256 * 16;

class TestBench {
public:
  /// Opens the first GPU. Not \p traced, CUPTI is left alone and there are no
  /// samples.
  static Result<std::unique_ptr<TestBench>> create(bool traced);
  /// Allocates what the programs work on: 3.3 GB.
  Result<void> makeBuffers();
  ~TestBench();
  TestBench(const TestBench &) = delete;
  TestBench &operator=(const TestBench &) = delete;

  static constexpr uint64_t kLargestBytes = uint64_t(512) << 20;
  /// Input sets of \p program, as a task of that size has; smaller ones are
  /// spread over the buffers of the largest.
  unsigned getSets(const TestProgram &program) const;

  const CudaDriver &getDriver() const { return driver; }
  CUdevice getDevice() const { return device; }
  CUcontext getContext() const { return context; }
  CUstream getStream() const { return stream; }
  Sampler &getSampler() { return *sampler; }
  int getAttribute(CUdevice_attribute attribute) const;
  /// "sm_90"
  std::string getArch() const;

  /// Whether there is a kernel for this GPU's tensor cores.
  bool hasTensorKernel() const {
    return functions[unsigned(TestProgram::Kernel::Tensor)] != nullptr;
  }
  /// Enqueues \p program on \p set; a CUresult.
  int launch(const TestProgram &program, unsigned set);
  /// What the sampler calls.
  void select(const TestProgram &program) { selected = program; }
  /// Writes (or only reads) a buffer of the sampler's size on the stream.
  Result<void> writeFlush();
  Result<void> readFlush();
  Result<void> synchronize();

private:
  explicit TestBench(const CudaDriver &driver) : driver(driver) {}
  Result<void> open(bool traced);

  const CudaDriver &driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr, tensorModule = nullptr;
  CUfunction functions[4] = {};
  static constexpr unsigned kBuffers = 3;
  CUdeviceptr sources[kBuffers] = {}, destinations[kBuffers] = {};
  CUdeviceptr flushBuffer = 0;
  uint64_t flushBytes = 0;
  unsigned multiprocessors = 0;
  TestProgram selected;
  std::unique_ptr<Sampler> sampler;
};

/// Samples of two programs, taken by the bench itself.
class BenchSource : public SampleSource {
public:
  BenchSource(TestBench &bench, TestProgram baseline, TestProgram submission)
      : bench(bench), programs{baseline, submission} {}

  Result<SampleRecord> sample(Side side, const SampleRequest &request) override;
  Result<std::pair<BatchRecord, double>>
  batch(Side side, const BatchRequest &request) override;

  /// What the submission reports as clock A, relative to the truth: how a
  /// cheat looks.
  double lie = 1;

private:
  TestBench &bench;
  TestProgram programs[2];
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_TESTBENCH_H
