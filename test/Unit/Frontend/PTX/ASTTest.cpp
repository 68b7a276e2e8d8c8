// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, sizes of variables, and what a mnemonic answers.

#include "PTXTestUtils.h"

#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::ptx;
using namespace d2k::test;

namespace {

TEST(NameTable, InternsOnce) {
  llvm::BumpPtrAllocator arena;
  NameTable names(arena);
  EXPECT_EQ(names.intern(""), Name::None);
  Name a = names.intern("%r1");
  EXPECT_EQ(names.intern(std::string("%r1")), a);
  EXPECT_NE(names.intern("%r2"), a);
  EXPECT_EQ(names.get(a), "%r1");
  // Across several growths, names that share their first eight letters too.
  std::vector<Name> list;
  for (int i = 0; i < 20000; ++i)
    list.push_back(names.intern("register" + std::to_string(i)));
  for (int i = 0; i < 20000; ++i)
    ASSERT_EQ(names.get(list[i]), "register" + std::to_string(i));
}

TEST(VariableDecl, Size) {
  auto module = parseValid(R"(
.version 8.0
.target sm_80
.global .u32 a;
.global .v4 .f32 b;
.global .b8 c[3][5];
.global .u64 d[] = {1, 2, 3};
.extern .shared .b8 e[];
.global .b8 f[4611686018427387904][4611686018427387904];
)");
  std::vector<uint64_t> sizes;
  for (const Variable *variable : module->variables)
    sizes.push_back(variable->decl->getSize());
  EXPECT_EQ(sizes, (std::vector<uint64_t>{4, 16, 15, 24, 0, UINT64_MAX}));
}

const Mnemonic &mnemonicOf(const Module &module) {
  return *collectInstructions(module).back()->mnemonic;
}

TEST(Mnemonic, LongestPrefixIsTheOpcode) {
  auto opcodeOf = [](const char *text) {
    return mnemonicOf(*parseValid(wrapBody(text))).opcode;
  };
  EXPECT_EQ(opcodeOf("cp.async.bulk.commit_group;"),
            Opcode::CpAsyncBulkCommitGroup);
  EXPECT_EQ(opcodeOf("cp.async.commit_group;"), Opcode::CpAsyncCommitGroup);
  EXPECT_EQ(opcodeOf("st.global.u32 [%d0], %r1;"), Opcode::St);
  EXPECT_EQ(opcodeOf("st.bulk [%d0], 8, 0;"), Opcode::StBulk);
  EXPECT_EQ(opcodeOf("fence.proxy.async;"), Opcode::FenceProxy);
  // A part of the opcode that comes later.
  EXPECT_EQ(opcodeOf("mma.sync.aligned.sp.m16n8k16.row.col.f16.f16.f16.f16 "
                     "{%r0, %r1}, {%r2, %r3}, {%r4, %r5}, {%r6, %r7}, %r8, 0;"),
            Opcode::MmaSp);
}

TEST(Mnemonic, Accessors) {
  auto module = parseValid(
      wrapBody("ld.v4.global.nc.L2::128B.f32 {%r0, %r1, %r2, %r3}, [%d0];"));
  const Mnemonic &load = mnemonicOf(*module);
  EXPECT_EQ(load.vectorWidth(), 4u);
  EXPECT_EQ(load.space(), Modifier::Global);
  EXPECT_EQ(load.type(), Modifier::F32);
  EXPECT_EQ(load.type(1), Modifier::Unknown);
  EXPECT_TRUE(load.has(Modifier::L2128B));
  EXPECT_EQ(load.shape(), nullptr);
  EXPECT_FALSE(load.isOpaque());

  module = parseValid(wrapBody(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%r0, %r1, %r2, "
      "%r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1, %r2, %r3};"));
  const Mnemonic &product = mnemonicOf(*module);
  EXPECT_EQ(*product.shape(), (MatrixShape{16, 8, 32}));
  EXPECT_EQ(product.type(2), Modifier::E5m2);
}

TEST(Mnemonic, IsSharedBySpelling) {
  auto module = parseValid(wrapBody("add.u32 %r0, %r1, %r2;\n"
                                    "sub.u32 %r0, %r1, %r2;\n"
                                    "add.u32 %r3, %r4, %r5;"));
  auto list = collectInstructions(*module);
  EXPECT_EQ(list[0]->mnemonic, list[2]->mnemonic);
  EXPECT_NE(list[0]->mnemonic, list[1]->mnemonic);
  EXPECT_EQ(module->numMnemonics, 2u);
}

} // namespace
