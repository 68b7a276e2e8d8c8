// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that sees nlohmann/json. Its event parser builds our values, so
// that its exceptions and its value type stay in here; the event interface also
// lets us refuse deep nesting before it becomes recursion.

#include "d2k/Support/Json.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

using namespace d2k;
using namespace d2k::json;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Object::Object() = default;
Object::Object(const Object &other) = default;
Object::Object(Object &&other) noexcept = default;
Object &Object::operator=(const Object &other) = default;
Object &Object::operator=(Object &&other) noexcept = default;
Object::~Object() = default;

Object::Object(std::initializer_list<Member> members) : members(members) {}

const Member *Object::begin() const { return members.data(); }

const Member *Object::end() const { return members.data() + members.size(); }

size_t Object::size() const { return members.size(); }

const Value *Object::find(std::string_view name) const {
  for (const Member &member : members)
    if (member.name == name)
      return &member.value;
  return nullptr;
}

void Object::set(std::string name, Value value) {
  for (Member &member : members)
    if (member.name == name) {
      member.value = std::move(value);
      return;
    }
  append(std::move(name), std::move(value));
}

void Object::append(std::string name, Value value) {
  // Documents of millions of objects have few members each.
  constexpr size_t kFew = 4;
  if (members.empty())
    members.reserve(kFew);
  members.push_back({std::move(name), std::move(value)});
}

bool d2k::json::operator==(const Object &a, const Object &b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](const Member &member) {
           const Value *other = b.find(member.name);
           return other && *other == member.value;
         });
}

bool d2k::json::operator==(const Value &a, const Value &b) {
  if (a.isNumber() && b.isNumber() && a.getKind() != b.getKind())
    return a.getAsNumber() == b.getAsNumber();
  return a.data == b.data;
}

std::optional<double> Value::getAsNumber() const {
  if (const auto *integer = std::get_if<int64_t>(&data))
    return double(*integer);
  if (const auto *real = std::get_if<double>(&data))
    return *real;
  return std::nullopt;
}

std::string_view d2k::json::getKindName(Kind kind) {
  static constexpr std::string_view kNames[] = {
      "null", "boolean", "integer", "number", "string", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

/// \p text as JSON writes it, clipped: one line, whatever it holds.
static std::string quote(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string quoted = dump(Value(text), /*pretty=*/false);
  if (quoted.size() > kLongest) {
    quoted.resize(kLongest);
    quoted += "...\"";
  }
  return quoted;
}

/// The first name, in order, that two members have.
static std::optional<std::string_view> findTwice(const Object &object) {
  std::optional<std::string_view> twice;
  // Most objects have few members, and a hostile one may have millions.
  constexpr size_t kFew = 8;
  if (object.size() <= kFew) {
    for (const Member &member : object)
      for (const Member *before = object.begin(); before != &member; ++before)
        if (before->name == member.name)
          twice = std::min(twice.value_or(member.name),
                           std::string_view(member.name));
    return twice;
  }
  std::vector<std::string_view> names;
  names.reserve(object.size());
  for (const Member &member : object)
    names.push_back(member.name);
  std::sort(names.begin(), names.end());
  if (auto found = std::adjacent_find(names.begin(), names.end());
      found != names.end())
    twice = *found;
  return twice;
}

namespace {

/// Builds a Value from nlohmann's parse events; the first fault stops it.
class Builder final : public nlohmann::json::json_sax_t {
public:
  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(Value(value)); }
  bool number_integer(number_integer_t value) override {
    return add(Value(int64_t(value)));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > uint64_t(INT64_MAX))
      return add(Value(double(value)));
    return add(Value(int64_t(value)));
  }
  bool number_float(number_float_t value, const string_t &) override {
    return add(Value(value));
  }
  bool string(string_t &value) override { return add(Value(std::move(value))); }
  bool binary(binary_t &) override { return false; }

  bool start_object(std::size_t) override { return open(Value(Object())); }
  bool key(string_t &name) override {
    stack.back().name = std::move(name);
    return true;
  }
  bool end_object() override {
    if (std::optional<std::string_view> twice =
            findTwice(*stack.back().value.getAsObject())) {
      fault = "member " + quote(*twice) + " is given twice";
      return false;
    }
    return close();
  }
  bool start_array(std::size_t) override { return open(Value(Array())); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &error) override {
    // "[json.exception...] parse error at line 1, column 2: what is wrong":
    // the position is computed by the caller, who also has the other faults'.
    std::string_view message = error.what();
    faultPosition = position;
    // The library's words hold all of a number or string that it refuses.
    constexpr size_t kLongest = 200;
    auto clip = [](std::string text) {
      if (text.size() > kLongest)
        text = text.substr(0, kLongest) + "...";
      return text;
    };
    constexpr std::string_view kOverflow = "number overflow parsing ";
    if (size_t at = message.find(kOverflow); at != std::string_view::npos) {
      fault = clip("the number is too large for 64 bits of floating point: " +
                   std::string(message.substr(at + kOverflow.size())));
      return false;
    }
    size_t column = message.find("column ");
    if (column != std::string_view::npos) {
      size_t colon = message.find(": ", column);
      if (colon != std::string_view::npos)
        message.remove_prefix(colon + 2);
    }
    fault = clip(std::string(message));
    return false;
  }

  Value takeResult() { return std::move(result); }

  std::string fault;
  std::optional<size_t> faultPosition;

private:
  struct Level {
    Value value;
    std::string name;
  };

  bool open(Value container) {
    if (stack.size() >= kMaxDepth) {
      fault = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    stack.push_back({std::move(container), {}});
    return true;
  }

  bool close() {
    Value value = std::move(stack.back().value);
    stack.pop_back();
    return add(std::move(value));
  }

  bool add(Value value) {
    if (stack.empty()) {
      result = std::move(value);
      return true;
    }
    Level &level = stack.back();
    if (Array *array = level.value.getAsArray())
      array->push_back(std::move(value));
    else
      level.value.getAsObject()->append(std::move(level.name),
                                        std::move(value));
    return true;
  }

  std::vector<Level> stack;
  Value result;
};

/// Iterates over the text and remembers how far the parser has read, which its
/// interface does not tell for faults that the builder finds.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *at, const char **furthest)
      : at(at), furthest(furthest) {}
  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    ++at;
    if (furthest)
      *furthest = at;
    return *this;
  }
  friend bool operator==(const CountingIterator &a, const CountingIterator &b) {
    return a.at == b.at;
  }

private:
  const char *at;
  const char **furthest;
};

} // namespace

