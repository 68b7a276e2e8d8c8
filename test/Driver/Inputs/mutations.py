# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes one thing in a shipped kernel and looks at what the analyser says.

  mutations.py FOLDER KERNEL...

Each mutation of FOLDER/KERNEL.cu is a small edit that compiles, and the table
says which properties it changes, and to what, from reading the kernel. A run
must show exactly these changes, among the properties and among the items of
the rubric. The results of a mutated kernel need not be right.

What a property says is the list of its facts, each as "attribute value ...",
with "main" behind it for those of the main region; or "undecided", "near miss"
or "absent". Facts that only say what was compiled are left out.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

kPlain = {"launch_bounds", "launch_shape", "register_count", "occupancy"}

kArchitectures = {"tiled": "sm_90a", "mma_sync": "sm_90a", "wgmma": "sm_90a",
                  "tcgen05": "sm_100a"}

kAbsent, kNearMiss = "absent", "near miss"


def facts(*texts):
    return sorted(texts)


def item(name):
    """The key of an item of the rubric."""
    return "item " + name


class Mutation:
    """Edits, each (old text, new text) with the old text once in the kernel,
    and what they change."""

    def __init__(self, name, edits, expected):
        self.name, self.edits, self.expected = name, edits, expected

    def apply(self, source):
        for old, new in self.edits:
            if source.count(old) != 1:
                sys.exit(f"{self.name}: found {source.count(old)} times: {old}")
            source = source.replace(old, new)
        return source


kTiled = [
    Mutation(
        "rows without padding",
        [("kRowStride = kTileK + 4", "kRowStride = kTileK")],
        {
            "smem_padding": kAbsent,
            # 16 lanes read 8 bytes each of 16 rows of 16 banks: 8 in each half.
            # X is read by 16 lanes at one place. The two halves of a row of X
            # become one store of 16 bytes, of which 8 lanes fill two rows, all
            # the banks. W stays: 4 rows that start at one bank.
            "smem_bank_conflict": facts("degree 1 op load main",
                                        "degree 8 op load main",
                                        "degree 1 op store main",
                                        "degree 4 op store main"),
            item("swizzled_tiles"): "missing",
        }),
    Mutation(
        "loads of two bytes",
        [("__device__ __forceinline__ void stageVector(",
          """__device__ __forceinline__ ulonglong2 loadPieces(const void *from) {
  unsigned short v[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    asm volatile("ld.global.nc.b16 %0, [%1];\\n" : "=h"(v[i]) :
                 "l"((const char *)from + 2 * i));
  ulonglong2 all = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    all.x |= (unsigned long long)v[i] << 16 * i;
    all.y |= (unsigned long long)v[4 + i] << 16 * i;
  }
  return all;
}
__device__ __forceinline__ void stageVector("""),
         ("*reinterpret_cast<const ulonglong2 *>(nextX[p])",
          "loadPieces(nextX[p])"),
         ("*reinterpret_cast<const ulonglong2 *>(nextW[p])",
          "loadPieces(nextW[p])")],
        {
            # R is still loaded 16 bytes a thread.
            "vector_global_access": facts(
                "bytes 16 direction load", "bytes 16 direction store"),
            # 2 bytes of every 16: 16 sectors for the bytes of 2.
            "coalesced_global_access": facts("direction store"),
            item("async_operand_copies"): "missing",
        }),
    Mutation(
        "the next slice fetched into registers",
        [("""  for (int64_t k0 = 0; k0 < K; k0 += kTileK) {
    // All loads""",
          """  ulonglong2 fromX[kPasses] = {}, fromW[kPasses] = {};
  auto fetch = [&](int64_t k0) {
    // All loads"""),
         ("""    ulonglong2 fromX[kPasses] = {}, fromW[kPasses] = {};
    if (k0""",
          """#pragma unroll
    for (int p = 0; p < kPasses; ++p)
      fromX[p] = fromW[p] = ulonglong2{};
    if (k0"""),
         ("""        nextW[p] += kTileK;
      }
    }
""",
          """        nextW[p] += kTileK;
      }
    }
  };
  fetch(0);
  for (int64_t k0 = 0; k0 < K; k0 += kTileK) {
"""),
         ("""    __syncthreads();

    // 64 values""",
          """    __syncthreads();
    fetch(k0 + kTileK);

    // 64 values""")],
        {
            "async_pipeline": facts(
                "depth 2 in_flight 1 mechanism register_prefetch main"),
            item("stage_ring"): "partial",
        }),
    Mutation(
        "no residual",
        [("""      float lo = acc[i][2 * j] + __uint_as_float(r[j] << 16);
      float hi = acc[i][2 * j + 1] + __uint_as_float(r[j] & 0xffff0000u);
""",
          """      float lo = acc[i][2 * j], hi = acc[i][2 * j + 1];
"""),
         ("    uint4 residual = *reinterpret_cast<const uint4 *>(R + m * N + n);\n", ""),
         ("    const uint32_t *r = reinterpret_cast<const uint32_t *>(&residual);\n",
          "")],
        {
            "epilogue_fusion": kAbsent,
            "vector_global_access": facts("bytes 16 direction load main",
                                          "bytes 16 direction store"),
            item("residual_in_epilogue"): "missing",
        }),
    Mutation(
        "stores of four bytes",
        [("""  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};\\n" ::"l"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");""",
          """  asm volatile("st.global.b32 [%0], %1;\\nst.global.b32 [%0+4], %2;\\n"
               "st.global.b32 [%0+8], %3;\\nst.global.b32 [%0+12], %4;\\n" ::"l"(
                   to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");""")],
        {
            "vector_global_access": facts("bytes 16 direction load",
                                          "bytes 16 direction load main"),
            # 4 bytes of every 16: each sector is written to by four stores.
            "coalesced_global_access": facts("direction load main"),
            item("wide_epilogue"): "missing",
        }),
    Mutation(
        "no barrier before the slices are read",
        [("""    __syncthreads();

    // 64 values""",
          """
    // 64 values""")],
        {
            "smem_tiling": kNearMiss,
            item("block_tile"): "missing",
        }),
]

