// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks and times one kernel of the task gemm_bf16, linked into this program,
// on the GPU of this machine. scripts/gpu-check builds and runs it for every
// exemplar. It is a driver, not d2k-run: kernel and checker share a process and
// trust each other, and the times are event times of one process, fit to
// compare designs and not to score submissions.
//
// A workload passes when, on three sets of inputs (small integers whose result
// must be exact, then two random sets), every element is within the bound of
// the task, the root mean square error is at most 1.25 times that of an fp32
// computation, the call changed nothing but its output, and a second call gives
// the same bits. Outputs are filled with NaN before every checked call.

#include "d2k_gemm_bf16.h"

#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Bf16 = __nv_bfloat16;

/// Exit codes of the project's tools.
enum ExitCode { Passed = 0, Failed = 1, Usage = 2, NoDevice = 4 };

#define CHECK_CUDA(call)                                                       \
  do {                                                                         \
    if (cudaError_t error = (call)) {                                          \
      std::fprintf(stderr, "error: %s: %s\n", #call,                           \
                   cudaGetErrorString(error));                                 \
      std::exit(NoDevice);                                                     \
    }                                                                          \
  } while (false)

//===----------------------------------------------------------------------===//
// Workloads
//===----------------------------------------------------------------------===//

struct Workload {
  const char *name;
  int64_t m, n, k;
  bool timed;
};

/// The workloads of the task, then its held-out ones, then shapes chosen to hit
/// edges: one row, one vector, tails in all three axes at once, K under and
/// just over a tile, and more tiles than multiprocessors.
const Workload kWorkloads[] = {
    {"llama3_70b_o_proj", 8192, 8192, 8192, true},
    {"llama3_8b_down_proj", 4096, 4096, 14336, true},
    {"qwen3_32b_o_proj", 2048, 5120, 8192, true},
    {"llama3_8b_qkv_ragged", 1000, 6144, 4096, true},
    {"qwen3_32b_down_proj", 1536, 5120, 25600, true},
    {"llama3_8b_o_proj_short", 77, 4096, 4096, true},
    {"edge_one_row", 1, 8, 8, false},
    {"edge_tails", 129, 264, 72, false},
    {"edge_k_tail", 300, 1160, 1000, false},
    {"edge_short_k", 257, 136, 24, false},
    {"edge_many_tiles", 1100, 6600, 24, false},
    {"edge_many_narrow", 1100, 3600, 40, false},
};

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// A well-mixed function of a counter (the finaliser of SplitMix64).
__host__ __device__ uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// N(0,1) * scale, by Box-Muller.
__global__ void fillNormal(Bf16 *out, int64_t count, uint64_t seed,
                           float scale) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    uint64_t bits = mix(seed + i);
    float u = ((bits >> 40) + 1) * 0x1p-24f; // (0, 1]
    float v = (bits & 0xffffff) * 0x1p-24f;
    float z = sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
    out[i] = __float2bfloat16_rn(z * scale);
  }
}

/// Integers in [-limit, limit].
__global__ void fillIntegers(Bf16 *out, int64_t count, uint64_t seed,
                             int limit) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x)
    out[i] = __float2bfloat16_rn(
        float(int(mix(seed + i) % (2 * limit + 1)) - limit));
}

__global__ void fillBits(uint16_t *out, int64_t count, uint16_t bits) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x)
    out[i] = bits;
}

/// Adds a hash of the content, which depends on the order of its elements.
__global__ void hashInto(unsigned long long *sum, const uint16_t *data,
                         int64_t count) {
  unsigned long long own = 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x)
    own += mix(uint64_t(i) * 65536 + data[i]);
  atomicAdd(sum, own);
}

__global__ void countDifferent(unsigned long long *sum, const uint16_t *data,
                               int64_t count, uint16_t bits) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x)
    if (data[i] != bits)
      atomicAdd(sum, 1ull);
}

constexpr int kFillBlocks = 1024;
constexpr int kFillThreads = 256;

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Half an ulp of bf16, relative to the value: 8 bits of precision.
constexpr double kHalfUlp = 0x1p-8;
/// Rounding in an fp32 sum, per unit of its sum of absolute products. 64 leaves
/// room for tensor cores, which truncate where an FMA rounds.
constexpr double kSumRounding = 64 * 0x1p-23;
constexpr double kRmsRatio = 1.25;

struct Comparison {
  unsigned long long worst;        ///< Bits of max error / bound.
  unsigned long long worstWorking; ///< The same for the fp32 computation.
  double squares;                  ///< Sum of squared errors.
  double squaresWorking;           ///< The same for the fp32 computation.
  unsigned long long nonFinite;
  unsigned long long inexact; ///< Elements that are not the rounded fp32 sum.
};

