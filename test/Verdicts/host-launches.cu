// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many kernels a call launches, of which shape.
//
// VERDICTS arch=sm_90a read=host

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <functional>
#include <map>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <vector>

__global__ void scale(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

__global__ void addk(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] + 1.f;
}

template <int V>
__global__ void tpl(const float *a, float *b, int n) {
  int i = (blockIdx.x * 256 + threadIdx.x) * V;
  for (int j = 0; j < V; ++j)
    if (i + j < n)
      b[i + j] = a[i + j] * 3.f;
}

// EXPECT two: kernel_count present count=2: two launches
// EXPECT two: global_intermediates present count=1 bytes=4194304:
//   static buffer of 4 MiB between the two
// EXPECT two: host_allocation absent: allocated in the first call only
// EXPECT two: host_synchronization absent: nothing waits for the device
// EXPECT two: shape_dispatch absent: nothing depends on the shape
extern "C" void two(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  scale<<<4096, 256, 0, s>>>(a, t, 1 << 20);
  addk<<<4096, 256, 0, s>>>(t, b, 1 << 20);
}

// EXPECT loop: kernel_count present count=10: ping-pong over two buffers, 10 iterations
// EXPECT loop: host_allocation present call=cudaMallocAsync: two buffers in every call
extern "C" void loop(const float *a, float *b, cudaStream_t s) {
  float *t[2];
  for (auto &p : t)
    cudaMallocAsync(&p, 4 << 20, s);
  const float *in = a;
  for (int i = 0; i < 10; ++i) {
    float *out = i == 9 ? b : t[i & 1];
    scale<<<4096, 256, 0, s>>>(in, out, 1 << 20);
    in = out;
  }
  for (auto p : t)
    cudaFreeAsync(p, s);
}

// EXPECT fused: kernel_count present count=1:
//   one launch, the other stands under a condition that is false
// EXPECT fused: global_intermediates present count=0: no kernel reads what another wrote
extern "C" void fused(const float *a, float *b, cudaStream_t s) {
  constexpr bool debug = false;
  scale<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  if (debug)
    addk<<<4096, 256, 0, s>>>(b, b, 1 << 20);
}

// EXPECT vec: host_allocation absent: std::vector on the host is no device memory
// EXPECT vec: kernel_count present count=4: four launches
extern "C" void vec(const float *a, float *b, cudaStream_t s) {
  std::vector<int> sizes(4, 1 << 18);
  int off = 0;
  for (int n : sizes) {
    scale<<<1024, 256, 0, s>>>(a + off, b + off, n);
    off += n;
  }
}

// EXPECT disp: shape_dispatch present: template by n, shape is a run-time parameter
extern "C" void disp(const float *a, float *b, int n, cudaStream_t s) {
  int g = (n + 255) / 256;
  switch (n % 4) {
  case 0:
    tpl<4><<<(g + 3) / 4, 256, 0, s>>>(a, b, n);
    break;
  case 2:
    tpl<2><<<(g + 1) / 2, 256, 0, s>>>(a, b, n);
    break;
  default:
    tpl<1><<<g, 256, 0, s>>>(a, b, n);
  }
}

// EXPECT dispTable: shape_dispatch present: a table of function pointers indexed by the size class
extern "C" void dispTable(const float *a, float *b, int n, cudaStream_t s) {
  using F = void (*)(const float *, float *, int);
  static const F table[3] = {tpl<1>, tpl<2>, tpl<4>};
  int c = n < 1024 ? 0 : n < 65536 ? 1 : 2;
  table[c]<<<(n + 255) / 256, 256, 0, s>>>(a, b, n);
}