kAddResidual = """
__global__ void addResidual(const __nv_bfloat16 *__restrict__ R,
                            __nv_bfloat16 *__restrict__ D, int64_t vectors) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= vectors)
    return;
  uint4 r = reinterpret_cast<const uint4 *>(R)[i];
  uint4 d = reinterpret_cast<const uint4 *>(D)[i];
  auto add = [](uint32_t d, uint32_t r) {
    return addAndRound(make_float2(__uint_as_float(d << 16),
                                   __uint_as_float(d & 0xffff0000u)), r);
  };
  storeVector(D + i * 8, make_uint4(add(d.x, r.x), add(d.y, r.y), add(d.z, r.z),
                                    add(d.w, r.w)));
}

__global__ void __launch_bounds__(kThreads, 2)
    gemmBf16MmaSync("""

kMmaSync = [
    Mutation(
        "rows that are not permuted",
        [("((chunk ^ ((row >> 1) & 3)) << 4)", "(chunk << 4)")],
        {
            "smem_swizzle": kAbsent,
            # Eight rows of 16 banks: four in each half of the banks.
            "smem_bank_conflict": facts("degree 4 op ldmatrix main",
                                        "degree 1 op store",
                                        "degree 1 op store main"),
            item("swizzled_tiles"): "missing",
        }),
    Mutation(
        "rows that only the copies permute",
        [("/// Copies 16 bytes from",
          """__device__ __forceinline__ uint32_t plain(int row, int chunk) {
  return row * (kTileK * 2) + (chunk << 4);
}

/// Copies 16 bytes from"""),
         ("stageX + swizzled(warpM", "stageX + plain(warpM"),
         ("                            swizzled(warpN",
          "                            plain(warpN")],
        {
            "smem_swizzle": kNearMiss,
            "smem_bank_conflict": facts("degree 4 op ldmatrix main",
                                        "degree 1 op store",
                                        "degree 1 op store main"),
            item("swizzled_tiles"): "missing",
        }),
    Mutation(
        "padded rows instead of permuted ones",
        [("return row * (kTileK * 2) + ((chunk ^ ((row >> 1) & 3)) << 4)",
          "return row * (kTileK * 2 + 16) + (chunk << 4)"),
         ("kOperandBytes = kTileM * kTileK * 2",
          "kOperandBytes = kTileM * (kTileK * 2 + 16)")],
        {
            "smem_swizzle": kAbsent,
            "smem_padding": facts("bytes 16"),
            # Rows start at banks 0, 20, 8, 28, 16, 4, 24, 12. Eight lanes that
            # copy two rows write banks 0 to 15 and 20 to 35.
            "smem_bank_conflict": facts("degree 1 op ldmatrix main",
                                        "degree 2 op store",
                                        "degree 2 op store main"),
            item("swizzled_tiles"): "partial",
        }),
    Mutation(
        "two stages",
        [("kStages = 3", "kStages = 2")],
        {"async_pipeline": facts("depth 2 in_flight 1 mechanism cp_async main")}),
    Mutation(
        "copies waited for where they are issued",
        [("""      copyStage(slice + kStages - 1);
    commitCopies();""",
          """      copyStage(slice + kStages - 1);
    commitCopies();
    waitForCopies<0>();""")],
        {
            "async_pipeline": kNearMiss,
            item("stage_ring"): "missing",
        }),
    Mutation(
        "all copies waited for before the next is issued",
        [("waitForCopies<kStages - 2>()", "waitForCopies<0>()")],
        {"async_pipeline": facts("depth 3 in_flight 1 mechanism cp_async main")}),
    Mutation(
        "copies through registers",
        [("""  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\\n" ::"r"(to),
               "l"(from), "r"(inside ? 16 : 0)
               : "memory");""",
          """  uint4 v = make_uint4(0, 0, 0, 0);
  if (inside)
    v = *reinterpret_cast<const uint4 *>(from);
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};\\n" ::"r"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");""")],
        {
            "async_copy": kAbsent,
            "async_pipeline": kAbsent,
            "vector_global_access": facts("bytes 16 direction load",
                                          "bytes 16 direction load main",
                                          "bytes 16 direction store"),
            item("stage_ring"): "missing",
            item("clipped_edges"): "missing",
        }),
    Mutation(
        "stores of four bytes",
        [("""  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};\\n" ::"l"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");""",
          """  asm volatile("st.global.b32 [%0], %1;\\nst.global.b32 [%0+4], %2;\\n"
               "st.global.b32 [%0+8], %3;\\nst.global.b32 [%0+12], %4;\\n" ::"l"(
                   to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");""")],
        {
            "vector_global_access": facts("bytes 16 direction load"),
            "coalesced_global_access": facts("direction load main"),
            item("wide_epilogue"): "missing",
        }),
    Mutation(
        "a second kernel adds the residual",
        [("""
__global__ void __launch_bounds__(kThreads, 2)
    gemmBf16MmaSync(""", kAddResidual),
         ("""uint4 d = make_uint4(addAndRound(v[0], r.x), addAndRound(v[1], r.y),
                               addAndRound(v[2], r.z), addAndRound(v[3], r.w));""",
          """auto round = [](float2 v) {
            __nv_bfloat162 pair = __floats2bfloat162_rn(v.x, v.y);
            return *reinterpret_cast<const uint32_t *>(&pair);
          };
          uint4 d = make_uint4(round(v[0]), round(v[1]), round(v[2]),
                               round(v[3]));"""),
         ("          uint4 r = *reinterpret_cast<const uint4 *>(R + m * N + n);\n",
          ""),
         ("""                              int(tilesM), int(tilesN));
""",
          """                              int(tilesM), int(tilesN));
  int64_t vectors = args->M * args->N / 8;
  addResidual<<<unsigned((vectors + 255) / 256), 256, 0, stream>>>(t.r, t.d,
                                                                  vectors);
""")],
        {
            "epilogue_fusion": kAbsent,
            "kernel_count": facts("count 2"),
            # The main region of a kernel without products is its body.
            "coalesced_global_access": facts("direction load main",
                                             "direction store",
                                             "direction store main"),
            "vector_global_access": facts("bytes 16 direction load main",
                                          "bytes 16 direction store",
                                          "bytes 16 direction store main"),
            # D itself passes from the one to the other.
            "global_intermediates": facts("count 1"),
            item("residual_in_epilogue"): "missing",
            item("clipped_edges"): "missing",
        }),
    Mutation(
        "tiles of 64 by 64",
        [("kTileM = 128", "kTileM = 64"), ("kTileN = 128", "kTileN = 64"),
         ("kWarpM = 64", "kWarpM = 32"), ("kWarpN = 64", "kWarpN = 32")],
        {
            "tile_shape": facts("k 32 m 64 n 64 main"),
            # 8 products use 2 + 4 fragments: 16 uses of 6.
            "register_tiling": facts("accumulators 8 reuse 2.667 main"),
            "smem_tiling": facts("buffers 2 bytes 8192 reuse 2 main"),
        }),
    # What other warps have copied may not be there yet: neither the tile nor the
    # ring is read as it should be.
    Mutation(
        "no barrier before the slices are read",
        [("""    waitForCopies<kStages - 2>();
    __syncthreads();""", "    waitForCopies<kStages - 2>();")],
        {
            "smem_tiling": kNearMiss,
            item("block_tile"): "missing",
            "async_pipeline": kNearMiss,
            item("stage_ring"): "missing",
        }),
]

