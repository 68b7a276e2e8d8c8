// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modifiers of PTX as enumerators of kern.

#ifndef D2K_LIB_FRONTEND_PTXTOKERN_WORDS_H
#define D2K_LIB_FRONTEND_PTXTOKERN_WORDS_H

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Frontend/PTX/AST.h"

#include <optional>

namespace d2k::lift {

/// The element type of a Type modifier; NONE for opaque types and for what is
/// not a type.
kern::ElementType elementOf(ptx::Modifier type);

/// The untyped element (`b32`) of \p bits bits; `pred` for 1.
kern::ElementType bitsOf(unsigned bits);

/// The space of a Space modifier; Generic for none (Modifier::Unknown).
kern::Space spaceOf(ptx::Modifier space);

/// The \p index-th type, space, ... of a mnemonic; nothing when it has none.
kern::ElementType elementOf(const ptx::Mnemonic &mnemonic, unsigned index = 0);
kern::Space spaceOf(const ptx::Mnemonic &mnemonic, unsigned index = 0);
std::optional<kern::Rounding> roundingOf(const ptx::Mnemonic &mnemonic);
std::optional<kern::CacheOp> cacheOf(const ptx::Mnemonic &mnemonic);
/// Eviction priority of level 1 or 2.
std::optional<kern::Eviction> evictionOf(const ptx::Mnemonic &mnemonic,
                                         unsigned level);
/// Bytes of `.L2::64B` and the like.
std::optional<int64_t> l2PrefetchOf(const ptx::Mnemonic &mnemonic);
std::optional<kern::Semantics> semanticsOf(const ptx::Mnemonic &mnemonic);
std::optional<kern::Scope> scopeOf(const ptx::Mnemonic &mnemonic);
std::optional<kern::AtomicFunction> atomicOf(const ptx::Mnemonic &mnemonic);
std::optional<kern::Compare> compareOf(const ptx::Mnemonic &mnemonic);
std::optional<kern::BoolOp> boolOf(const ptx::Mnemonic &mnemonic);
/// N of `.xN`; 1 for none.
int64_t multiplicityOf(const ptx::Mnemonic &mnemonic);
/// 2 for `.cta_group::2`, else 1.
int64_t ctaGroupOf(const ptx::Mnemonic &mnemonic);
/// Scaling of `.block_scale` with its `.kind::`.
kern::ScaleKind scalingOf(const ptx::Mnemonic &mnemonic);

} // namespace d2k::lift

#endif // D2K_LIB_FRONTEND_PTXTOKERN_WORDS_H
