// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the lanes of a warp: shuffles, votes, matches, reductions, elections.

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;

static bool liftShuffle(FunctionLifter &lifter,
                        const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 3)
    return false;
  std::optional<kern::ShuffleMode> mode;
  if (instruction.has("IDX"))
    mode = kern::ShuffleMode::Idx;
  else if (instruction.has("UP"))
    mode = kern::ShuffleMode::Up;
  else if (instruction.has("DOWN"))
    mode = kern::ShuffleMode::Down;
  else if (instruction.has("BFLY"))
    mode = kern::ShuffleMode::Bfly;
  if (!mode)
    return false;
  kern::ShuffleOp::Properties properties;
  properties.mode = lifter.attr<kern::ShuffleModeAttr>(*mode);
  SmallVector<Value, 3> inputs;
  for (const Operand *operand : parts.values)
    inputs.push_back(lifter.plain(*operand));
  SmallVector<Dest, 2> results = {lifter.to(*parts.target)};
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      results.push_back(lifter.to(*operand));
  lifter.emit<kern::ShuffleOp>(properties, {3}, inputs, results);
  return true;
}

/// VOTE: the lanes whose predicate holds as a mask, and whether any or all do.
static bool liftVote(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (parts.predicates.size() > 1 ||
      !hasOnly(instruction, {"ANY", "ALL", "EQ"}))
    return false;
  Value predicate = parts.predicates.empty()
                        ? lifter.constant(1, lifter.module.i1)
                        : lifter.predicate(*parts.predicates[0]);
  const Operand *outcome = nullptr;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      outcome = operand;
  bool hasMask = parts.target && !parts.target->reg.isConstant();
  if (hasMask) {
    kern::VoteOp::Properties properties;
    properties.mode = lifter.attr<kern::VoteModeAttr>(kern::VoteMode::Ballot);
    lifter.emit<kern::VoteOp>(properties, {1}, {predicate},
                              {lifter.to(*parts.target)});
  }
  if (outcome) {
    kern::VoteOp::Properties properties;
    properties.mode = lifter.attr<kern::VoteModeAttr>(
        instruction.has("ALL")  ? kern::VoteMode::All
        : instruction.has("EQ") ? kern::VoteMode::Uni
                                : kern::VoteMode::Any);
    lifter.emit<kern::VoteOp>(properties, {1}, {predicate},
                              {lifter.to(*outcome)});
  }
  return hasMask || outcome;
}

static bool liftMatch(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1)
    return false;
  kern::MatchOp::Properties properties;
  properties.mode = lifter.attr<kern::MatchModeAttr>(
      instruction.has("ALL") ? kern::MatchMode::All : kern::MatchMode::Any);
  SmallVector<Dest, 2> results = {lifter.to(*parts.target)};
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      results.push_back(lifter.to(*operand));
  const Operand &value = *parts.values[0];
  lifter.emit<kern::MatchOp>(properties, {1},
                             {lifter.plain(value, value.width == 2 ? 64 : 32)},
                             results);
  return true;
}

/// REDUX and CREDUX: without another function it is a conjunction.
static bool liftReduce(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1)
    return false;
  kern::AtomicFunction function = kern::AtomicFunction::And;
  if (instruction.has("SUM"))
    function = kern::AtomicFunction::Add;
  else if (std::optional<kern::AtomicFunction> named =
               getAtomicFunction(instruction))
    function = *named;
  ElementType type = instruction.has("F32")   ? ElementType::F32
                     : instruction.has("S32") ? ElementType::S32
                                              : ElementType::U32;
  kern::WarpReduceOp::Properties properties;
  properties.op = lifter.attr<kern::AtomicFunctionAttr>(function);
  properties.type = lifter.type(type);
  lifter.emit<kern::WarpReduceOp>(properties, {1},
                                  {lifter.plain(*parts.values[0])},
                                  {lifter.to(*parts.target)});
  return true;
}

static bool liftElect(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (parts.writtenPredicates.size() != 1 ||
      llvm::any_of(parts.predicates,
                   [](const Operand *operand) { return !isTrue(*operand); }))
    return false;
  SmallVector<Dest, 2> results;
  if (parts.target && !parts.target->reg.isConstant())
    results.push_back(lifter.to(*parts.target));
  results.push_back(lifter.to(*parts.writtenPredicates[0]));
  lifter.emit<kern::ElectOp>({}, {1}, {lifter.constant32(0xffffffffu)},
                             results);
  return true;
}

LiftFn sasslift::findWarp(Opcode opcode) {
  switch (opcode) {
  case Opcode::SHFL:
    return liftShuffle;
  case Opcode::VOTE:
  case Opcode::VOTEU:
    return liftVote;
  case Opcode::MATCH:
    return liftMatch;
  case Opcode::REDUX:
  case Opcode::CREDUX:
    return liftReduce;
  case Opcode::ELECT:
    return liftElect;
  default:
    return nullptr;
  }
}