__device__ double warpSum(double v) {
  for (int step = 16; step; step /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

__device__ double warpMax(double v) {
  for (int step = 16; step; step /= 2)
    v = fmax(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}

__global__ void compare(Comparison *out, const Bf16 *y, d2k_expected ref,
                        int64_t count) {
  double worst = 0, worstWorking = 0, squares = 0, squaresWorking = 0;
  double nonFinite = 0, inexact = 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    double exact = ref.exact[i];
    double bound = kHalfUlp * fabs(exact) + kSumRounding * ref.magnitude[i];
    double got = __bfloat162float(y[i]);
    double working = ref.working[i];
    if (got != working)
      ++inexact;
    if (!isfinite(got)) {
      ++nonFinite;
      continue;
    }
    double error = fabs(got - exact), errorWorking = fabs(working - exact);
    squares += error * error;
    squaresWorking += errorWorking * errorWorking;
    // An error where none is allowed counts as infinitely too large.
    worst = fmax(worst, error > 0 ? error / bound : 0.0);
    worstWorking =
        fmax(worstWorking, errorWorking > 0 ? errorWorking / bound : 0.0);
  }
  worst = warpMax(worst);
  worstWorking = warpMax(worstWorking);
  squares = warpSum(squares);
  squaresWorking = warpSum(squaresWorking);
  nonFinite = warpSum(nonFinite);
  inexact = warpSum(inexact);
  if (threadIdx.x % 32)
    return;
  // Non-negative doubles order as their bits do.
  atomicMax(&out->worst, __double_as_longlong(worst));
  atomicMax(&out->worstWorking, __double_as_longlong(worstWorking));
  atomicAdd(&out->squares, squares);
  atomicAdd(&out->squaresWorking, squaresWorking);
  atomicAdd(&out->nonFinite, static_cast<unsigned long long>(nonFinite));
  atomicAdd(&out->inexact, static_cast<unsigned long long>(inexact));
}

double asDouble(unsigned long long bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

constexpr uint16_t kGuardBits = 0xa5c3;
constexpr uint16_t kPoisonBits = 0x7fff; // A NaN.
constexpr int64_t kGuard = 4096;         // Elements on either side.

/// A bf16 tensor between guard zones.
class Tensor {
public:
  explicit Tensor(int64_t count) : count(count) {
    CHECK_CUDA(cudaMalloc(&whole, (count + 2 * kGuard) * sizeof(uint16_t)));
    fillBits<<<kFillBlocks, kFillThreads>>>(whole, count + 2 * kGuard,
                                            kGuardBits);
  }
  ~Tensor() { cudaFree(whole); }
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;

  Bf16 *data() const { return reinterpret_cast<Bf16 *>(whole + kGuard); }
  uint16_t *bits() const { return whole + kGuard; }

  void poison() {
    fillBits<<<kFillBlocks, kFillThreads>>>(bits(), count, kPoisonBits);
  }
  void hash(unsigned long long *sum) const {
    hashInto<<<kFillBlocks, kFillThreads>>>(sum, bits(), count);
  }
  void countBrokenGuards(unsigned long long *sum) const {
    countDifferent<<<32, kFillThreads>>>(sum, whole, kGuard, kGuardBits);
    countDifferent<<<32, kFillThreads>>>(sum, whole + kGuard + count, kGuard,
                                         kGuardBits);
  }

  int64_t count;

private:
  uint16_t *whole = nullptr;
};

/// A few words in device memory that the host reads back.
template <typename T>
class DeviceValue {
public:
  DeviceValue() { CHECK_CUDA(cudaMalloc(&pointer, sizeof(T))); }
  ~DeviceValue() { cudaFree(pointer); }
  T *reset() {
    CHECK_CUDA(cudaMemset(pointer, 0, sizeof(T)));
    return pointer;
  }
  T get() {
    T value;
    CHECK_CUDA(cudaMemcpy(&value, pointer, sizeof(T), cudaMemcpyDeviceToHost));
    return value;
  }

private:
  T *pointer = nullptr;
};

//===----------------------------------------------------------------------===//
// One workload
//===----------------------------------------------------------------------===//

/// Reads `words` so that L2 holds them and nothing else. Reading, because lines
/// left dirty by a writing flush would be written back in the measured time.
__global__ void readAll(const uint4 *data, int64_t words, uint32_t *sink) {
  uint32_t own = 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += int64_t(gridDim.x) * blockDim.x)
    own ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
  if (own == 0x9e3779b9u)
    *sink = own;
}

struct Options {
  bool small = false;
  bool timing = true;
  std::string only; ///< A workload's name, or empty for all.
  uint64_t seed = 20261130;
};

struct Outcome {
  bool passed = true;
  std::string why;
  double worst = 0;        ///< Largest error / bound of the random trials.
  double worstWorking = 0; ///< The same for the fp32 computation.
  double rmsRatio = 0;
  int launches = 0;
  double milliseconds = 0;

  void fail(const std::string &reason) {
    passed = false;
    if (why.empty())
      why = reason;
  }
};

class Bench {
public:
  explicit Bench(const Options &options) : options(options) {
    cudaDeviceProp device;
    CHECK_CUDA(cudaGetDeviceProperties(&device, 0));
    std::printf("device: %s, %d multiprocessors, %d MiB L2\n", device.name,
                device.multiProcessorCount, device.l2CacheSize >> 20);
    flushWords = 2 * int64_t(device.l2CacheSize) / int64_t(sizeof(uint4));
    CHECK_CUDA(cudaMalloc(&flush, flushWords * sizeof(uint4)));
    CHECK_CUDA(cudaMemset(flush, 1, flushWords * sizeof(uint4)));
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~Bench() {
    cudaStreamDestroy(stream);
    cudaFree(flush);
  }

  Outcome run(const Workload &load) {
    Outcome outcome;
    Tensor x(load.m * load.k), w(load.n * load.k);
    Tensor r(load.m * load.n), d(load.m * load.n);
    d2k_expected ref;
    CHECK_CUDA(cudaMalloc(&ref.exact, d.count * sizeof(double)));
    CHECK_CUDA(cudaMalloc(&ref.working, d.count * sizeof(double)));
    CHECK_CUDA(cudaMalloc(&ref.magnitude, d.count * sizeof(float)));
    d2k_gemm_bf16_args args = {};
    args.M = load.m;
    args.N = load.n;
    args.K = load.k;
    args.X = x.data();
    args.W = w.data();
    args.R = r.data();
    args.D = d.data();

    // All trials, also after a failed one: their figures tell what is wrong.
    for (int trial = 0; trial < 3; ++trial)
      runTrial(load, args, x, w, r, d, ref, trial, outcome);
    if (outcome.passed && load.timed && options.timing)
      time(args, outcome);

    cudaFree(ref.exact);
    cudaFree(ref.working);
    cudaFree(ref.magnitude);
    return outcome;
  }

private:
  bool call(const d2k_gemm_bf16_args &args, Outcome &outcome) {
    int error = d2k_gemm_bf16(&args, nullptr, 0, stream);
    if (!error)
      error = cudaStreamSynchronize(stream);
    if (error)
      outcome.fail(cudaGetErrorString(static_cast<cudaError_t>(error)));
    return !error;
  }

  void runTrial(const Workload &load, const d2k_gemm_bf16_args &args,
                const Tensor &x, const Tensor &w, const Tensor &r, Tensor &d,
                const d2k_expected &ref, int trial, Outcome &outcome) {
    uint64_t seed = mix(options.seed + trial);
    if (trial == 0) {
      // Products up to 4 and sums under 2^24: exact in fp32 in any order.
      fillIntegers<<<kFillBlocks, kFillThreads>>>(x.data(), x.count, seed, 2);
      fillIntegers<<<kFillBlocks, kFillThreads>>>(w.data(), w.count, ~seed, 2);
      fillIntegers<<<kFillBlocks, kFillThreads>>>(r.data(), r.count, seed / 3,
                                                  8);
    } else {
      float scale = 1.0f / std::sqrt(float(load.k));
      fillNormal<<<kFillBlocks, kFillThreads>>>(x.data(), x.count, seed, 1.0f);
      fillNormal<<<kFillBlocks, kFillThreads>>>(w.data(), w.count, ~seed,
                                                scale);
      fillNormal<<<kFillBlocks, kFillThreads>>>(r.data(), r.count, seed / 3,
                                                1.0f);
    }
    auto hashInputs = [&] {
      unsigned long long *sum = counter.reset();
      x.hash(sum);
      w.hash(sum);
      r.hash(sum);
      return counter.get();
    };
    unsigned long long inputs = hashInputs();

    // The kernel runs before the reference exists.
    unsigned long long outputs[2];
    for (unsigned long long &output : outputs) {
      d.poison();
      CHECK_CUDA(cudaDeviceSynchronize());
      if (!call(args, outcome))
        return;
      d.hash(counter.reset());
      output = counter.get();
    }
    if (outputs[0] != outputs[1])
      outcome.fail("two calls on the same inputs differ");
    if (hashInputs() != inputs)
      outcome.fail("an input was changed");
    unsigned long long *broken = counter.reset();
    for (const Tensor *tensor : {&x, &w, &r, static_cast<const Tensor *>(&d)})
      tensor->countBrokenGuards(broken);
    if (counter.get())
      outcome.fail("written outside a tensor");

    d2k_reference_request request = {};
    request.outputs[0] = ref;
    // The default stream, on which the comparison follows.
    if (d2k_reference(&args, &request, nullptr)) {
      outcome.fail("the reference failed");
      return;
    }
    compare<<<kFillBlocks, kFillThreads>>>(comparison.reset(), d.data(), ref,
                                           d.count);
    CHECK_CUDA(cudaGetLastError());
    Comparison c = comparison.get();
    if (c.nonFinite)
      outcome.fail(std::to_string(c.nonFinite) + " elements are not finite");
    if (trial == 0) {
      if (c.inexact)
        outcome.fail(std::to_string(c.inexact) +
                     " elements are not exact on small integers");
      return;
    }
    double worst = asDouble(c.worst);
    double ratio = c.squares > 0 ? std::sqrt(c.squares / c.squaresWorking) : 0;
    outcome.worst = std::max(outcome.worst, worst);
    outcome.worstWorking =
        std::max(outcome.worstWorking, asDouble(c.worstWorking));
    outcome.rmsRatio = std::max(outcome.rmsRatio, ratio);
    if (!(worst <= 1))
      outcome.fail("an element is outside its bound");
    if (!(ratio <= kRmsRatio))
      outcome.fail("the root mean square error is too large");
  }

  /// Median event time of single calls, L2 flushed by reading before each. At
  /// least 20 calls, unless they take over 3 s together (then at least 3).
  void time(const d2k_gemm_bf16_args &args, Outcome &outcome) {
    cudaEvent_t start, stop;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    auto once = [&] {
      readAll<<<1024, 256, 0, stream>>>(flush, flushWords, sink.reset());
      CHECK_CUDA(cudaEventRecord(start, stream));
      if (d2k_gemm_bf16(&args, nullptr, 0, stream))
        outcome.fail("a timed call failed");
      CHECK_CUDA(cudaEventRecord(stop, stream));
      CHECK_CUDA(cudaEventSynchronize(stop));
      float milliseconds = 0;
      CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
      return double(milliseconds);
    };
    double warm = 0;
    for (int i = 0; i < 10 && warm < 300; ++i)
      warm += once();
    std::vector<double> times;
    double total = 0;
    while (
        times.size() < 50 &&
        (times.size() < 20 ? total < 3000 || times.size() < 3 : total < 500)) {
      times.push_back(once());
      total += times.back();
    }
    std::sort(times.begin(), times.end());
    outcome.launches = int(times.size());
    outcome.milliseconds = times[times.size() / 2];
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
  }

  Options options;
  cudaStream_t stream = nullptr;
  uint4 *flush = nullptr;
  int64_t flushWords = 0;
  DeviceValue<unsigned long long> counter;
  DeviceValue<Comparison> comparison;
  DeviceValue<uint32_t> sink;
};

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--small")
      options.small = true;
    else if (arg == "--no-timing")
      options.timing = false;
    else if (arg == "--workload" && i + 1 < argc)
      options.only = argv[++i];
    else if (arg == "--seed" && i + 1 < argc)
      options.seed = std::strtoull(argv[++i], nullptr, 0);
    else
      return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--small] [--no-timing] [--workload NAME] "
                 "[--seed N]\n"
                 "  --small      only the small edge shapes (for checkers)\n"
                 "  --no-timing  check only\n"
                 "  --workload   only the one of this name\n"
                 "  --seed N     seed of the inputs\n",
                 argv[0]);
    return Usage;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "error: no CUDA device; run this on a GPU machine\n");
    return NoDevice;
  }

  Bench bench(options);
  std::printf("%-24s %5s %5s %6s  %-6s %6s %6s %6s  %3s %9s %8s\n", "workload",
              "M", "N", "K", "", "err", "fp32", "rms", "n", "median ms",
              "TFLOP/s");
  int passed = 0, failed = 0;
  for (const Workload &load : kWorkloads) {
    if ((options.small && load.timed) ||
        (!options.only.empty() && options.only != load.name))
      continue;
    Outcome outcome = bench.run(load);
    std::printf("%-24s %5lld %5lld %6lld  %-6s %6.3f %6.3f %6.3f", load.name,
                static_cast<long long>(load.m), static_cast<long long>(load.n),
                static_cast<long long>(load.k),
                outcome.passed ? "passed" : "FAILED", outcome.worst,
                outcome.worstWorking, outcome.rmsRatio);
    if (outcome.launches)
      std::printf("  %3d %9.4f %8.1f", outcome.launches, outcome.milliseconds,
                  2e-9 * load.m * load.n * load.k / outcome.milliseconds);
    std::printf("%s%s\n", outcome.why.empty() ? "" : "  ", outcome.why.c_str());
    std::fflush(stdout);
    ++(outcome.passed ? passed : failed);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? Failed : Passed;
}
