// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host code as C++ programs write it: templates over kernels, tables, objects that own memory and
// streams, loops whose number of launches has to be computed.
//
// VERDICTS arch=sm_90a read=host

#include <array>
#include <cstdlib>
#include <cuda_runtime.h>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

__global__ void twice(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}
__global__ void plus(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] + 1.f;
}
__global__ void fold(const float *a, float *b, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = i < n ? a[i] : 0.f;
  __syncthreads();
  for (int d = 128; d; d /= 2) {
    if (threadIdx.x < d)
      s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    b[blockIdx.x] = s[0];
}
constexpr int N = 1 << 20;

// Grows when it has to; lives as long as the program.
class Workspace {
public:
  static Workspace &get() {
    static Workspace one;
    return one;
  }
  float *reserve(size_t bytes) {
    if (bytes > size) {
      cudaFree(memory);
      cudaMalloc(&memory, bytes);
      size = bytes;
    }
    return memory;
  }

private:
  float *memory = nullptr;
  size_t size = 0;
};
// EXPECT singleton: kernel_count present count=2: two launches
// EXPECT singleton: host_allocation absent: a later call of the same size allocates nothing
// EXPECT singleton: global_intermediates present count=1 bytes=4194304: the workspace
extern "C" void singleton(const float *a, float *b, cudaStream_t s) {
  float *t = Workspace::get().reserve(N * sizeof(float));
  twice<<<N / 256, 256, 0, s>>>(a, t, N);
  plus<<<N / 256, 256, 0, s>>>(t, b, N);
}

template <auto Kernel, class... A>
void launchOf(int blocks, cudaStream_t s, A... args) {
  Kernel<<<blocks, 256, 0, s>>>(args...);
}
// EXPECT byTemplate: kernel_count present count=3: three thirds through a template over the kernel
// EXPECT byTemplate: launch_shape present x=256 y=1 z=1: 256 threads
// EXPECT byTemplate: shape_dispatch absent: nothing depends on a shape
extern "C" void byTemplate(const float *a, float *b, cudaStream_t s) {
  launchOf<twice>(1024, s, a, b, 262144);
  launchOf<plus>(1024, s, a + 262144, b + 262144, 262144);
  launchOf<twice>(2048, s, a + 524288, b + 524288, 524288);
}

// EXPECT byTable: kernel_count present count=4: a constant table of kernels, gone through
extern "C" void byTable(const float *a, float *b, cudaStream_t s) {
  using F = void (*)(const float *, float *, int);
  constexpr std::array<F, 4> table = {twice, plus, twice, plus};
  int at = 0;
  for (F f : table) {
    f<<<1024, 256, 0, s>>>(a + at, b + at, 262144);
    at += 262144;
  }
}

// EXPECT shrinking: kernel_count present count=3: 2^20 sums to 4096, 16 and 1
// EXPECT shrinking: host_synchronization absent: the counts are known on the host
extern "C" void shrinking(const float *a, float *b, cudaStream_t s) {
  static float *t[2] = {};
  if (!t[0])
    for (auto &p : t)
      cudaMalloc(&p, 4096 * sizeof(float));
  const float *in = a;
  int flip = 0;
  for (int n = N; n > 1; n = (n + 255) / 256) {
    int blocks = (n + 255) / 256;
    float *out = blocks == 1 ? b : t[flip ^= 1];
    fold<<<blocks, 256, 0, s>>>(in, out, n);
    in = out;
  }
}

struct Step {
  void (*kernel)(const float *, float *, int);
  const float *in;
  float *out;
};
// EXPECT listed: kernel_count present count=2: a vector of steps that the call fills and runs
// EXPECT listed: global_intermediates present count=1: the buffer between them
extern "C" void listed(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, N * sizeof(float));
    return p;
  }();
  std::vector<Step> steps;
  steps.push_back({twice, a, t});
  steps.push_back({plus, t, b});
  for (const Step &step : steps)
    step.kernel<<<N / 256, 256, 0, s>>>(step.in, step.out, N);
}

#define CHECK(call)            \
  do {                         \
    if ((call) != cudaSuccess) \
      std::abort();            \
  } while (0)
// EXPECT checked: host_synchronization absent: errors of the launch only
// EXPECT checked: kernel_count present count=1: one launch
extern "C" void checked(const float *a, float *b, cudaStream_t s) {
  twice<<<N / 256, 256, 0, s>>>(a, b, N);
  CHECK(cudaGetLastError());
}
// EXPECT checkedWait: host_synchronization present call=cudaStreamSynchronize: inside the macro
extern "C" void checkedWait(const float *a, float *b, cudaStream_t s) {
  twice<<<N / 256, 256, 0, s>>>(a, b, N);
  CHECK(cudaStreamSynchronize(s));
}