Result<Value> d2k::json::parse(std::string_view text, const std::string &name) {
  Builder builder;
  const char *furthest = text.data();
  const char *end = text.data() + text.size();
  bool parsed =
      nlohmann::json::sax_parse(CountingIterator(text.data(), &furthest),
                                CountingIterator(end, nullptr), &builder);
  if (parsed)
    return builder.takeResult();

  // Positions are one past the last character read.
  size_t offset = builder.faultPosition ? *builder.faultPosition
                                        : size_t(furthest - text.data());
  offset = std::min(offset > 0 ? offset - 1 : 0, text.size());
  std::string_view before = text.substr(0, offset);
  size_t line = size_t(std::count(before.begin(), before.end(), '\n')) + 1;
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  std::string message = text.empty() ? "the file is empty, expected JSON"
                                     : std::move(builder.fault);
  return fail(FailureKind::Input, name + ":" + std::to_string(line) + ":" +
                                      std::to_string(offset - lineStart + 1) +
                                      ": " + message);
}

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

static void writeEscape(std::string &out, uint32_t unit) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4)
    out += kDigits[(unit >> shift) & 15];
}

static void writeString(std::string &out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    uint32_t point = decodeUtf8(text);
    switch (point) {
    case '"':
      out += "\\\"";
      continue;
    case '\\':
      out += "\\\\";
      continue;
    case '\n':
      out += "\\n";
      continue;
    case '\t':
      out += "\\t";
      continue;
    default:
      break;
    }
    if (point >= 0x20 && point < 0x7f) {
      out += char(point);
    } else if (point < 0x10000) {
      writeEscape(out, point);
    } else {
      writeEscape(out, 0xd800 + ((point - 0x10000) >> 10));
      writeEscape(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
    }
  }
  out += '"';
}

static void writeNumber(std::string &out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), number);
  std::string_view digits(buffer, size_t(end - buffer));
  out += digits;
  // Keeps the kind: 2.0 must not read back as an integer.
  if (digits.find_first_of(".e") == std::string_view::npos)
    out += ".0";
}

static void writeValue(std::string &out, const Value &value, bool pretty,
                       unsigned depth) {
  auto breakLine = [&](unsigned levels) {
    if (pretty)
      out.append("\n").append(2 * levels, ' ');
  };
  switch (value.getKind()) {
  case Kind::Null:
    out += "null";
    return;
  case Kind::Boolean:
    out += *value.getAsBoolean() ? "true" : "false";
    return;
  case Kind::Integer:
    out += std::to_string(*value.getAsInteger());
    return;
  case Kind::Real:
    writeNumber(out, *value.getAsNumber());
    return;
  case Kind::String:
    writeString(out, *value.getAsString());
    return;
  case Kind::Array: {
    const Array &array = *value.getAsArray();
    out += '[';
    for (size_t i = 0; i < array.size(); ++i) {
      if (i != 0)
        out += pretty ? "," : ", ";
      breakLine(depth + 1);
      writeValue(out, array[i], pretty, depth + 1);
    }
    if (!array.empty())
      breakLine(depth);
    out += ']';
    return;
  }
  case Kind::Object: {
    out += '{';
    bool first = true;
    for (const auto &[name, member] : *value.getAsObject()) {
      if (!first)
        out += pretty ? "," : ", ";
      first = false;
      breakLine(depth + 1);
      writeString(out, name);
      out += ": ";
      writeValue(out, member, pretty, depth + 1);
    }
    if (!first)
      breakLine(depth);
    out += '}';
    return;
  }
  }
}

std::string d2k::json::dump(const Value &value, bool pretty) {
  std::string out;
  writeValue(out, value, pretty, 0);
  if (pretty)
    out += '\n';
  return out;
}

