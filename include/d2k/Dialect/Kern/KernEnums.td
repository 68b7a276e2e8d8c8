// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerations of the kern dialect. Spellings follow the PTX ISA where it has
// a word for the thing; names of SASS are mapped onto them by its front end.

#ifndef D2K_DIALECT_KERN_KERNENUMS_TD
#define D2K_DIALECT_KERN_KERNENUMS_TD

include "d2k/Dialect/Kern/KernDialect.td"
include "mlir/IR/EnumAttr.td"

def Kern_Space : I32EnumAttr<"Space", "state space of an address (PTX ISA 5.1)", [
  I32EnumAttrCase<"Unknown", 0, "unknown">,
  I32EnumAttrCase<"Generic", 1, "generic">,
  I32EnumAttrCase<"Global", 2, "global">,
  I32EnumAttrCase<"Shared", 3, "shared">,
  I32EnumAttrCase<"SharedCluster", 4, "shared_cluster">,
  I32EnumAttrCase<"Local", 5, "local">,
  I32EnumAttrCase<"Param", 6, "param">,
  I32EnumAttrCase<"Constant", 7, "constant">,
  I32EnumAttrCase<"TensorMemory", 8, "tensor_memory">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_SpaceAttr : EnumAttr<Kern_Dialect, Kern_Space, "space"> {
  let assemblyFormat = "$value";
}

def Kern_ElementType : I32EnumAttr<"ElementType", "how an operation reads the bits of a register (PTX ISA 5.2)", [
  I32EnumAttrCase<"Pred", 0, "pred">,
  I32EnumAttrCase<"B1", 1, "b1">,
  I32EnumAttrCase<"B4", 2, "b4">,
  I32EnumAttrCase<"B8", 3, "b8">,
  I32EnumAttrCase<"B16", 4, "b16">,
  I32EnumAttrCase<"B32", 5, "b32">,
  I32EnumAttrCase<"B64", 6, "b64">,
  I32EnumAttrCase<"B128", 7, "b128">,
  I32EnumAttrCase<"U4", 8, "u4">,
  I32EnumAttrCase<"U8", 9, "u8">,
  I32EnumAttrCase<"U16", 10, "u16">,
  I32EnumAttrCase<"U32", 11, "u32">,
  I32EnumAttrCase<"U64", 12, "u64">,
  I32EnumAttrCase<"S4", 13, "s4">,
  I32EnumAttrCase<"S8", 14, "s8">,
  I32EnumAttrCase<"S16", 15, "s16">,
  I32EnumAttrCase<"S32", 16, "s32">,
  I32EnumAttrCase<"S64", 17, "s64">,
  I32EnumAttrCase<"U16X2", 18, "u16x2">,
  I32EnumAttrCase<"S16X2", 19, "s16x2">,
  I32EnumAttrCase<"F16", 20, "f16">,
  I32EnumAttrCase<"F16X2", 21, "f16x2">,
  I32EnumAttrCase<"BF16", 22, "bf16">,
  I32EnumAttrCase<"BF16X2", 23, "bf16x2">,
  I32EnumAttrCase<"TF32", 24, "tf32">,
  I32EnumAttrCase<"F32", 25, "f32">,
  I32EnumAttrCase<"F32X2", 26, "f32x2">,
  I32EnumAttrCase<"F64", 27, "f64">,
  I32EnumAttrCase<"E4M3", 28, "e4m3">,
  I32EnumAttrCase<"E5M2", 29, "e5m2">,
  I32EnumAttrCase<"E2M3", 30, "e2m3">,
  I32EnumAttrCase<"E3M2", 31, "e3m2">,
  I32EnumAttrCase<"E2M1", 32, "e2m1">,
  I32EnumAttrCase<"UE8M0", 33, "ue8m0">,
  I32EnumAttrCase<"UE4M3", 34, "ue4m3">,
  I32EnumAttrCase<"E4M3X2", 35, "e4m3x2">,
  I32EnumAttrCase<"E5M2X2", 36, "e5m2x2">,
  I32EnumAttrCase<"E2M3X2", 37, "e2m3x2">,
  I32EnumAttrCase<"E3M2X2", 38, "e3m2x2">,
  I32EnumAttrCase<"E2M1X2", 39, "e2m1x2">,
  I32EnumAttrCase<"UE8M0X2", 40, "ue8m0x2">,
  I32EnumAttrCase<"E4M3X4", 41, "e4m3x4">,
  I32EnumAttrCase<"E5M2X4", 42, "e5m2x4">,
  I32EnumAttrCase<"E2M3X4", 43, "e2m3x4">,
  I32EnumAttrCase<"E3M2X4", 44, "e3m2x4">,
  I32EnumAttrCase<"E2M1X4", 45, "e2m1x4">,
  I32EnumAttrCase<"S2F6X2", 46, "s2f6x2">,
  I32EnumAttrCase<"B4X16", 47, "b4x16">,
  I32EnumAttrCase<"B6X16", 48, "b6x16">,
  I32EnumAttrCase<"NONE", 49, "none">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_ElementTypeAttr : EnumAttr<Kern_Dialect, Kern_ElementType, "type"> {
  let assemblyFormat = "$value";
}

def Kern_ArithKind : I32EnumAttr<"ArithKind", "arithmetic and logic functions", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Sub", 1, "sub">,
  I32EnumAttrCase<"MulLo", 2, "mul_lo">,
  I32EnumAttrCase<"MulHi", 3, "mul_hi">,
  I32EnumAttrCase<"MulWide", 4, "mul_wide">,
  I32EnumAttrCase<"MadLo", 5, "mad_lo">,
  I32EnumAttrCase<"MadHi", 6, "mad_hi">,
  I32EnumAttrCase<"MadWide", 7, "mad_wide">,
  I32EnumAttrCase<"Mul24", 8, "mul24">,
  I32EnumAttrCase<"Mad24", 9, "mad24">,
  I32EnumAttrCase<"Fma", 10, "fma">,
  I32EnumAttrCase<"Sad", 11, "sad">,
  I32EnumAttrCase<"Div", 12, "div">,
  I32EnumAttrCase<"Rem", 13, "rem">,
  I32EnumAttrCase<"Abs", 14, "abs">,
  I32EnumAttrCase<"Neg", 15, "neg">,
  I32EnumAttrCase<"Min", 16, "min">,
  I32EnumAttrCase<"Max", 17, "max">,
  I32EnumAttrCase<"Min3", 18, "min3">,
  I32EnumAttrCase<"Max3", 19, "max3">,
  I32EnumAttrCase<"Copysign", 20, "copysign">,
  I32EnumAttrCase<"And", 21, "and">,
  I32EnumAttrCase<"Or", 22, "or">,
  I32EnumAttrCase<"Xor", 23, "xor">,
  I32EnumAttrCase<"Not", 24, "not">,
  I32EnumAttrCase<"Cnot", 25, "cnot">,
  I32EnumAttrCase<"Lop3", 26, "lop3">,
  I32EnumAttrCase<"Shl", 27, "shl">,
  I32EnumAttrCase<"Shr", 28, "shr">,
  I32EnumAttrCase<"ShfLeft", 29, "shf_left">,
  I32EnumAttrCase<"ShfRight", 30, "shf_right">,
  I32EnumAttrCase<"Prmt", 31, "prmt">,
  I32EnumAttrCase<"Bfe", 32, "bfe">,
  I32EnumAttrCase<"Bfi", 33, "bfi">,
  I32EnumAttrCase<"Bfind", 34, "bfind">,
  I32EnumAttrCase<"Brev", 35, "brev">,
  I32EnumAttrCase<"Popc", 36, "popc">,
  I32EnumAttrCase<"Clz", 37, "clz">,
  I32EnumAttrCase<"Fns", 38, "fns">,
  I32EnumAttrCase<"Szext", 39, "szext">,
  I32EnumAttrCase<"Bmsk", 40, "bmsk">,
  I32EnumAttrCase<"Dp2a", 41, "dp2a">,
  I32EnumAttrCase<"Dp4a", 42, "dp4a">,
  I32EnumAttrCase<"AddCarry", 43, "add_carry">,
  I32EnumAttrCase<"SubCarry", 44, "sub_carry">,
  I32EnumAttrCase<"MadCarryLo", 45, "mad_carry_lo">,
  I32EnumAttrCase<"MadCarryHi", 46, "mad_carry_hi">,
  I32EnumAttrCase<"Video", 47, "video">,
  I32EnumAttrCase<"Mul", 48, "mul">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_ArithKindAttr : EnumAttr<Kern_Dialect, Kern_ArithKind, "arith"> {
  let assemblyFormat = "$value";
}

def Kern_MathKind : I32EnumAttr<"MathKind", "special functions", [
  I32EnumAttrCase<"Ex2", 0, "ex2">,
  I32EnumAttrCase<"Lg2", 1, "lg2">,
  I32EnumAttrCase<"Sin", 2, "sin">,
  I32EnumAttrCase<"Cos", 3, "cos">,
  I32EnumAttrCase<"Tanh", 4, "tanh">,
  I32EnumAttrCase<"Rcp", 5, "rcp">,
  I32EnumAttrCase<"Rsqrt", 6, "rsqrt">,
  I32EnumAttrCase<"Sqrt", 7, "sqrt">,
  I32EnumAttrCase<"Div", 8, "div">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_MathKindAttr : EnumAttr<Kern_Dialect, Kern_MathKind, "math"> {
  let assemblyFormat = "$value";
}

def Kern_Compare : I32EnumAttr<"Compare", "comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">,
  I32EnumAttrCase<"Ne", 1, "ne">,
  I32EnumAttrCase<"Lt", 2, "lt">,
  I32EnumAttrCase<"Le", 3, "le">,
  I32EnumAttrCase<"Gt", 4, "gt">,
  I32EnumAttrCase<"Ge", 5, "ge">,
  I32EnumAttrCase<"Lo", 6, "lo">,
  I32EnumAttrCase<"Ls", 7, "ls">,
  I32EnumAttrCase<"Hi", 8, "hi">,
  I32EnumAttrCase<"Hs", 9, "hs">,
  I32EnumAttrCase<"Equ", 10, "equ">,
  I32EnumAttrCase<"Neu", 11, "neu">,
  I32EnumAttrCase<"Ltu", 12, "ltu">,
  I32EnumAttrCase<"Leu", 13, "leu">,
  I32EnumAttrCase<"Gtu", 14, "gtu">,
  I32EnumAttrCase<"Geu", 15, "geu">,
  I32EnumAttrCase<"Num", 16, "num">,
  I32EnumAttrCase<"Nan", 17, "nan">,
  I32EnumAttrCase<"Finite", 18, "finite">,
  I32EnumAttrCase<"Infinite", 19, "infinite">,
  I32EnumAttrCase<"Number", 20, "number">,
  I32EnumAttrCase<"Notanumber", 21, "notanumber">,
  I32EnumAttrCase<"Normal", 22, "normal">,
  I32EnumAttrCase<"Subnormal", 23, "subnormal">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_CompareAttr : EnumAttr<Kern_Dialect, Kern_Compare, "cmp"> {
  let assemblyFormat = "$value";
}

def Kern_BoolOp : I32EnumAttr<"BoolOp", "combination of a comparison with a predicate", [
  I32EnumAttrCase<"And", 0, "and">,
  I32EnumAttrCase<"Or", 1, "or">,
  I32EnumAttrCase<"Xor", 2, "xor">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_BoolOpAttr : EnumAttr<Kern_Dialect, Kern_BoolOp, "bool_op"> {
  let assemblyFormat = "$value";
}

def Kern_Rounding : I32EnumAttr<"Rounding", "rounding mode", [
  I32EnumAttrCase<"Rn", 0, "rn">,
  I32EnumAttrCase<"Rz", 1, "rz">,
  I32EnumAttrCase<"Rm", 2, "rm">,
  I32EnumAttrCase<"Rp", 3, "rp">,
  I32EnumAttrCase<"Rna", 4, "rna">,
  I32EnumAttrCase<"Rs", 5, "rs">,
  I32EnumAttrCase<"Rni", 6, "rni">,
  I32EnumAttrCase<"Rzi", 7, "rzi">,
  I32EnumAttrCase<"Rmi", 8, "rmi">,
  I32EnumAttrCase<"Rpi", 9, "rpi">,
  I32EnumAttrCase<"Approx", 10, "approx">,
  I32EnumAttrCase<"Full", 11, "full">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_RoundingAttr : EnumAttr<Kern_Dialect, Kern_Rounding, "rounding"> {
  let assemblyFormat = "$value";
}

def Kern_CacheOp : I32EnumAttr<"CacheOp", "cache operator of a load or store (PTX ISA, Cache Operators)", [
  I32EnumAttrCase<"Ca", 0, "ca">,
  I32EnumAttrCase<"Cg", 1, "cg">,
  I32EnumAttrCase<"Cs", 2, "cs">,
  I32EnumAttrCase<"Cv", 3, "cv">,
  I32EnumAttrCase<"Lu", 4, "lu">,
  I32EnumAttrCase<"Wb", 5, "wb">,
  I32EnumAttrCase<"Wt", 6, "wt">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_CacheOpAttr : EnumAttr<Kern_Dialect, Kern_CacheOp, "cache"> {
  let assemblyFormat = "$value";
}

def Kern_Eviction : I32EnumAttr<"Eviction", "cache eviction priority", [
  I32EnumAttrCase<"EvictNormal", 0, "evict_normal">,
  I32EnumAttrCase<"EvictFirst", 1, "evict_first">,
  I32EnumAttrCase<"EvictLast", 2, "evict_last">,
  I32EnumAttrCase<"EvictUnchanged", 3, "evict_unchanged">,
  I32EnumAttrCase<"NoAllocate", 4, "no_allocate">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_EvictionAttr : EnumAttr<Kern_Dialect, Kern_Eviction, "evict"> {
  let assemblyFormat = "$value";
}

def Kern_Semantics : I32EnumAttr<"Semantics", "memory ordering", [
  I32EnumAttrCase<"Weak", 0, "weak">,
  I32EnumAttrCase<"Relaxed", 1, "relaxed">,
  I32EnumAttrCase<"Acquire", 2, "acquire">,
  I32EnumAttrCase<"Release", 3, "release">,
  I32EnumAttrCase<"AcqRel", 4, "acq_rel">,
  I32EnumAttrCase<"SeqCst", 5, "seq_cst">,
  I32EnumAttrCase<"Volatile", 6, "volatile">,
  I32EnumAttrCase<"Mmio", 7, "mmio">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_SemanticsAttr : EnumAttr<Kern_Dialect, Kern_Semantics, "sem"> {
  let assemblyFormat = "$value";
}

def Kern_Scope : I32EnumAttr<"Scope", "set of threads that observes an ordering", [
  I32EnumAttrCase<"Cta", 0, "cta">,
  I32EnumAttrCase<"Cluster", 1, "cluster">,
  I32EnumAttrCase<"Gpu", 2, "gpu">,
  I32EnumAttrCase<"Sys", 3, "sys">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_ScopeAttr : EnumAttr<Kern_Dialect, Kern_Scope, "scope"> {
  let assemblyFormat = "$value";
}

def Kern_AtomicFunction : I32EnumAttr<"AtomicFunction", "read-modify-write function", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Min", 1, "min">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Inc", 3, "inc">,
  I32EnumAttrCase<"Dec", 4, "dec">,
  I32EnumAttrCase<"And", 5, "and">,
  I32EnumAttrCase<"Or", 6, "or">,
  I32EnumAttrCase<"Xor", 7, "xor">,
  I32EnumAttrCase<"Exch", 8, "exch">,
  I32EnumAttrCase<"Cas", 9, "cas">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_AtomicFunctionAttr : EnumAttr<Kern_Dialect, Kern_AtomicFunction, "function"> {
  let assemblyFormat = "$value";
}

def Kern_BulkKind : I32EnumAttr<"BulkKind", "what a bulk copy does", [
  I32EnumAttrCase<"Copy", 0, "copy">,
  I32EnumAttrCase<"Reduce", 1, "reduce">,
  I32EnumAttrCase<"Prefetch", 2, "prefetch">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_BulkKindAttr : EnumAttr<Kern_Dialect, Kern_BulkKind, "bulk"> {
  let assemblyFormat = "$value";
}

def Kern_TensorMode : I32EnumAttr<"TensorMode", "addressing mode of a tensor copy", [
  I32EnumAttrCase<"Tile", 0, "tile">,
  I32EnumAttrCase<"TileGather4", 1, "tile_gather4">,
  I32EnumAttrCase<"TileScatter4", 2, "tile_scatter4">,
  I32EnumAttrCase<"Im2col", 3, "im2col">,
  I32EnumAttrCase<"Im2colNoOffs", 4, "im2col_no_offs">,
  I32EnumAttrCase<"Im2colW", 5, "im2col_w">,
  I32EnumAttrCase<"Im2colW128", 6, "im2col_w_128">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_TensorModeAttr : EnumAttr<Kern_Dialect, Kern_TensorMode, "tensor_mode"> {
  let assemblyFormat = "$value";
}

def Kern_Completion : I32EnumAttr<"Completion", "mechanism by which an asynchronous operation completes", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"CpAsyncGroup", 1, "cp_async_group">,
  I32EnumAttrCase<"BulkGroup", 2, "bulk_group">,
  I32EnumAttrCase<"WgmmaGroup", 3, "wgmma_group">,
  I32EnumAttrCase<"Mbarrier", 4, "mbarrier">,
  I32EnumAttrCase<"Tcgen05Commit", 5, "tcgen05_commit">,
  I32EnumAttrCase<"Tcgen05Wait", 6, "tcgen05_wait">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_CompletionAttr : EnumAttr<Kern_Dialect, Kern_Completion, "completion"> {
  let assemblyFormat = "$value";
}

def Kern_MatrixFamily : I32EnumAttr<"MatrixFamily", "matrix instruction family", [
  I32EnumAttrCase<"Wmma", 0, "wmma">,
  I32EnumAttrCase<"MmaSync", 1, "mma_sync">,
  I32EnumAttrCase<"Wgmma", 2, "wgmma">,
  I32EnumAttrCase<"Tcgen05", 3, "tcgen05">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_MatrixFamilyAttr : EnumAttr<Kern_Dialect, Kern_MatrixFamily, "family"> {
  let assemblyFormat = "$value";
}

def Kern_OperandSource : I32EnumAttr<"OperandSource", "where a matrix operand is read from", [
  I32EnumAttrCase<"Registers", 0, "registers">,
  I32EnumAttrCase<"Descriptor", 1, "descriptor">,
  I32EnumAttrCase<"TensorMemory", 2, "tensor_memory">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_OperandSourceAttr : EnumAttr<Kern_Dialect, Kern_OperandSource, "source"> {
  let assemblyFormat = "$value";
}

def Kern_ScaleKind : I32EnumAttr<"ScaleKind", "block scaling of a matrix product", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Mxf8f6f4", 1, "mxf8f6f4">,
  I32EnumAttrCase<"Mxf4", 2, "mxf4">,
  I32EnumAttrCase<"Mxf4nvf4", 3, "mxf4nvf4">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_ScaleKindAttr : EnumAttr<Kern_Dialect, Kern_ScaleKind, "scale"> {
  let assemblyFormat = "$value";
}

def Kern_BarrierAction : I32EnumAttr<"BarrierAction", "what a barrier instruction does", [
  I32EnumAttrCase<"Sync", 0, "sync">,
  I32EnumAttrCase<"Arrive", 1, "arrive">,
  I32EnumAttrCase<"Wait", 2, "wait">,
  I32EnumAttrCase<"RedPopc", 3, "red_popc">,
  I32EnumAttrCase<"RedAnd", 4, "red_and">,
  I32EnumAttrCase<"RedOr", 5, "red_or">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_BarrierActionAttr : EnumAttr<Kern_Dialect, Kern_BarrierAction, "barrier_action"> {
  let assemblyFormat = "$value";
}

def Kern_FenceKind : I32EnumAttr<"FenceKind", "what a fence orders", [
  I32EnumAttrCase<"Thread", 0, "thread">,
  I32EnumAttrCase<"Sc", 1, "sc">,
  I32EnumAttrCase<"AcqRel", 2, "acq_rel">,
  I32EnumAttrCase<"Acquire", 3, "acquire">,
  I32EnumAttrCase<"Release", 4, "release">,
  I32EnumAttrCase<"MbarrierInit", 5, "mbarrier_init">,
  I32EnumAttrCase<"ProxyAlias", 6, "proxy_alias">,
  I32EnumAttrCase<"ProxyAsync", 7, "proxy_async">,
  I32EnumAttrCase<"ProxyTensormap", 8, "proxy_tensormap">,
  I32EnumAttrCase<"Wgmma", 9, "wgmma">,
  I32EnumAttrCase<"Tcgen05Before", 10, "tcgen05_before">,
  I32EnumAttrCase<"Tcgen05After", 11, "tcgen05_after">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_FenceKindAttr : EnumAttr<Kern_Dialect, Kern_FenceKind, "fence"> {
  let assemblyFormat = "$value";
}

def Kern_WaitKind : I32EnumAttr<"WaitKind", "how an mbarrier wait behaves", [
  I32EnumAttrCase<"Test", 0, "test">,
  I32EnumAttrCase<"Try", 1, "try">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_WaitKindAttr : EnumAttr<Kern_Dialect, Kern_WaitKind, "wait"> {
  let assemblyFormat = "$value";
}

def Kern_ShuffleMode : I32EnumAttr<"ShuffleMode", "lane exchange", [
  I32EnumAttrCase<"Up", 0, "up">,
  I32EnumAttrCase<"Down", 1, "down">,
  I32EnumAttrCase<"Bfly", 2, "bfly">,
  I32EnumAttrCase<"Idx", 3, "idx">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_ShuffleModeAttr : EnumAttr<Kern_Dialect, Kern_ShuffleMode, "shuffle"> {
  let assemblyFormat = "$value";
}

def Kern_VoteMode : I32EnumAttr<"VoteMode", "warp vote", [
  I32EnumAttrCase<"All", 0, "all">,
  I32EnumAttrCase<"Any", 1, "any">,
  I32EnumAttrCase<"Uni", 2, "uni">,
  I32EnumAttrCase<"Ballot", 3, "ballot">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_VoteModeAttr : EnumAttr<Kern_Dialect, Kern_VoteMode, "vote"> {
  let assemblyFormat = "$value";
}

def Kern_MatchMode : I32EnumAttr<"MatchMode", "warp match", [
  I32EnumAttrCase<"Any", 0, "any">,
  I32EnumAttrCase<"All", 1, "all">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_MatchModeAttr : EnumAttr<Kern_Dialect, Kern_MatchMode, "match"> {
  let assemblyFormat = "$value";
}

def Kern_PrefetchLevel : I32EnumAttr<"PrefetchLevel", "cache level of a prefetch", [
  I32EnumAttrCase<"L1", 0, "l1">,
  I32EnumAttrCase<"L2", 1, "l2">,
  I32EnumAttrCase<"Tensormap", 2, "tensormap">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_PrefetchLevelAttr : EnumAttr<Kern_Dialect, Kern_PrefetchLevel, "level"> {
  let assemblyFormat = "$value";
}

def Kern_RegisterAction : I32EnumAttr<"RegisterAction", "direction of a register reallocation", [
  I32EnumAttrCase<"Inc", 0, "inc">,
  I32EnumAttrCase<"Dec", 1, "dec">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_RegisterActionAttr : EnumAttr<Kern_Dialect, Kern_RegisterAction, "register_action"> {
  let assemblyFormat = "$value";
}

def Kern_GridDependency : I32EnumAttr<"GridDependency", "side of a programmatic dependent launch", [
  I32EnumAttrCase<"Wait", 0, "wait">,
  I32EnumAttrCase<"LaunchDependents", 1, "launch_dependents">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_GridDependencyAttr : EnumAttr<Kern_Dialect, Kern_GridDependency, "grid_dependency"> {
  let assemblyFormat = "$value";
}

def Kern_FuncKind : I32EnumAttr<"FuncKind", "kind of a function", [
  I32EnumAttrCase<"Entry", 0, "entry">,
  I32EnumAttrCase<"Device", 1, "device">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_FuncKindAttr : EnumAttr<Kern_Dialect, Kern_FuncKind, "func_kind"> {
  let assemblyFormat = "$value";
}

def Kern_Linkage : I32EnumAttr<"Linkage", "linkage of a symbol", [
  I32EnumAttrCase<"Internal", 0, "internal">,
  I32EnumAttrCase<"Visible", 1, "visible">,
  I32EnumAttrCase<"External", 2, "external">,
  I32EnumAttrCase<"Weak", 3, "weak">,
  I32EnumAttrCase<"Common", 4, "common">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_LinkageAttr : EnumAttr<Kern_Dialect, Kern_Linkage, "linkage"> {
  let assemblyFormat = "$value";
}

def Kern_ParamKind : I32EnumAttr<"ParamKind", "how a function parameter is passed", [
  I32EnumAttrCase<"Memory", 0, "memory">,
  I32EnumAttrCase<"Register", 1, "register">
]> {
  let cppNamespace = "::d2k::kern";
  let genSpecializedAttr = 0;
}

def Kern_ParamKindAttr : EnumAttr<Kern_Dialect, Kern_ParamKind, "param_kind"> {
  let assemblyFormat = "$value";
}

#endif // D2K_DIALECT_KERN_KERNENUMS_TD
