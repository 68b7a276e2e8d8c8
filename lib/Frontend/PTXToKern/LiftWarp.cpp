// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exchange between the lanes of a warp.

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

/// `elect.sync d|p, mask`: a lane that nobody wants is no result.
static bool liftElect(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::ElectOp>(decoded);
  const ptx::Operand &target = instruction.operands[0];
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], lifter.module.i32));
  if (target.is(OperandKind::Pair)) {
    if (!target.elements()[0].is(OperandKind::Sink))
      lifter.addResults(target.elements()[0], lifter.module.i32);
    lifter.addResults(target.elements()[1], lifter.module.i1);
  } else {
    lifter.addResults(target, lifter.module.i1);
  }
  lifter.finish<kern::ElectOp>(properties, {1}, decoded);
  return true;
}

static bool liftActiveMask(FunctionLifter &lifter,
                           const ptx::Instruction &instruction,
                           const Decoded &decoded) {
  auto properties = copyProperties<kern::ActiveMaskOp>(decoded);
  lifter.addResults(instruction.operands[0], decoded.sink);
  lifter.finish<kern::ActiveMaskOp>(properties, {}, decoded);
  return true;
}

static bool decodeShuffle(Decoder &decoder) {
  kern::ShuffleMode mode;
  if (decoder.has(Modifier::Up))
    mode = kern::ShuffleMode::Up;
  else if (decoder.has(Modifier::Down))
    mode = kern::ShuffleMode::Down;
  else if (decoder.has(Modifier::Bfly))
    mode = kern::ShuffleMode::Bfly;
  else if (decoder.has(Modifier::Idx))
    mode = kern::ShuffleMode::Idx;
  else
    return false;
  auto &properties =
      decoder.make<kern::ShuffleOp>(liftCompute<kern::ShuffleOp>);
  properties.mode = decoder.attr<kern::ShuffleModeAttr>(mode);
  return true;
}

static bool decodeVote(Decoder &decoder) {
  if (decoder.mnemonic.opcode == Opcode::Activemask) {
    decoder.make<kern::ActiveMaskOp>(liftActiveMask);
    return true;
  }
  if (decoder.mnemonic.opcode == Opcode::Match) {
    auto &properties = decoder.make<kern::MatchOp>(liftCompute<kern::MatchOp>);
    properties.mode = decoder.attr<kern::MatchModeAttr>(
        decoder.has(Modifier::All) ? kern::MatchMode::All
                                   : kern::MatchMode::Any);
    decoder.out.immediate[0] = decoder.registerOf(elementOf(decoder.mnemonic));
    return true;
  }
  kern::VoteMode mode;
  if (decoder.has(Modifier::All))
    mode = kern::VoteMode::All;
  else if (decoder.has(Modifier::Any))
    mode = kern::VoteMode::Any;
  else if (decoder.has(Modifier::Uni))
    mode = kern::VoteMode::Uni;
  else if (decoder.has(Modifier::Ballot))
    mode = kern::VoteMode::Ballot;
  else
    return false;
  auto &properties = decoder.make<kern::VoteOp>(liftCompute<kern::VoteOp>);
  properties.mode = decoder.attr<kern::VoteModeAttr>(mode);
  decoder.out.immediate[0] = decoder.integer(1);
  decoder.out.sink = decoder.integer(mode == kern::VoteMode::Ballot ? 32 : 1);
  return true;
}

static bool decodeWarpReduce(Decoder &decoder) {
  std::optional<kern::AtomicFunction> function = atomicOf(decoder.mnemonic);
  if (!function)
    return false;
  auto &properties =
      decoder.make<kern::WarpReduceOp>(liftCompute<kern::WarpReduceOp>);
  properties.op = decoder.attr<kern::AtomicFunctionAttr>(*function);
  properties.type = decoder.element();
  return true;
}

bool lift::decodeWarp(Decoder &decoder) {
  switch (ptx::getClass(decoder.mnemonic.opcode)) {
  case OpcodeClass::Shuffle:
    return decodeShuffle(decoder);
  case OpcodeClass::Vote:
    return decodeVote(decoder);
  case OpcodeClass::WarpReduce:
    return decodeWarpReduce(decoder);
  case OpcodeClass::Elect:
    decoder.make<kern::ElectOp>(liftElect);
    return true;
  default:
    return false;
  }
}