kWgmma = [
    Mutation(
        "products waited for where they are issued",
        [("""        waitForProducts<1>();
""", """        waitForProducts<0>();
""")],
        {
            "async_mma_overlap": kNearMiss,
            item("products_in_flight"): "missing",
        }),
    Mutation(
        "a smaller ring",
        # 3 stages of 48 KiB for tiles of 256 columns, 4 of 32 KiB for 128; the
        # consumers hold two.
        [("kRingBytes = 192 * 1024", "kRingBytes = 144 * 1024")],
        {
            "async_pipeline": facts("depth 3 in_flight 1 mechanism tma main",
                                    "depth 4 in_flight 2 mechanism tma main"),
            item("stage_ring"): "partial",
        }),
    Mutation(
        "registers stay where they are",
        [("""    asm volatile(
        "setmaxnreg.dec.sync.aligned.u32 %0;\\n" ::"n"(kProducerRegisters));
""", ""),
         ("""    asm volatile(
        "setmaxnreg.inc.sync.aligned.u32 %0;\\n" ::"n"(kConsumerRegisters));
""", "")],
        {
            "register_reallocation": kAbsent,
            item("registers_to_consumers"): "missing",
        }),
    Mutation(
        "each block fetches all of W",
        [("""          loadBoxToCluster(stage + D::xBytes + rank * D::wShareBytes, mapW,
                           slice * kTileK, n + rank * (kTileN / kCluster),
                           full(at.stage));""",
          """          loadBox(stage + D::xBytes, mapW, slice * kTileK, n, full(at.stage));"""),
         ("encodeMatrix(mapW, args.W, args.N, args.K, kTileN / kCluster)",
          "encodeMatrix(mapW, args.W, args.N, args.K, kTileN)")],
        {
            "distributed_smem": kAbsent,
            "tma": facts("dims 2 multicast False op load swizzle 128",
                         "dims 2 multicast False op load swizzle 128 main",
                         "dims 2 op store swizzle 128"),
            item("operand_multicast"): "missing",
        }),
    Mutation(
        "a cluster for each tile",
        [("""  if (tiles.pairs * tiles.columns < clusters)
    clusters = tiles.pairs * tiles.columns;""",
          """  clusters = tiles.pairs * tiles.columns;""")],
        {
            "persistent_kernel": kNearMiss,
            item("persistent_tiles"): "missing",
            item("epilogue_overlap"): "missing",
        }),
    Mutation(
        "no swizzle",
        [("CU_TENSOR_MAP_SWIZZLE_128B", "CU_TENSOR_MAP_SWIZZLE_NONE"),
         ("  descriptor |= uint64_t(1) << 62;         // 128-byte swizzle\n", ""),
         ("int unit = (q * 2 + lane / 16) ^ (row % 8);",
          "int unit = q * 2 + lane / 16;")],
        {
            "smem_swizzle": kAbsent,
            "tma": facts("dims 2 multicast False op load swizzle none",
                         "dims 2 multicast False op load swizzle none main",
                         "dims 2 multicast True op load swizzle none",
                         "dims 2 multicast True op load swizzle none main",
                         "dims 2 op store swizzle none"),
            # Eight rows of all 32 banks.
            "smem_bank_conflict": facts("degree 8 op ldmatrix",
                                        "degree 8 op stmatrix"),
            item("swizzled_tiles"): "missing",
        }),
    Mutation(
        "the same parity each time",
        [("""      for (int slice = 0; slice < slices; ++slice) {
        waitFull(full(at.stage), at.parity);""",
          """      for (int slice = 0; slice < slices; ++slice) {
        waitFull(full(at.stage), 0);""")],
        {
            "async_pipeline": kNearMiss,
            item("stage_ring"): "missing",
        }),
    Mutation(
        "the residual is not read",
        [("            loadMatrices(residual, place);\n", ""),
         ("uint32_t residual[4], result[4];", "uint32_t result[4];"),
         ("addAndRound(sums[2 * i], sums[2 * i + 1], residual[i]);",
          "roundPair(sums[2 * i], sums[2 * i + 1]);"),
         ("/// bf16(acc + residual) for two",
          """__device__ __forceinline__ uint32_t roundPair(float lo, float hi) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(lo, hi);
  return *reinterpret_cast<const uint32_t *>(&pair);
}

/// bf16(acc + residual) for two""")],
        {
            "epilogue_fusion": kAbsent,
            "matrix_fragment_access": facts("op stmatrix transposed False"),
            "smem_bank_conflict": facts("degree 1 op stmatrix"),
            item("residual_in_epilogue"): "missing",
        }),
]

