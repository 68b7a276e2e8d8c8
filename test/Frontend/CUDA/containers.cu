// RUN: d2k-host --arch sm_90a --entry run --axis n=777 %s | FileCheck %s
// RUN: d2k-host --arch sm_90a --entry run --axis n=4000 %s \
// RUN:   | FileCheck %s --check-prefix=LARGE
// Containers of the standard library keep what is put into them: vectors that
// grow, lists, search trees, hash tables, functions. Bodies are in headers but
// for a few functions of libstdc++.

#include <algorithm>
#include <array>
#include <cuda.h>
#include <cuda_runtime.h>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

struct Args {
  long n;
  float *y;
};

__global__ void step(float *y, int i) { y[threadIdx.x] = i; }
template <int T> __global__ void tile(float *y) { y[threadIdx.x] = T; }
__global__ void maps(const __grid_constant__ CUtensorMap a,
                     const __grid_constant__ CUtensorMap b, float *y) {
  y[0] = float(sizeof(a) + sizeof(b));
}

using Launcher = std::function<void(float *, int)>;

static const std::map<int, Launcher> &getTiles() {
  static const std::map<int, Launcher> tiles = {
      {64, [](float *y, int n) { tile<64><<<n / 64, 64>>>(y); }},
      {128, [](float *y, int n) { tile<128><<<n / 128, 128>>>(y); }}};
  return tiles;
}

struct Whole {
  int threads;
};
struct Split {
  int threads, parts;
};