// EXPECT dispAlign: shape_dispatch absent: the choice depends on the alignment of a pointer
extern "C" void dispAlign(const float *a, float *b, cudaStream_t s) {
  if ((size_t)a % 16 == 0)
    tpl<4><<<1024, 256, 0, s>>>(a, b, 1 << 20);
  else
    tpl<1><<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT dispGrid: shape_dispatch absent: only the grid changes with n
extern "C" void dispGrid(const float *a, float *b, int n, cudaStream_t s) {
  int g = n > 65536 ? 1024 : 64;
  tpl<4><<<g, 256, 0, s>>>(a, b, n);
}

__global__ void k2d(const float *a, float *b) {
  int i = (blockIdx.x * 8 + threadIdx.y) * 32 + threadIdx.x;
  b[i] = a[i];
}

// EXPECT shape3: launch_shape present x=32 y=8 z=1: block by a dim3
extern "C" void shape3(const float *a, float *b, cudaStream_t s) {
  dim3 blk(32);
  blk.y = 256 / blk.x;
  k2d<<<4096, blk, 0, s>>>(a, b);
}

// EXPECT apiLaunch: kernel_count present count=2:
//   cudaLaunchKernel with argument arrays, and cooperative
// EXPECT apiLaunch: launch_shape present x=256 y=1 z=1: 256 threads
extern "C" void apiLaunch(const float *a, float *b, cudaStream_t s) {
  static float *t = [] {
    float *p;
    cudaMalloc(&p, 4 << 20);
    return p;
  }();
  int n = 1 << 20;
  void *x[] = {&a, &t, &n}, *y[] = {&t, &b, &n};
  cudaLaunchKernel((const void *)scale, dim3(4096), dim3(256), x, 0, s);
  cudaLaunchCooperativeKernel((void *)addk, dim3(4096), dim3(256), y, 0, s);
}

// EXPECT empty: kernel_count present count=1: the second grid is empty: 0 blocks
extern "C" void empty(const float *a, float *b, cudaStream_t s) {
  int n = 1 << 20, rest = n % 256;
  scale<<<n / 256, 256, 0, s>>>(a, b, n);
  addk<<<rest, 256, 0, s>>>(a, b, rest);
}

__global__ void k1(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 2.f;
}

__global__ void k2(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] + 1.f;
}

// EXPECT lambda: kernel_count present count=3: launches through a lambda and std::function
extern "C" void lambda(const float *a, float *b, cudaStream_t s) {
  auto go = [&](int i) { k1<<<1024, 256, 0, s>>>(a + i * 262144, b + i * 262144, 262144); };
  std::function<void(int)> f = go;
  go(0);
  f(1);
  f(2);
}

static void halve(const float *a, float *b, int n, cudaStream_t s) {
  if (n < 256)
    return;
  k1<<<n / 256, 256, 0, s>>>(a, b + n, n);
  halve(a, b, n / 2, s);
}

// EXPECT rec: kernel_count present count=3: a recursion that halves n: 1024, 512, 256
extern "C" void rec(const float *a, float *b, cudaStream_t s) {
  halve(a, b, 1024, s);
}