kTcgen05 = [
    Mutation(
        "one buffer of sums",
        [("kAccumulators = 2", "kAccumulators = 1")],
        {
            "tmem_accumulator": facts(
                "columns 128 stages 1", "columns 128 stages 1 main",
                "columns 256 stages 1", "columns 256 stages 1 main"),
            item("epilogue_overlap"): "partial",
        }),
    Mutation(
        "products waited for where they are issued",
        [("          commitProducts(empty(at.stage));\n",
          """          commitProducts(empty(at.stage));
          waitBarrierOfPair(empty(at.stage), at.parity);
""")],
        {
            "async_mma_overlap": kNearMiss,
            item("products_in_flight"): "missing",
        }),
    Mutation(
        "a pair of blocks for each tile",
        [("""  if (tiles.rows * tiles.columns < clusters)
    clusters = tiles.rows * tiles.columns;""",
          """  clusters = tiles.rows * tiles.columns;""")],
        {
            "persistent_kernel": kNearMiss,
            # Two buffers of sums stay, and gain nothing: the rubric's item
            # depends on a next tile.
            item("persistent_tiles"): "missing",
        }),
    Mutation(
        "two stages",
        [("kRingBytes = 192 * 1024", "kRingBytes = 64 * 1024")],
        {
            "async_pipeline": facts("depth 2 in_flight 1 mechanism tma main"),
            "async_mma_overlap": facts("outstanding 1 main"),
            item("stage_ring"): "partial",
        }),
    Mutation(
        "no swizzle",
        [("CU_TENSOR_MAP_SWIZZLE_128B", "CU_TENSOR_MAP_SWIZZLE_NONE"),
         ("  descriptor |= uint64_t(2) << 61;                // 61-63: 128-byte swizzle\n",
          ""),
         ("int unit = (half * 4 + q) ^ (row % 8);", "int unit = half * 4 + q;")],
        {
            "smem_swizzle": kAbsent,
            "tma": facts("dims 2 multicast False op load swizzle none",
                         "dims 2 multicast False op load swizzle none main",
                         "dims 2 op store swizzle none main"),
            "smem_bank_conflict": facts("degree 8 op load main",
                                        "degree 8 op store main"),
            item("swizzled_tiles"): "missing",
        }),
    Mutation(
        "the residual is not read",
        [("            uint4 r = loadShared(at);\n", ""),
         ("""                at, make_uint4(addAndRound(v[8 * q], v[8 * q + 1], r.x),
                               addAndRound(v[8 * q + 2], v[8 * q + 3], r.y),
                               addAndRound(v[8 * q + 4], v[8 * q + 5], r.z),
                               addAndRound(v[8 * q + 6], v[8 * q + 7], r.w)));""",
          """                at, make_uint4(roundPair(v[8 * q], v[8 * q + 1]),
                               roundPair(v[8 * q + 2], v[8 * q + 3]),
                               roundPair(v[8 * q + 4], v[8 * q + 5]),
                               roundPair(v[8 * q + 6], v[8 * q + 7])));"""),
         ("/// bf16(sum + residual) for two",
          """__device__ __forceinline__ uint32_t roundPair(uint32_t lo, uint32_t hi) {
  __nv_bfloat162 pair =
      __floats2bfloat162_rn(__uint_as_float(lo), __uint_as_float(hi));
  return *reinterpret_cast<const uint32_t *>(&pair);
}

/// bf16(sum + residual) for two""")],
        {
            "epilogue_fusion": kAbsent,
            "smem_bank_conflict": facts("degree 1 op store main"),
            item("residual_in_epilogue"): "missing",
        }),
]