// A second stream that starts behind the first and is waited for by it.
class Fork {
public:
  explicit Fork(cudaStream_t main) : main(main) {
    static cudaStream_t one = [] {
      cudaStream_t q;
      cudaStreamCreateWithFlags(&q, cudaStreamNonBlocking);
      return q;
    }();
    static cudaEvent_t e = [] {
      cudaEvent_t q;
      cudaEventCreateWithFlags(&q, cudaEventDisableTiming);
      return q;
    }();
    side = one;
    event = e;
    cudaEventRecord(event, main);
    cudaStreamWaitEvent(side, event, 0);
  }
  ~Fork() {
    cudaEventRecord(event, side);
    cudaStreamWaitEvent(main, event, 0);
  }
  cudaStream_t side;

private:
  cudaStream_t main;
  cudaEvent_t event;
};
// EXPECT forked: kernel_count present count=2: one in each stream
// EXPECT forked: host_synchronization absent: streams wait for each other, the host does not
// EXPECT forked: global_intermediates present count=0: both halves are outputs
extern "C" void forked(const float *a, float *b, cudaStream_t s) {
  Fork fork(s);
  twice<<<N / 512, 256, 0, fork.side>>>(a, b, N / 2);
  plus<<<N / 512, 256, 0, s>>>(a + N / 2, b + N / 2, N / 2);
}

struct Free {
  void operator()(float *p) const {
    cudaFree(p);
  }
};
// EXPECT owned: host_allocation present call=cudaMalloc:
//   a unique_ptr whose memory each call allocates
// EXPECT owned: kernel_count present count=2: two launches
extern "C" void owned(const float *a, float *b, cudaStream_t s) {
  float *raw = nullptr;
  cudaMalloc(&raw, N * sizeof(float));
  std::unique_ptr<float, Free> t(raw);
  twice<<<N / 256, 256, 0, s>>>(a, t.get(), N);
  plus<<<N / 256, 256, 0, s>>>(t.get(), b, N);
}

// EXPECT maybe: kernel_count present count=1: the optional is empty
extern "C" void maybe(const float *a, float *b, cudaStream_t s) {
  std::optional<int> extra;
  twice<<<N / 256, 256, 0, s>>>(a, b, N);
  if (extra)
    plus<<<*extra, 256, 0, s>>>(a, b, N);
}

// EXPECT tiedShape: launch_shape present x=64 y=4 z=1: the block from a tuple
// EXPECT tiedShape: kernel_count present count=1: one launch
__global__ void flat(const float *a, float *b) {
  int i = (blockIdx.x * 4 + threadIdx.y) * 64 + threadIdx.x;
  b[i] = a[i] * 3.f;
}
extern "C" void tiedShape(const float *a, float *b, cudaStream_t s) {
  auto shape = [](int n) { return std::make_tuple(n / 256, dim3(64, 4)); };
  auto [grid, block] = shape(N);
  flat<<<grid, block, 0, s>>>(a, b);
}

// EXPECT exc: kernel_count present count=1: through cudaLaunchKernelExC
// EXPECT exc: cluster_launch present x=2 y=1 z=1:
//   an attribute in an array that is filled by a helper
static int addCluster(cudaLaunchAttribute *at, int count, unsigned x) {
  at[count].id = cudaLaunchAttributeClusterDimension;
  at[count].val.clusterDim.x = x;
  at[count].val.clusterDim.y = 1;
  at[count].val.clusterDim.z = 1;
  return count + 1;
}
extern "C" void exc(const float *a, float *b, cudaStream_t s) {
  cudaLaunchAttribute at[2];
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(N / 256);
  c.blockDim = dim3(256);
  c.stream = s;
  c.attrs = at;
  c.numAttrs = addCluster(at, 0, 2);
  int n = N;
  void *args[] = {&a, &b, &n};
  cudaLaunchKernelExC(&c, (const void *)twice, args);
}

// EXPECT retried: host_synchronization present:
//   waits in the second pass of a loop that always runs twice
// EXPECT retried: kernel_count present count=2: two passes
extern "C" void retried(const float *a, float *b, cudaStream_t s) {
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1)
      cudaDeviceSynchronize();
    twice<<<N / 512, 256, 0, s>>>(a + pass * (N / 2), b + pass * (N / 2), N / 2);
  }
}

// EXPECT firstOnly: host_synchronization absent: waits in the first call only
// EXPECT firstOnly: host_allocation absent: allocates in the first call only
extern "C" void firstOnly(const float *a, float *b, cudaStream_t s) {
  static bool ready = false;
  static float *t;
  if (!ready) {
    cudaMalloc(&t, N * sizeof(float));
    cudaMemset(t, 0, N * sizeof(float));
    cudaDeviceSynchronize();
    ready = true;
  }
  twice<<<N / 256, 256, 0, s>>>(a, t, N);
  plus<<<N / 256, 256, 0, s>>>(t, b, N);
}
