// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modifiers of PTX as enumerators of kern: plain switches, so that a modifier
// without a meaning here is visibly without one.

#include "Words.h"

using namespace d2k;
using namespace d2k::lift;
using ptx::Mnemonic;
using ptx::Modifier;
using ptx::ModifierCategory;

kern::ElementType lift::elementOf(Modifier type) {
  using E = kern::ElementType;
  switch (type) {
  case Modifier::Pred:
    return E::Pred;
  case Modifier::S4:
    return E::S4;
  case Modifier::S8:
    return E::S8;
  case Modifier::S16:
    return E::S16;
  case Modifier::S32:
    return E::S32;
  case Modifier::S64:
    return E::S64;
  case Modifier::U4:
    return E::U4;
  case Modifier::U8:
    return E::U8;
  case Modifier::U16:
    return E::U16;
  case Modifier::U32:
    return E::U32;
  case Modifier::U64:
    return E::U64;
  case Modifier::B1:
    return E::B1;
  case Modifier::B8:
    return E::B8;
  case Modifier::B16:
    return E::B16;
  case Modifier::B32:
    return E::B32;
  case Modifier::B64:
    return E::B64;
  case Modifier::B128:
    return E::B128;
  case Modifier::F16:
    return E::F16;
  case Modifier::F16x2:
    return E::F16X2;
  case Modifier::Bf16:
    return E::BF16;
  case Modifier::Bf16x2:
    return E::BF16X2;
  case Modifier::Tf32:
    return E::TF32;
  case Modifier::F32:
    return E::F32;
  case Modifier::F32x2:
    return E::F32X2;
  case Modifier::F64:
    return E::F64;
  case Modifier::S16x2:
    return E::S16X2;
  case Modifier::U16x2:
    return E::U16X2;
  case Modifier::E4m3:
    return E::E4M3;
  case Modifier::E5m2:
    return E::E5M2;
  case Modifier::E2m3:
    return E::E2M3;
  case Modifier::E3m2:
    return E::E3M2;
  case Modifier::E2m1:
    return E::E2M1;
  case Modifier::Ue8m0:
    return E::UE8M0;
  case Modifier::Ue4m3:
    return E::UE4M3;
  case Modifier::E4m3x2:
    return E::E4M3X2;
  case Modifier::E5m2x2:
    return E::E5M2X2;
  case Modifier::E2m3x2:
    return E::E2M3X2;
  case Modifier::E3m2x2:
    return E::E3M2X2;
  case Modifier::E2m1x2:
    return E::E2M1X2;
  case Modifier::Ue8m0x2:
    return E::UE8M0X2;
  case Modifier::E4m3x4:
    return E::E4M3X4;
  case Modifier::E5m2x4:
    return E::E5M2X4;
  case Modifier::E2m3x4:
    return E::E2M3X4;
  case Modifier::E3m2x4:
    return E::E3M2X4;
  case Modifier::E2m1x4:
    return E::E2M1X4;
  case Modifier::B4x16P64:
    return E::B4X16;
  case Modifier::B6x16P32:
    return E::B6X16;
  default:
    return E::NONE;
  }
}

kern::ElementType lift::elementOf(const Mnemonic &mnemonic, unsigned index) {
  return elementOf(mnemonic.type(index));
}

kern::ElementType lift::bitsOf(unsigned bits) {
  switch (bits) {
  case 1:
    return kern::ElementType::Pred;
  case 8:
    return kern::ElementType::B8;
  case 16:
    return kern::ElementType::B16;
  case 32:
    return kern::ElementType::B32;
  case 64:
    return kern::ElementType::B64;
  default:
    return kern::ElementType::B128;
  }
}

kern::Space lift::spaceOf(Modifier space) {
  using S = kern::Space;
  switch (space) {
  case Modifier::Unknown:
    return S::Generic;
  case Modifier::Const:
    return S::Constant;
  case Modifier::Global:
    return S::Global;
  case Modifier::Local:
    return S::Local;
  case Modifier::Param:
  case Modifier::ParamEntry:
  case Modifier::ParamFunc:
    return S::Param;
  case Modifier::Shared:
  case Modifier::SharedCta:
    return S::Shared;
  case Modifier::SharedCluster:
    return S::SharedCluster;
  case Modifier::Tex:
    return S::Global;
  default:
    return S::Unknown;
  }
}

kern::Space lift::spaceOf(const Mnemonic &mnemonic, unsigned index) {
  return spaceOf(mnemonic.space(index));
}

std::optional<kern::Rounding> lift::roundingOf(const Mnemonic &mnemonic) {
  const ptx::ModifierUse *use = mnemonic.find(ModifierCategory::Rounding);
  if (!use)
    return std::nullopt;
  return kern::symbolizeRounding(ptx::getSpelling(use->kind));
}

std::optional<kern::CacheOp> lift::cacheOf(const Mnemonic &mnemonic) {
  for (const ptx::ModifierUse &use : mnemonic.modifiers)
    if (ptx::getCategory(use.kind) == ModifierCategory::Cache)
      if (auto cache = kern::symbolizeCacheOp(ptx::getSpelling(use.kind)))
        return cache;
  return std::nullopt;
}