kMutations = {"tiled": kTiled, "mma_sync": kMmaSync, "wgmma": kWgmma,
              "tcgen05": kTcgen05}


def word(name, value):
    """An attribute as text: what the tables name."""
    if name in ("share", "bytes") and not value:
        return ""
    if isinstance(value, float):
        value = f"{value:.4g}"
    return f"{name} {value}"


def statuses(report):
    """What the report says of each property and of each item of the rubric."""
    found, open_, near = {}, set(), set()
    groups = [k for k in report["kernels"] if k["reachable"] != "no"]
    for group in groups + [report["host"] or {}]:
        for fact in group.get("facts", []):
            attributes = dict(fact["attributes"])
            # Shares and sizes of the whole are no matter of the mutations.
            attributes.pop("share", None)
            if fact["property"] == "global_intermediates":
                attributes.pop("bytes", None)
            words = [word(*entry) for entry in sorted(attributes.items())]
            if fact["main"]:
                words.append("main")
            found.setdefault(fact["property"], set()).add(" ".join(words))
        near |= {entry["property"] for entry in group.get("near_misses", [])}
        open_ |= {entry["property"] for entry in group.get("undecided", [])}
    result = {}
    for name in (set(found) | near | open_) - kPlain:
        result[name] = (sorted(found[name]) if name in found else
                        "undecided" if name in open_ else kNearMiss)
    for entry in report["score"]["properties"]:
        result[item(entry["id"])] = entry["status"]
    return result


