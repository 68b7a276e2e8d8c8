// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON as this project uses it: a value type that keeps the order of members,
// a parser whose errors have file, line and column, typed access whose errors
// have the JSON path, and a writer whose output is a function of the value.
//
// Reading looks like this:
//
//   Result<json::Document> document = json::Document::read("rubric.json");
//   Result<json::Cursor> list = document->getRoot().get("properties");
//   Result<double> weight = list->at(3).getNumber("weight");
//   // rubric.json: properties[3].weight: expected number, found string "x"

#ifndef D2K_SUPPORT_JSON_H
#define D2K_SUPPORT_JSON_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace d2k::json {

class Value;

/// The elements of a JSON array.
using Array = std::vector<Value>;

struct Member;

/// The members of a JSON object in the order of insertion; names are unique.
class Object {
public:
  Object();
  Object(std::initializer_list<Member> members);
  // Out of line, because Member is incomplete here.
  Object(const Object &other);
  Object(Object &&other) noexcept;
  Object &operator=(const Object &other);
  Object &operator=(Object &&other) noexcept;
  ~Object();

  /// The value of \p name, or null.
  const Value *find(std::string_view name) const;
  /// Sets \p name, replacing its value or appending a member.
  void set(std::string name, Value value);
  /// Appends a member whose name the caller knows to be new.
  void append(std::string name, Value value);

  const Member *begin() const;
  const Member *end() const;
  size_t size() const;
  bool empty() const { return size() == 0; }

  /// Equality ignores the order of members.
  friend bool operator==(const Object &a, const Object &b);

private:
  std::vector<Member> members;
};

/// What a Value holds. Integers that fit in 64 bits are Integer, all other
/// numbers Real.
enum class Kind : uint8_t {
  Null,
  Boolean,
  Integer,
  Real,
  String,
  Array,
  Object,
};

/// "null", "boolean", "integer", "number", "string", "array", "object".
std::string_view getKindName(Kind kind);

/// Any JSON value.
class Value {
public:
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool boolean) : data(boolean) {}
  Value(int integer) : data(int64_t(integer)) {}
  Value(int64_t integer) : data(integer) {}
  Value(double real) : data(real) {}
  Value(const char *string) : data(std::string(string)) {}
  Value(std::string_view string) : data(std::string(string)) {}
  Value(std::string string) : data(std::move(string)) {}
  Value(Array array) : data(std::move(array)) {}
  Value(Object object) : data(std::move(object)) {}

  Kind getKind() const { return static_cast<Kind>(data.index()); }
  bool isNull() const { return getKind() == Kind::Null; }
  bool isNumber() const {
    return getKind() == Kind::Integer || getKind() == Kind::Real;
  }

  /// The content when it has that kind, else null.
  const bool *getAsBoolean() const { return std::get_if<bool>(&data); }
  const int64_t *getAsInteger() const { return std::get_if<int64_t>(&data); }
  const std::string *getAsString() const {
    return std::get_if<std::string>(&data);
  }
  const Array *getAsArray() const { return std::get_if<Array>(&data); }
  const Object *getAsObject() const { return std::get_if<Object>(&data); }
  Array *getAsArray() { return std::get_if<Array>(&data); }
  Object *getAsObject() { return std::get_if<Object>(&data); }
  /// An integer or real number as double.
  std::optional<double> getAsNumber() const;

  /// Numbers compare by value, whatever their kind.
  friend bool operator==(const Value &a, const Value &b);

private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array,
               Object>
      data;
};

bool operator==(const Object &a, const Object &b);
bool operator==(const Value &a, const Value &b);

/// One member of an Object.
struct Member {
  std::string name;
  Value value;
};

/// Deepest nesting of arrays and objects that parse accepts.
inline constexpr unsigned kMaxDepth = 256;

/// Parses \p text. Errors read `NAME:LINE:COLUMN: message`; besides faults of
/// syntax these are invalid UTF-8, nesting deeper than kMaxDepth and members
/// that are given twice.
Result<Value> parse(std::string_view text, const std::string &name);

/// Writes \p value: two blanks of indentation a level when \p pretty, else one
/// line. Output is ASCII: control characters, and everything beyond ASCII, are
/// escaped, invalid UTF-8 becomes U+FFFD and numbers have the shortest form
/// that reads back alike. Infinite and undefined numbers become null.
std::string dump(const Value &value, bool pretty = true);

/// The value as error messages quote it: `string "x"`, `number 3`, `array`.
std::string describe(const Value &value);

/// A value inside a document, with the path that leads to it. Cheap to copy;
/// must not outlive its document.
class Cursor {
public:
  Cursor(const Value &value, std::string file, std::string path = {})
      : value(&value), file(std::move(file)), path(std::move(path)) {}

  const Value &getValue() const { return *value; }
  /// "properties[3].weight"; empty at the root.
  const std::string &getPath() const { return path; }
  const std::string &getFile() const { return file; }

  /// The member \p name of an object, or the element \p index of an array,
  /// that the caller knows to be there.
  Cursor at(std::string_view name) const;
  Cursor at(size_t index) const;

  /// The member \p name; fails when this is no object or has no such member.
  Result<Cursor> get(std::string_view name) const;
  /// The member \p name, or nothing when there is none.
  std::optional<Cursor> find(std::string_view name) const;

  /// The content as a type; fails when it has another one.
  Result<bool> asBoolean() const;
  Result<int64_t> asInteger() const;
  Result<double> asNumber() const;
  Result<std::string> asString() const;
  Result<std::vector<Cursor>> asArray() const;
  Result<std::vector<std::pair<std::string, Cursor>>> asObject() const;
  /// An array of strings.
  Result<std::vector<std::string>> asStrings() const;

  /// Shorthands: the member \p name as a type.
  Result<bool> getBoolean(std::string_view name) const;
  Result<int64_t> getInteger(std::string_view name) const;
  Result<double> getNumber(std::string_view name) const;
  Result<std::string> getString(std::string_view name) const;
  Result<std::vector<Cursor>> getArray(std::string_view name) const;

  /// `FILE: PATH: message`, kind Input.
  tl::unexpected<Failure> fail(std::string_view message) const;

private:
  tl::unexpected<Failure> failType(std::string_view expected) const;

  const Value *value;
  std::string file;
  std::string path;
};

/// A parsed file. The value lives on the heap, so that cursors stay valid when
/// the document moves.
class Document {
public:
  /// Reads and parses the file \p path.
  static Result<Document> read(const std::string &path);
  /// Parses \p text; \p name stands for the file in messages.
  static Result<Document> parse(std::string_view text, std::string name);

  Cursor getRoot() const { return Cursor(root.front(), name); }
  const Value &getValue() const { return root.front(); }
  const std::string &getName() const { return name; }

private:
  Document(Value value, std::string name);

  std::vector<Value> root;
  std::string name;
};

/// \p path with the member \p name added: `a.b`, or `a["odd name"]`.
std::string joinMember(const std::string &path, std::string_view name);
/// \p path with the element \p index added: `a[3]`.
std::string joinIndex(const std::string &path, size_t index);

} // namespace d2k::json

#endif // D2K_SUPPORT_JSON_H
