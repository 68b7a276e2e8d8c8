// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4): identifies inputs and submissions by content.

#ifndef D2K_SUPPORT_SHA256_H
#define D2K_SUPPORT_SHA256_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace d2k {

/// Hashes a message that arrives in pieces.
class Sha256 {
public:
  void update(std::string_view bytes);
  /// The digest of everything so far; the object cannot be used afterwards.
  std::array<uint8_t, 32> finish();

private:
  void compress(const uint8_t *block);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending = {};
  uint64_t length = 0;
};

/// The digest of \p bytes as 64 lower-case hexadecimal digits.
std::string sha256Hex(std::string_view bytes);

} // namespace d2k

#endif // D2K_SUPPORT_SHA256_H