def analyze(source, include, architecture):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.cu"
        path.write_text(source, encoding="utf-8")
        run = subprocess.run(
            ["d2k-analyze", "--no-cache", "-j1", "--tiers=source,ptx",
             "--task=gemm_bf16", "--arch=" + architecture, "--format=json",
             str(path), "--", "-I", str(include)],
            capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"d2k-analyze exits with {run.returncode}\n{run.stderr}")
    return statuses(json.loads(run.stdout))


def check(mutation, before, after):
    """Whether exactly what was declared has changed; prints what has not."""
    wrong = []
    for name in sorted(set(before) | set(after) | set(mutation.expected)):
        old, new = before.get(name, kAbsent), after.get(name, kAbsent)
        wanted = mutation.expected.get(name, old)
        if new != wanted:
            wrong.append(f"  {name}: {old} -> {new}, expected {wanted}")
        elif name in mutation.expected and new == old:
            wrong.append(f"  {name}: {old} as before")
    print(("FAIL " if wrong else "ok   ") + mutation.name)
    print("".join(line + "\n" for line in wrong), end="")
    return not wrong


def main():
    folder = pathlib.Path(sys.argv[1])
    good = True
    for kernel in sys.argv[2:]:
        source = (folder / f"{kernel}.cu").read_text(encoding="utf-8")
        mutations = kMutations[kernel]
        sources = [source] + [mutation.apply(source) for mutation in mutations]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            before, *after = pool.map(
                lambda text: analyze(text, folder, kArchitectures[kernel]),
                sources)
        for mutation, found in zip(mutations, after):
            good &= check(mutation, before, found)
    sys.exit(not good)


if __name__ == "__main__":
    main()
