// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What std::map, std::set and their unordered relatives call in libstdc++
// (src/c++98/tree.cc, src/c++11/hashtable_c++0x.cc): insertion into a search
// tree, steps through it, and the choice of a number of buckets. All else of
// these containers has bodies in headers.

#include "Interpreter.h"

#include <algorithm>
#include <array>

using namespace d2k;
using namespace d2k::cuda;

namespace {
/// Nodes of a search tree. Members return null, or do nothing, where an address
/// is not known, and note it.
class Tree {
public:
  explicit Tree(Interpreter &interpreter) : interpreter(interpreter) {}

  Cell *get(Cell *node, llvm::StringRef link) {
    Cell *field = node ? interpreter.findField(node, link) : nullptr;
    if (!field || field->value.kind != Value::Kind::Pointer) {
      isKnown = false;
      return nullptr;
    }
    return interpreter.storage.getTarget(field->value);
  }

  void set(Cell *node, llvm::StringRef link, Cell *to) {
    if (Cell *field = node ? interpreter.findField(node, link) : nullptr)
      interpreter.storage.write(field, Value::makePointer(to));
    else
      isKnown = false;
  }

  bool isRed(Cell *node) {
    Cell *field = node ? interpreter.findField(node, "_M_color") : nullptr;
    isKnown &= field && field->value.isInteger();
    return isKnown && field->value.integer == 0;
  }

  /// Puts `node` below `parent`. The tree is not balanced: its order, all that
  /// a program sees, is the same.
  void insert(bool left, Cell *node, Cell *parent, Cell *header) {
    set(node, "_M_parent", parent);
    set(node, "_M_left", nullptr);
    set(node, "_M_right", nullptr);
    // The header alone is red, which tells it from the root.
    if (Cell *color = node ? interpreter.findField(node, "_M_color") : nullptr)
      interpreter.storage.write(color, Value::makeInteger(1));
    if (left) {
      bool isFirst = get(header, "_M_left") == parent;
      set(parent, "_M_left", node);
      if (parent == header) {
        set(header, "_M_parent", node);
        set(header, "_M_right", node);
      } else if (isFirst) {
        set(header, "_M_left", node);
      }
    } else {
      set(parent, "_M_right", node);
      if (get(header, "_M_right") == parent)
        set(header, "_M_right", node);
    }
  }

  /// The next node in the direction of `ahead`, or the header.
  Cell *step(Cell *node, llvm::StringRef ahead, llvm::StringRef back) {
    // From the header, backwards: the last node.
    if (ahead == "_M_left" && isRed(node))
      return get(node, "_M_right");
    if (Cell *child = get(node, ahead)) {
      while (Cell *next = get(child, back))
        child = next;
      return child;
    }
    Cell *parent = get(node, "_M_parent");
    while (isKnown && parent && node == get(parent, ahead)) {
      node = parent;
      parent = get(parent, "_M_parent");
    }
    // A root without a child ahead: the loop went through the header.
    return isKnown && get(node, ahead) == parent ? node : parent;
  }

  bool isKnown = true;

private:
  Interpreter &interpreter;
};
} // namespace

/// `std::__detail::_Prime_rehash_policy::_M_need_rehash`: whether `count` more
/// elements need more buckets, and how many.
static std::optional<Value> needRehash(Interpreter &interpreter,
                                       const CallSite &call) {
  Cell *policy =
      call.self ? interpreter.storage.getTarget(*call.self) : nullptr;
  Cell *limit =
      policy ? interpreter.findField(policy, "_M_next_resize") : nullptr;
  Cell *factor =
      policy ? interpreter.findField(policy, "_M_max_load_factor") : nullptr;
  Cell *answer = interpreter.storage.make(call.callee->getReturnType());
  std::array<int64_t, 3> numbers = {};
  for (unsigned i = 0; i < 3; ++i) {
    Value value = interpreter.getArgument(call, i);
    if (!value.isInteger() || value.integer < 0)
      return std::nullopt;
    numbers[i] = value.integer;
  }
  auto [buckets, elements, count] = numbers;
  // Another factor is rare, and more elements than these are not modelled.
  static constexpr int64_t kPrimes[] = {13, 29, 59, 127, 257, 541, 1109, 2357};
  if (!limit || !limit->value.isInteger() || !factor ||
      factor->value.kind != Value::Kind::Real || factor->value.real != 1 ||
      !answer->isRecord || answer->children.size() < 2)
    return std::nullopt;
  size_t flag = answer->children.size() - 2;
  auto reply = [&](bool needed, int64_t number) {
    interpreter.storage.write(answer->children[flag],
                              Value::makeInteger(needed));
    interpreter.storage.write(answer->children[flag + 1],
                              Value::makeInteger(number));
    return Value::makeRecord(answer);
  };
  if (elements + count <= limit->value.integer)
    return reply(false, 0);
  int64_t least =
      std::max(elements + count, limit->value.integer ? int64_t(0) : 11);
  if (least < buckets) {
    interpreter.storage.write(limit, Value::makeInteger(buckets));
    return reply(false, 0);
  }
  int64_t wanted = std::max(least + 1, buckets * 2);
  const int64_t *prime =
      std::lower_bound(std::begin(kPrimes), std::end(kPrimes), wanted);
  if (prime == std::end(kPrimes))
    return std::nullopt;
  interpreter.storage.write(limit, Value::makeInteger(*prime));
  return reply(true, *prime);
}

std::optional<Value> d2k::cuda::callContainer(Interpreter &interpreter,
                                              const CallSite &call) {
  if (!call.callee || !llvm::StringRef(call.qualifiedName).starts_with("std::"))
    return std::nullopt;
  auto node = [&](unsigned i) {
    return interpreter.storage.getTarget(interpreter.getArgument(call, i));
  };
  Tree tree(interpreter);
  if (call.name == "_M_need_rehash" && call.arguments.size() == 3)
    return needRehash(interpreter, call);
  if (call.name == "_Rb_tree_insert_and_rebalance" &&
      call.arguments.size() == 4) {
    Value left = interpreter.getArgument(call, 0);
    Cell *added = node(1), *parent = node(2),
         *header = interpreter.getRecord(call, 3);
    if (!left.isInteger() || !added || !parent || !header)
      return std::nullopt;
    tree.insert(left.integer != 0, added, parent, header);
    return tree.isKnown ? std::optional(Value()) : std::nullopt;
  }
  bool isNext = call.name == "_Rb_tree_increment";
  if ((isNext || call.name == "_Rb_tree_decrement") &&
      call.arguments.size() == 1) {
    Cell *next = tree.step(node(0), isNext ? "_M_right" : "_M_left",
                           isNext ? "_M_left" : "_M_right");
    if (tree.isKnown && next)
      return Value::makePointer(next);
  }
  return std::nullopt;
}