static void encode(CUtensorMap &map, void *p, int rows) {
  cuuint64_t dims[2] = {64, (cuuint64_t)rows}, strides[1] = {128};
  cuuint32_t box[2] = {64, 32}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// CHECK: trace run
// CHECK-NOT: incomplete
extern "C" int run(const Args *a) {
  float *y = a->y;
  int n = int(a->n);
  // CHECK-DAG: map[[#OLD0:]] bfloat16 of y dims [64,777p]
  // CHECK-DAG: map[[#OLD1:]] bfloat16 of y dims [64,1554p]
  // CHECK-DAG: map[[#NEW0:]] bfloat16 of y dims [64,5]
  // CHECK-DAG: map[[#NEW1:]] bfloat16 of y dims [64,6]

  // The table has the choice, as a binary search in an array has.
  // CHECK: launch void tile<64>(float*) grid 12px1x1
  // LARGE: launch void tile<128>(float*) grid 31px1x1
  getTiles().at(n > 1000 ? 128 : 64)(y, n);
  static constexpr std::array<std::pair<int, int>, 2> kLimits = {
      {{1000, 3}, {1 << 30, 4}}};
  auto limit = std::lower_bound(
      kLimits.begin(), kLimits.end(), n,
      [](const std::pair<int, int> &entry, int v) { return entry.first < v; });
  // CHECK: launch step(float*, int) grid 3{{p?}}x1x1 {{.*}}(y, 1)
  // LARGE: launch step(float*, int) grid 4{{p?}}x1x1 {{.*}}(y, 1)
  step<<<limit->second, 32>>>(y, 1);

  // A vector that grows, and one from a list.
  std::vector<int> sizes;
  for (int left = n; left > 100; left /= 4)
    sizes.push_back(left);
  sizes.push_back(9);
  // CHECK: launch step(float*, int) grid 777px1x1 block 32x1x1 {{.*}}(y, 2)
  // CHECK: launch step(float*, int) grid 194px1x1 block 32x1x1 {{.*}}(y, 2)
  // CHECK: launch step(float*, int) grid 9x1x1 block 32x1x1 {{.*}}(y, 2)
  // LARGE: launch step(float*, int) grid 4000px1x1
  // LARGE: launch step(float*, int) grid 1000px1x1
  // LARGE: launch step(float*, int) grid 250px1x1
  // LARGE: launch step(float*, int) grid 9x1x1
  for (size_t i = 0; i < sizes.size(); ++i)
    step<<<sizes[i], 32>>>(y, 2);

  // Records that are chosen among, and one that is taken away.
  struct Config {
    int m, n;
  };
  std::vector<Config> configs;
  for (int m : {64, 128})
    for (int k : {256, 64, 128})
      configs.push_back({m, k});
  std::sort(configs.begin(), configs.end(),
            [](const Config &p, const Config &q) {
              return p.m != q.m ? p.m > q.m : p.n > q.n;
            });
  configs.erase(configs.begin());
  configs.pop_back();
  // CHECK: launch step(float*, int) grid 4x1x1 block 64x1x1 {{.*}}(y, 128)
  step<<<configs.size(), configs.back().m>>>(y, configs.back().n);

  // A tree has its order, whatever that of the insertions.
  std::map<int, int> tree = {{5, 50}, {2, 20}, {9, 90}};
  tree[7] = 70;
  // CHECK: launch step(float*, int) grid 2x1x1 block 20x1x1
  // CHECK: launch step(float*, int) grid 5x1x1 block 50x1x1
  // CHECK: launch step(float*, int) grid 7x1x1 block 70x1x1
  // CHECK: launch step(float*, int) grid 9x1x1 block 90x1x1
  for (auto &[key, value] : tree)
    step<<<key, value>>>(y, 3);
  // CHECK: launch step(float*, int) grid 90x1x1 block 7x1x1 {{.*}}(y, 4)
  step<<<tree.rbegin()->second, std::prev(tree.find(9))->first>>>(y, 4);
  // CHECK: launch step(float*, int) grid 3x1x1 block 1x1x1 {{.*}}(y, 5)
  std::set<int> set{3, 1, 3, 2};
  step<<<set.size(), *set.begin()>>>(y, 5);

  // A hash table, past the first growth of its buckets.
  std::unordered_map<int, int> table;
  for (int i = 0; i < 14; ++i)
    table[100 + i] = i;
  table.emplace(n, 41);
  // CHECK: launch step(float*, int) grid 41x1x1 block 15x1x1 {{.*}}(y, 6)
  step<<<table.at(n), table.size()>>>(y, 6);
  // CHECK-NOT: grid 77x1x1
  if (table.find(99) != table.end())
    step<<<77, 32>>>(y, 7);

  // One of two plans, whose label "neither" has all bits set.
  std::variant<Whole, Split> plan = Whole{96};
  if (n > 1000)
    plan = Split{128, 2};
  // CHECK: launch step(float*, int) grid 1x1x1 block 96x1x1 {{.*}}(y, 8)
  // LARGE: launch step(float*, int) grid 2x1x1 block 128x1x1 {{.*}}(y, 8)
  std::visit(
      [&](const auto &choice) {
        if constexpr (std::is_same_v<std::decay_t<decltype(choice)>, Split>)
          step<<<choice.parts, choice.threads>>>(y, 8);
        else
          step<<<1, choice.threads>>>(y, 8);
      },
      plan);

  // Tensor maps that a table keeps between calls, and in a vector.
  static std::unordered_map<int, std::array<CUtensorMap, 2>> cache;
  auto found = cache.find(n);
  if (found == cache.end()) {
    std::array<CUtensorMap, 2> pair;
    encode(pair[0], y, n);
    encode(pair[1], y, 2 * n);
    found = cache.emplace(n, pair).first;
  }
  // CHECK: launch maps({{.*}}) grid 1x1x1 block 128x1x1 shared 0 (map[[#OLD0]], map[[#OLD1]], y)
  maps<<<1, 128>>>(found->second[0], found->second[1], y);
  std::vector<CUtensorMap> list(2);
  int rows = 5;
  for (CUtensorMap &map : list)
    encode(map, y, rows++);
  // CHECK: launch maps({{.*}}) grid 2x1x1 block 128x1x1 shared 0 (map[[#NEW0]], map[[#NEW1]], y)
  for (auto it = list.begin(); it + 1 != list.end(); ++it)
    maps<<<2, 128>>>(*it, *(it + 1), y);
  return 0;
}