std::string d2k::json::describe(const Value &value) {
  switch (value.getKind()) {
  case Kind::Null:
  case Kind::Array:
  case Kind::Object:
    return std::string(getKindName(value.getKind()));
  case Kind::Boolean:
    return dump(value, false);
  case Kind::Integer:
  case Kind::Real:
    return "number " + dump(value, false);
  case Kind::String:
    break;
  }
  return "string " + quote(*value.getAsString());
}

//===----------------------------------------------------------------------===//
// Typed access
//===----------------------------------------------------------------------===//

std::string d2k::json::joinMember(const std::string &path,
                                  std::string_view name) {
  bool plain =
      !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '-';
      });
  if (!plain) {
    std::string quoted;
    writeString(quoted, name);
    return path + "[" + quoted + "]";
  }
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string d2k::json::joinIndex(const std::string &path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

tl::unexpected<Failure> Cursor::fail(std::string_view message) const {
  std::string text = file + ": ";
  if (!path.empty())
    text += path + ": ";
  return d2k::fail(FailureKind::Input, text += message);
}

tl::unexpected<Failure> Cursor::failType(std::string_view expected) const {
  return fail("expected " + std::string(expected) + ", found " +
              describe(*value));
}

Cursor Cursor::at(std::string_view name) const {
  const Object *object = value->getAsObject();
  assert(object && object->find(name) && "no such member");
  return Cursor(*object->find(name), file, joinMember(path, name));
}

Cursor Cursor::at(size_t index) const {
  const Array *array = value->getAsArray();
  assert(array && index < array->size() && "no such element");
  return Cursor((*array)[index], file, joinIndex(path, index));
}

Result<Cursor> Cursor::get(std::string_view name) const {
  if (!value->getAsObject())
    return failType("object");
  if (std::optional<Cursor> member = find(name))
    return *member;
  return fail("missing member \"" + std::string(name) + "\"");
}

std::optional<Cursor> Cursor::find(std::string_view name) const {
  const Object *object = value->getAsObject();
  const Value *member = object ? object->find(name) : nullptr;
  if (!member)
    return std::nullopt;
  return Cursor(*member, file, joinMember(path, name));
}

Result<bool> Cursor::asBoolean() const {
  if (const bool *boolean = value->getAsBoolean())
    return *boolean;
  return failType("boolean");
}

Result<int64_t> Cursor::asInteger() const {
  if (const int64_t *integer = value->getAsInteger())
    return *integer;
  return failType("integer of 64 bits");
}

Result<double> Cursor::asNumber() const {
  if (std::optional<double> number = value->getAsNumber())
    return *number;
  return failType("number");
}

Result<std::string> Cursor::asString() const {
  if (const std::string *string = value->getAsString())
    return *string;
  return failType("string");
}

Result<std::vector<Cursor>> Cursor::asArray() const {
  const Array *array = value->getAsArray();
  if (!array)
    return failType("array");
  std::vector<Cursor> elements;
  elements.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i)
    elements.push_back(at(i));
  return elements;
}

Result<std::vector<std::pair<std::string, Cursor>>> Cursor::asObject() const {
  const Object *object = value->getAsObject();
  if (!object)
    return failType("object");
  std::vector<std::pair<std::string, Cursor>> members;
  members.reserve(object->size());
  for (const auto &[name, member] : *object)
    members.emplace_back(name, Cursor(member, file, joinMember(path, name)));
  return members;
}

Result<std::vector<std::string>> Cursor::asStrings() const {
  Result<std::vector<Cursor>> elements = asArray();
  if (!elements)
    return forwardFailure(std::move(elements));
  std::vector<std::string> strings;
  for (const Cursor &element : *elements) {
    Result<std::string> string = element.asString();
    if (!string)
      return forwardFailure(std::move(string));
    strings.push_back(std::move(*string));
  }
  return strings;
}

Result<bool> Cursor::getBoolean(std::string_view name) const {
  return get(name).and_then(
      [](const Cursor &member) { return member.asBoolean(); });
}

Result<int64_t> Cursor::getInteger(std::string_view name) const {
  return get(name).and_then(
      [](const Cursor &member) { return member.asInteger(); });
}

Result<double> Cursor::getNumber(std::string_view name) const {
  return get(name).and_then(
      [](const Cursor &member) { return member.asNumber(); });
}

Result<std::string> Cursor::getString(std::string_view name) const {
  return get(name).and_then(
      [](const Cursor &member) { return member.asString(); });
}

Result<std::vector<Cursor>> Cursor::getArray(std::string_view name) const {
  return get(name).and_then(
      [](const Cursor &member) { return member.asArray(); });
}

Document::Document(Value value, std::string name) : name(std::move(name)) {
  root.push_back(std::move(value));
}

Result<Document> Document::read(const std::string &path) {
  Result<std::string> text = readFile(path);
  if (!text)
    return forwardFailure(std::move(text));
  return parse(*text, path);
}

Result<Document> Document::parse(std::string_view text, std::string name) {
  Result<Value> value = json::parse(text, name);
  if (!value)
    return forwardFailure(std::move(value));
  return Document(std::move(*value), std::move(name));
}
