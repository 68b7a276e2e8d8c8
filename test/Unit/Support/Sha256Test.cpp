// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 against the examples that NIST publishes for FIPS 180-4.

#include "d2k/Support/Sha256.h"

#include "gtest/gtest.h"

using namespace d2k;

TEST(Sha256, PublishedExamples) {
  EXPECT_EQ(sha256Hex(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesDoNotMatter) {
  // 55, 56, 63, 64, 65 bytes: around the borders of padding and block.
  for (size_t length : {55, 56, 63, 64, 65, 119, 128}) {
    std::string text(length, 'x');
    Sha256 hash;
    for (char c : text)
      hash.update(std::string_view(&c, 1));
    Sha256 whole;
    whole.update(text);
    EXPECT_EQ(hash.finish(), whole.finish()) << length;
  }
}