std::optional<kern::Eviction> lift::evictionOf(const Mnemonic &mnemonic,
                                               unsigned level) {
  for (const ptx::ModifierUse &use : mnemonic.modifiers) {
    if (ptx::getCategory(use.kind) != ModifierCategory::CacheHint)
      continue;
    llvm::StringRef word = ptx::getSpelling(use.kind);
    if (word.consume_front(level == 1 ? "L1::" : "L2::"))
      if (auto eviction = kern::symbolizeEviction(word))
        return eviction;
  }
  return std::nullopt;
}

std::optional<int64_t> lift::l2PrefetchOf(const Mnemonic &mnemonic) {
  if (mnemonic.has(Modifier::L264B))
    return 64;
  if (mnemonic.has(Modifier::L2128B))
    return 128;
  if (mnemonic.has(Modifier::L2256B))
    return 256;
  return std::nullopt;
}

std::optional<kern::Semantics> lift::semanticsOf(const Mnemonic &mnemonic) {
  if (mnemonic.has(Modifier::Volatile))
    return kern::Semantics::Volatile;
  if (mnemonic.has(Modifier::Mmio))
    return kern::Semantics::Mmio;
  const ptx::ModifierUse *use = mnemonic.find(ModifierCategory::Semantics);
  if (!use)
    return std::nullopt;
  switch (use->kind) {
  case Modifier::Weak:
    return kern::Semantics::Weak;
  case Modifier::Relaxed:
    return kern::Semantics::Relaxed;
  case Modifier::Acquire:
    return kern::Semantics::Acquire;
  case Modifier::Release:
    return kern::Semantics::Release;
  case Modifier::AcqRel:
    return kern::Semantics::AcqRel;
  case Modifier::Sc:
    return kern::Semantics::SeqCst;
  default:
    return std::nullopt;
  }
}

std::optional<kern::Scope> lift::scopeOf(const Mnemonic &mnemonic) {
  const ptx::ModifierUse *use = mnemonic.find(ModifierCategory::Scope);
  if (!use)
    return std::nullopt;
  switch (use->kind) {
  case Modifier::Cta:
    return kern::Scope::Cta;
  case Modifier::Cluster:
    return kern::Scope::Cluster;
  case Modifier::Gpu:
  case Modifier::Gl:
    return kern::Scope::Gpu;
  case Modifier::Sys:
    return kern::Scope::Sys;
  default:
    return std::nullopt;
  }
}

std::optional<kern::AtomicFunction> lift::atomicOf(const Mnemonic &mnemonic) {
  for (const ptx::ModifierUse &use : mnemonic.modifiers)
    if (ptx::getCategory(use.kind) == ModifierCategory::Operation)
      if (auto op = kern::symbolizeAtomicFunction(ptx::getSpelling(use.kind)))
        return op;
  return std::nullopt;
}

std::optional<kern::Compare> lift::compareOf(const Mnemonic &mnemonic) {
  // `.lo` and `.hi` are halves of a product elsewhere.
  for (const ptx::ModifierUse &use : mnemonic.modifiers)
    if (ptx::getCategory(use.kind) == ModifierCategory::Compare ||
        use.kind == Modifier::Lo || use.kind == Modifier::Hi)
      return kern::symbolizeCompare(ptx::getSpelling(use.kind));
  return std::nullopt;
}

std::optional<kern::BoolOp> lift::boolOf(const Mnemonic &mnemonic) {
  if (mnemonic.has(Modifier::And))
    return kern::BoolOp::And;
  if (mnemonic.has(Modifier::Or))
    return kern::BoolOp::Or;
  if (mnemonic.has(Modifier::Xor))
    return kern::BoolOp::Xor;
  return std::nullopt;
}

int64_t lift::multiplicityOf(const Mnemonic &mnemonic) {
  for (const ptx::ModifierUse &use : mnemonic.modifiers)
    switch (use.kind) {
    case Modifier::X1:
      return 1;
    case Modifier::X2:
      return 2;
    case Modifier::X4:
      return 4;
    case Modifier::X8:
      return 8;
    case Modifier::X16:
      return 16;
    case Modifier::X32:
      return 32;
    case Modifier::X64:
      return 64;
    case Modifier::X128:
      return 128;
    default:
      break;
    }
  return 1;
}

int64_t lift::ctaGroupOf(const Mnemonic &mnemonic) {
  return mnemonic.has(Modifier::CtaGroup2) ? 2 : 1;
}

kern::ScaleKind lift::scalingOf(const Mnemonic &mnemonic) {
  if (!mnemonic.has(Modifier::BlockScale))
    return kern::ScaleKind::None;
  if (mnemonic.has(Modifier::KindMxf8f6f4))
    return kern::ScaleKind::Mxf8f6f4;
  if (mnemonic.has(Modifier::KindMxf4))
    return kern::ScaleKind::Mxf4;
  if (mnemonic.has(Modifier::KindMxf4nvf4))
    return kern::ScaleKind::Mxf4nvf4;
  return kern::ScaleKind::None;
}