// EXPECT overwritten: kernel_count present count=2: both run
// EXPECT overwritten: global_intermediates present count=0: no kernel reads what the other writes
extern "C" void overwritten(const float *a, float *b, cudaStream_t s) {
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  k2<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT memsetOnly: kernel_count present count=1: a memset is no kernel launch
extern "C" void memsetOnly(const float *a, float *b, cudaStream_t s) {
  cudaMemsetAsync(b, 0, 4 << 20, s);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT gotoEnd: kernel_count present count=1:
//   do-while(0) with break: the second launch is skipped
extern "C" void gotoEnd(const float *a, float *b, cudaStream_t s) {
  do {
    k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
    if (sizeof(float) == 4)
      break;
    k2<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  } while (0);
}

// EXPECT streams: kernel_count present count=4: four streams
// EXPECT streams: host_synchronization absent: nothing waits for the device
extern "C" void streams(const float *a, float *b, cudaStream_t s) {
  static cudaStream_t q[4];
  static bool init = false;
  if (!init) {
    for (auto &x : q)
      cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking);
    init = true;
  }
  for (int i = 0; i < 4; ++i)
    k1<<<1024, 256, 0, q[i]>>>(a + i * 262144, b + i * 262144, 262144);
}

// EXPECT env: kernel_count not-present: a second launch when an environment variable is set
extern "C" void env(const float *a, float *b, cudaStream_t s) {
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  if (getenv("EXTRA"))
    k2<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

template <int N>
struct Run {
  static void go(const float *a, float *b, cudaStream_t s) {
    k1<<<N, 256, 0, s>>>(a, b, N * 256);
    Run<N / 2>::go(a, b, s);
  }
};

template <>
struct Run<0> {
  static void go(const float *, float *, cudaStream_t) {}
};

// EXPECT tmplRec: kernel_count present count=4: recursive template
extern "C" void tmplRec(const float *a, float *b, cudaStream_t s) {
  Run<8>::go(a, b, s);
}

struct Base {
  virtual void go(const float *a, float *b, cudaStream_t s) = 0;
  virtual ~Base() {}
};

struct Two : Base {
  void go(const float *a, float *b, cudaStream_t s) override {
    k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
    k2<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  }
};

// EXPECT virt: kernel_count present count=2: virtual call on a known object
extern "C" void virt(const float *a, float *b, cudaStream_t s) {
  Two t;
  Base *p = &t;
  p->go(a, b, s);
}

// EXPECT setAttr: cluster_launch absent:
//   cudaFuncSetAttribute NonPortableClusterSizeAllowed only: no cluster
extern "C" void setAttr(const float *a, float *b, cudaStream_t s) {
  cudaFuncSetAttribute(k1, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

__global__ void __cluster_dims__(2) kc(const float *a, float *b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n)
    b[i] = a[i] * 4.f;
}

// EXPECT clDead: cluster_launch absent: the cluster kernel's result is overwritten by the plain one
extern "C" void clDead(const float *a, float *b, cudaStream_t s) {
  kc<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT clNever: cluster_launch absent: launched only if cudaGetDeviceCount fails
extern "C" void clNever(const float *a, float *b, cudaStream_t s) {
  int n = 0;
  if (cudaGetDeviceCount(&n) != cudaSuccess)
    kc<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT thrower: kernel_count present count=1:
//   a throw behind the launch in a branch that is not taken
extern "C" void thrower(const float *a, float *b, cudaStream_t s) {
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
  if (cudaGetLastError() != cudaSuccess)
    throw std::runtime_error("launch");
}

// EXPECT mapKernel: kernel_count present count=1: kernel chosen from a map by a constant string
extern "C" void mapKernel(const float *a, float *b, cudaStream_t s) {
  static const std::map<std::string, void (*)(const float *, float *, int)> table = {{"double", k1},
                                                                                     {"plus", k2}};
  auto k = table.at("plus");
  k<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}

// EXPECT pdlOrder: dependent_launch absent: neither kernel waits or triggers; attribute set
extern "C" void pdlOrder(const float *a, float *b, cudaStream_t s) {
  cudaLaunchConfig_t c = {};
  c.gridDim = 4096;
  c.blockDim = 256;
  c.stream = s;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  at[0].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = at;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, k1, a, b, 1 << 20);
}

namespace cublas {
static void gemm(const float *a, float *b, cudaStream_t s) {
  k1<<<4096, 256, 0, s>>>(a, b, 1 << 20);
}
} // namespace cublas

// EXPECT lib: library_call absent: own namespace called cublas, own function
extern "C" void lib(const float *a, float *b, cudaStream_t s) {
  cublas::gemm(a, b, s);
}

// EXPECT memcpyAll: kernel_count present count=0: only a copy
extern "C" void memcpyAll(const float *a, float *b, cudaStream_t s) {
  cudaMemcpyAsync(b, a, 4 << 20, cudaMemcpyDeviceToDevice, s);
}
