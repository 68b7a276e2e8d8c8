// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of the translation: statistics, diagnostics, locations read
// back through the helpers of kern.

#include "d2k/Frontend/PTXToKern/Lift.h"

#include "d2k/Dialect/Kern/Kern.h"
#include "d2k/Dialect/Kern/Location.h"
#include "d2k/Frontend/PTX/Parser.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace d2k;

namespace {

class LiftTest : public testing::Test {
protected:
  LiftTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
      messages.push_back(diagnostic.str());
    });
  }

  /// Lifts a kernel with \p body behind declarations of a few registers.
  mlir::OwningOpRef<mlir::ModuleOp> lift(llvm::StringRef body) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                       ".file 1 \"a.cu\"\n.file 2 \"b.cuh\"\n"
                       ".visible .entry k() {\n"
                       ".reg .pred %p<9>; .reg .b32 %r<9>; "
                       ".reg .b64 %d<9>;\n" +
                       body.str() + "\n}\n";
    llvm::MemoryBufferRef buffer(text, "test.ptx");
    ptx::ParseOutcome outcome =
        ptx::parse(buffer, [](const llvm::SMDiagnostic &) {});
    EXPECT_TRUE(outcome.succeeded());
    mlir::OwningOpRef<mlir::ModuleOp> lifted =
        liftToKern(*outcome.module, buffer, context, &statistics);
    EXPECT_TRUE(!lifted || mlir::succeeded(mlir::verify(*lifted)));
    return lifted;
  }

  template <typename OpT>
  OpT first(mlir::ModuleOp module) {
    OpT found;
    module.walk([&](OpT op) {
      if (!found)
        found = op;
    });
    return found;
  }

  mlir::MLIRContext context;
  LiftStatistics statistics;
  std::vector<std::string> messages;
};

TEST_F(LiftTest, countsInstructionsAndOpaqueOnes) {
  auto module = lift("add.u32 %r1, %r2, %r3;\n"
                     "strange.u32 %r1;\nstrange.u32 %r2;\n"
                     "bra $end;\nadd.u32 %r1, %r1, %r1;\n$end:\nret;");
  ASSERT_TRUE(module);
  EXPECT_EQ(statistics.instructions, 6u);
  EXPECT_EQ(statistics.unreachable, 1u);
  EXPECT_EQ(statistics.opaque, 2u);
  EXPECT_EQ(statistics.opaqueByMnemonic["strange.u32"], 2u);
  EXPECT_EQ(statistics.functions, 1u);
  EXPECT_EQ(statistics.blocks, 2u);
  // One remark a spelling.
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "'strange.u32' is not modelled: kept as kern.opaque");
}

TEST_F(LiftTest, oneBranchToNowhereFails) {
  EXPECT_FALSE(lift("bra;"));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "'bra' takes 1 operands, not 0");
}

TEST_F(LiftTest, writesThatFitNoOperationAreOpaque) {
  auto module = lift("selp.b32 {%r1, %r2}, %r3, %r4, %p1;\n"
                     "add.u32 5, %r1, %r2;\nmov.u32 [%d1], %r1;\nret;");
  ASSERT_TRUE(module);
  EXPECT_EQ(statistics.opaque, 3u);
}

TEST_F(LiftTest, opaqueInstructionsWriteWhatTheyName) {
  // The carry and the result of a call cross blocks: each must come from the
  // opaque operation, on the path where that was executed.
  auto module = lift("add.cc.u32 %r1, %r2, %r3;\n@%p1 bra $join;\n"
                     "sub.cc.u32 5, %r1, %r2;\n$join:\n"
                     "addc.u32 %r4, %r1, %r2;\nret;");
  ASSERT_TRUE(module);
  EXPECT_EQ(statistics.opaque, 1u);
  EXPECT_EQ(statistics.blockArguments, 1u);
  kern::OpaqueOp opaque = first<kern::OpaqueOp>(*module);
  ASSERT_EQ(opaque.getOutputs().size(), 1u);
  EXPECT_TRUE(opaque.getOutputs()[0].getType().isInteger(1));

  statistics = {};
  module = lift("call (%r1), k, (%r2);\nbra $next;\n$next:\n"
                "add.u32 %r3, %r1, %r1;\nret;");
  ASSERT_TRUE(module);
  EXPECT_EQ(statistics.opaque, 1u);
  EXPECT_EQ(first<kern::OpaqueOp>(*module).getOutputs().size(), 1u);
}

TEST_F(LiftTest, locationsAreReadBack) {
  auto module = lift(".loc 1 10 2\n"
                     ".loc 2 5 3, function_name $f, inlined_at 1 10 2\n"
                     "  membar.gl;\nret;\n}\n"
                     ".section .debug_str {\n$f:\n.b8 102, 0");
  ASSERT_TRUE(module);
  kern::FenceOp fence = first<kern::FenceOp>(*module);
  ASSERT_TRUE(fence);
  mlir::FileLineColLoc ptx = kern::getPtxLocation(fence.getLoc());
  ASSERT_TRUE(ptx);
  EXPECT_EQ(ptx.getFilename().getValue(), "test.ptx");
  EXPECT_EQ(ptx.getLine(), 10u);
  EXPECT_EQ(ptx.getColumn(), 3u);
  auto stack = kern::getSourceLocations(fence.getLoc());
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0].file.getValue(), "b.cuh");
  EXPECT_EQ(stack[0].line, 5u);
  EXPECT_EQ(stack[0].column, 3u);
  ASSERT_TRUE(stack[0].function);
  EXPECT_EQ(stack[0].function.getValue(), "f");
  EXPECT_EQ(stack[1].file.getValue(), "a.cu");
  EXPECT_EQ(stack[1].line, 10u);
  EXPECT_FALSE(stack[1].function);
}

TEST_F(LiftTest, withoutLineInformationThereIsNoStack) {
  auto module = lift("membar.gl;\nret;");
  ASSERT_TRUE(module);
  mlir::Location loc = first<kern::FenceOp>(*module).getLoc();
  EXPECT_EQ(kern::getPtxLocation(loc).getLine(), 8u);
  EXPECT_TRUE(kern::getSourceLocations(loc).empty());
  EXPECT_FALSE(kern::getSourceLocation(loc));
}

TEST_F(LiftTest, inlinedLocationsKeepBothStacks) {
  mlir::MLIRContext *c = &context;
  auto line = [&](const char *file, unsigned n) {
    return mlir::FileLineColLoc::get(c, file, n, 1);
  };
  mlir::Location callee =
      kern::makeLocation(line("x.ptx", 3), line("f.cu", 30));
  mlir::Location call = kern::makeLocation(line("x.ptx", 9), line("k.cu", 5));
  mlir::Location inlined = kern::makeInlinedLocation(callee, call);
  EXPECT_EQ(kern::getPtxLocation(inlined).getLine(), 3u);
  auto stack = kern::getSourceLocations(inlined);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0].line, 30u);
  EXPECT_EQ(stack[1].line, 5u);
  // A body without line information is at its call.
  stack = kern::getSourceLocations(
      kern::makeInlinedLocation(line("x.ptx", 3), call));
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack[0].line, 5u);
}

} // namespace
