// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Through which kinds of products a value was made from inputs: a value is seen
// as a sum of terms, a term as a product of loads of inputs. Provenance.h says
// how operations combine them.
//
// Example: mma(a, b) * scale + residual, all loaded, has the terms
// {MmaSync*Mul, 1}.

#ifndef D2K_ANALYSIS_TERMS_H
#define D2K_ANALYSIS_TERMS_H

#include "llvm/ADT/bit.h"

#include <cstdint>
#include <string>

namespace d2k::analysis {

/// Kinds of product a term can go through; see Provenance.h.
enum class ProductClass : uint8_t { Mul, Mac, Wmma, MmaSync, Wgmma, Tcgen05 };

/// A set of terms: bit `m` says that there is a term that went through exactly
/// the product classes of the bit mask `m`.
class Terms {
public:
  constexpr Terms() = default;
  /// One load of an input, through no product.
  static constexpr Terms input() { return Terms(1); }

  bool empty() const { return bits == 0; }
  Terms operator|(Terms other) const { return Terms(bits | other.bits); }
  bool operator==(Terms other) const { return bits == other.bits; }
  /// All products of a term of this and one of `other`, through `through` (a
  /// mask of product classes) as well.
  Terms times(Terms other, unsigned through) const;
  /// Every term that went through Mul, now also as one through Mac.
  Terms summed() const;
  /// Whether some term went through `product`.
  bool has(ProductClass product) const;
  /// Product classes, as a mask, of the terms that compute a result and do not
  /// go through `product`: dot products and other matrix instructions.
  unsigned getRivalsOf(ProductClass product) const;
  /// Whether all terms are plain copies of inputs.
  bool isPlain() const { return bits == 1; }
  /// Calls `fn` with the class mask of each term.
  template <typename Fn>
  void forEach(Fn fn) const {
    for (uint64_t rest = bits; rest; rest &= rest - 1)
      fn(unsigned(llvm::countr_zero(rest)));
  }
  /// "1 + mac + mma_sync*mul": for tests.
  std::string toString() const;

private:
  constexpr explicit Terms(uint64_t bits) : bits(bits) {}
  uint64_t bits = 0;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_TERMS_H
