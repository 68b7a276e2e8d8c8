// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A direct interpreter of schemas. One function a group of keywords; each adds
// the faults that it finds, so that one run reports all of them.

#include "d2k/Support/JsonSchema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <regex>
#include <set>

using namespace d2k;
using namespace d2k::json;

namespace {

/// What the value of a keyword is, for the walk that checks a schema.
enum class KeywordShape : uint8_t {
  Plain,     // no schema inside
  One,       // a schema
  List,      // an array of schemas
  Map,       // an object whose values are schemas
  Reference, // "#/$defs/name"
  Pattern,   // a regular expression
};

struct Keyword {
  std::string_view name;
  KeywordShape shape;
};

} // namespace

static constexpr Keyword kKeywords[] = {
    {"$schema", KeywordShape::Plain},
    {"$id", KeywordShape::Plain},
    {"$comment", KeywordShape::Plain},
    {"title", KeywordShape::Plain},
    {"description", KeywordShape::Plain},
    {"default", KeywordShape::Plain},
    {"examples", KeywordShape::Plain},
    {"$defs", KeywordShape::Map},
    {"$ref", KeywordShape::Reference},
    {"type", KeywordShape::Plain},
    {"enum", KeywordShape::Plain},
    {"const", KeywordShape::Plain},
    {"properties", KeywordShape::Map},
    {"patternProperties", KeywordShape::Map},
    {"additionalProperties", KeywordShape::One},
    {"propertyNames", KeywordShape::One},
    {"required", KeywordShape::Plain},
    {"minProperties", KeywordShape::Plain},
    {"items", KeywordShape::One},
    {"prefixItems", KeywordShape::List},
    {"minItems", KeywordShape::Plain},
    {"maxItems", KeywordShape::Plain},
    {"uniqueItems", KeywordShape::Plain},
    {"minimum", KeywordShape::Plain},
    {"maximum", KeywordShape::Plain},
    {"exclusiveMinimum", KeywordShape::Plain},
    {"exclusiveMaximum", KeywordShape::Plain},
    {"minLength", KeywordShape::Plain},
    {"maxLength", KeywordShape::Plain},
    {"pattern", KeywordShape::Pattern},
    {"oneOf", KeywordShape::List},
    {"anyOf", KeywordShape::List},
    {"allOf", KeywordShape::List},
    {"not", KeywordShape::One},
    {"if", KeywordShape::One},
    {"then", KeywordShape::One},
    {"else", KeywordShape::One},
};

/// References may form a cycle that consumes nothing; deeper than any real
/// schema and document together (documents nest kMaxDepth levels at most), and
/// within the stack of a sanitized build.
static constexpr unsigned kMaxValidationDepth = 1024;

/// Faults that check words; more say that the file is of another kind.
static constexpr size_t kMaxReportedFaults = 100;

std::string SchemaError::toString() const {
  return path.empty() ? message : path + ": " + message;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

struct Schema::Impl {
  explicit Impl(Document document) : document(std::move(document)) {}

  Result<void> checkSchema(const Cursor &schema);
  Result<void> checkKeyword(const Cursor &value, KeywordShape shape);
  Result<void> addPattern(const Cursor &at, const std::string &text);

  /// The schema that "#/$defs/name" or "#" names, or null.
  const Value *resolve(std::string_view reference) const;

  Document document;
  std::map<std::string, std::regex, std::less<>> patterns;
};

Schema::Schema(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Schema::Schema(Schema &&) = default;
Schema &Schema::operator=(Schema &&) = default;
Schema::~Schema() = default;

const Value *Schema::Impl::resolve(std::string_view reference) const {
  constexpr std::string_view kPrefix = "#/$defs/";
  const Value &root = document.getValue();
  if (reference == "#")
    return &root;
  if (reference.substr(0, kPrefix.size()) != kPrefix)
    return nullptr;
  const Value *definitions = root.getAsObject()->find("$defs");
  if (!definitions || !definitions->getAsObject())
    return nullptr;
  return definitions->getAsObject()->find(reference.substr(kPrefix.size()));
}

Result<void> Schema::Impl::addPattern(const Cursor &at,
                                      const std::string &text) {
  try {
    patterns.try_emplace(text, text,
                         std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error &error) {
    return at.fail("ill-formed pattern " + describe(Value(text)) + ": " +
                   error.what());
  }
  return {};
}

Result<void> Schema::Impl::checkKeyword(const Cursor &value,
                                        KeywordShape shape) {
  switch (shape) {
  case KeywordShape::Plain:
    return {};
  case KeywordShape::One:
    return checkSchema(value);
  case KeywordShape::List: {
    Result<std::vector<Cursor>> list = value.asArray();
    if (!list)
      return forwardFailure(std::move(list));
    for (const Cursor &element : *list)
      if (Result<void> result = checkSchema(element); !result)
        return result;
    return {};
  }
  case KeywordShape::Map: {
    auto members = value.asObject();
    if (!members)
      return forwardFailure(std::move(members));
    for (const auto &[name, member] : *members)
      if (Result<void> result = checkSchema(member); !result)
        return result;
    return {};
  }
  case KeywordShape::Reference: {
    Result<std::string> reference = value.asString();
    if (!reference)
      return forwardFailure(std::move(reference));
    if (!resolve(*reference))
      return value.fail("the reference " + describe(value.getValue()) +
                        " leads nowhere");
    return {};
  }
  case KeywordShape::Pattern: {
    Result<std::string> pattern = value.asString();
    if (!pattern)
      return forwardFailure(std::move(pattern));
    return addPattern(value, *pattern);
  }
  }
  return {};
}

Result<void> Schema::Impl::checkSchema(const Cursor &schema) {
  if (schema.getValue().getAsBoolean())
    return {};
  auto members = schema.asObject();
  if (!members)
    return forwardFailure(std::move(members));
  for (const auto &[name, value] : *members) {
    const Keyword *keyword =
        std::find_if(std::begin(kKeywords), std::end(kKeywords),
                     [&](const Keyword &known) { return known.name == name; });
    if (keyword == std::end(kKeywords))
      return value.fail("unknown schema keyword");
    if (Result<void> result = checkKeyword(value, keyword->shape); !result)
      return result;
    if (name == "patternProperties")
      for (const Member &member : *value.getValue().getAsObject())
        if (Result<void> result = addPattern(value, member.name); !result)
          return result;
  }
  return {};
}

Result<Schema> Schema::create(Document document) {
  auto impl = std::make_unique<Impl>(std::move(document));
  if (Result<void> result = impl->checkSchema(impl->document.getRoot());
      !result)
    return forwardFailure(std::move(result));
  return Schema(std::move(impl));
}

Result<Schema> Schema::read(const std::string &path) {
  Result<Document> document = Document::read(path);
  if (!document)
    return forwardFailure(std::move(document));
  return create(std::move(*document));
}

//===----------------------------------------------------------------------===//
// Validation
//===----------------------------------------------------------------------===//

namespace {

using Errors = std::vector<SchemaError>;

/// Checks one value; collects faults.
template <typename ImplT>
class Validator {
public:
  explicit Validator(const ImplT &impl) : impl(impl) {}

  void validate(const Value &schema, const Value &value,
                const std::string &path, Errors &errors);

private:
  using Path = const std::string &;

  bool matches(const Value &schema, const Value &value, Path path) {
    Errors errors;
    validate(schema, value, path, errors);
    return errors.empty();
  }

  void checkType(const Object &schema, const Value &value, Path path,
                 Errors &errors);
  void checkValues(const Object &schema, const Value &value, Path path,
                   Errors &errors);
  void checkNumber(const Object &schema, double number, const Value &value,
                   Path path, Errors &errors);
  void checkString(const Object &schema, const std::string &string, Path path,
                   Errors &errors);
  void checkArray(const Object &schema, const Array &array, Path path,
                  Errors &errors);
  void checkObject(const Object &schema, const Object &object, Path path,
                   Errors &errors);
  void checkAlternatives(const Object &schema, const Value &value, Path path,
                         Errors &errors);
  void checkConditions(const Object &schema, const Value &value, Path path,
                       Errors &errors);

  bool matchesPattern(const std::string &pattern, const std::string &text) {
    // std::regex recurses: a limit keeps a hostile string from the stack.
    constexpr size_t kLongest = 4096;
    auto found = impl.patterns.find(pattern);
    return text.size() <= kLongest && found != impl.patterns.end() &&
           std::regex_search(text, found->second);
  }

  const ImplT &impl;
  unsigned depth = 0;
};

} // namespace

static bool hasType(const Value &value, std::string_view type) {
  if (type == "integer") {
    // 2.0 is an integer in JSON Schema.
    std::optional<double> number = value.getAsNumber();
    return number && std::nearbyint(*number) == *number;
  }
  if (type == "number")
    return value.isNumber();
  return getKindName(value.getKind()) == type;
}

/// The strings of a keyword that is a string or an array of strings.
static std::vector<std::string> getStrings(const Value &value) {
  std::vector<std::string> strings;
  if (const std::string *string = value.getAsString())
    strings.push_back(*string);
  if (const Array *array = value.getAsArray())
    for (const Value &element : *array)
      if (const std::string *string = element.getAsString())
        strings.push_back(*string);
  return strings;
}

/// "a", "a or b", "a, b or c".
static std::string joinChoices(const std::vector<std::string> &choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i != 0)
      text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

static std::optional<double> getLimit(const Object &schema,
                                      std::string_view name) {
  const Value *value = schema.find(name);
  return value ? value->getAsNumber() : std::nullopt;
}

template <typename ImplT>
void Validator<ImplT>::checkType(const Object &schema, const Value &value,
                                 Path path, Errors &errors) {
  const Value *type = schema.find("type");
  if (!type)
    return;
  std::vector<std::string> types = getStrings(*type);
  if (std::none_of(types.begin(), types.end(), [&](const std::string &name) {
        return hasType(value, name);
      }))
    errors.push_back({path, "expected " + joinChoices(types) + ", found " +
                                describe(value)});
}

template <typename ImplT>
void Validator<ImplT>::checkValues(const Object &schema, const Value &value,
                                   Path path, Errors &errors) {
  if (const Value *constant = schema.find("const");
      constant && !(*constant == value))
    errors.push_back({path, "expected " + describe(*constant) + ", found " +
                                describe(value)});
  const Value *choices = schema.find("enum");
  if (!choices || !choices->getAsArray())
    return;
  const Array &list = *choices->getAsArray();
  if (std::find(list.begin(), list.end(), value) != list.end())
    return;
  std::vector<std::string> names;
  for (const Value &choice : list)
    names.push_back(dump(choice, false));
  errors.push_back(
      {path, "expected " + joinChoices(names) + ", found " + describe(value)});
}

template <typename ImplT>
void Validator<ImplT>::checkNumber(const Object &schema, double number,
                                   const Value &value, Path path,
                                   Errors &errors) {
  struct Limit {
    std::string_view keyword;
    const char *words;
    bool (*holds)(double, double);
  };
  static constexpr Limit kLimits[] = {
      {"minimum", "at least", [](double a, double b) { return a >= b; }},
      {"maximum", "at most", [](double a, double b) { return a <= b; }},
      {"exclusiveMinimum", "more than",
       [](double a, double b) { return a > b; }},
      {"exclusiveMaximum", "less than",
       [](double a, double b) { return a < b; }},
  };
  for (const Limit &limit : kLimits)
    if (std::optional<double> bound = getLimit(schema, limit.keyword);
        bound && !limit.holds(number, *bound))
      errors.push_back({path, std::string("expected ") + limit.words + " " +
                                  dump(*schema.find(limit.keyword), false) +
                                  ", found " + dump(value, false)});
}

template <typename ImplT>
void Validator<ImplT>::checkString(const Object &schema,
                                   const std::string &string, Path path,
                                   Errors &errors) {
  if (std::optional<double> least = getLimit(schema, "minLength");
      least && double(string.size()) < *least)
    errors.push_back({path, string.empty()
                                ? "must not be empty"
                                : "is too short: " + describe(Value(string))});
  if (std::optional<double> most = getLimit(schema, "maxLength");
      most && double(string.size()) > *most)
    errors.push_back({path, "is too long: " + describe(Value(string))});
  const Value *pattern = schema.find("pattern");
  if (pattern && !matchesPattern(*pattern->getAsString(), string))
    errors.push_back({path, "expected text that matches " +
                                *pattern->getAsString() + ", found " +
                                describe(Value(string))});
}

/// Text that is equal for equal values and for no others.
static std::string getKey(const Value &value) {
  std::string key;
  if (const Array *array = value.getAsArray()) {
    for (const Value &element : *array)
      key += (key.empty() ? '[' : ',') + getKey(element);
    return key + ']';
  }
  if (const Object *object = value.getAsObject()) {
    std::set<std::string> members;
    for (const auto &[name, member] : *object)
      members.insert(dump(Value(name), false) + ':' + getKey(member));
    for (const std::string &member : members)
      key += (key.empty() ? '{' : ',') + member;
    return key + '}';
  }
  // 2.0 equals 2, as long as a double resolves integers.
  constexpr int64_t kExact = int64_t(1) << 53;
  if (const int64_t *integer = value.getAsInteger();
      integer && *integer > -kExact && *integer < kExact)
    return dump(Value(double(*integer)), false);
  return dump(value, false);
}

template <typename ImplT>
void Validator<ImplT>::checkArray(const Object &schema, const Array &array,
                                  Path path, Errors &errors) {
  auto countText = [](double count) {
    return std::to_string(size_t(count)) +
           (count == 1 ? " element" : " elements");
  };
  if (std::optional<double> least = getLimit(schema, "minItems");
      least && double(array.size()) < *least)
    errors.push_back({path, "expected at least " + countText(*least) +
                                ", found " + std::to_string(array.size())});
  if (std::optional<double> most = getLimit(schema, "maxItems");
      most && double(array.size()) > *most)
    errors.push_back({path, "expected at most " + countText(*most) +
                                ", found " + std::to_string(array.size())});
  if (const Value *unique = schema.find("uniqueItems");
      unique && *unique == Value(true)) {
    // By key: a hostile list may have a million elements.
    std::set<std::string> keys;
    for (size_t i = 0; i < array.size(); ++i)
      if (!keys.insert(getKey(array[i])).second)
        errors.push_back(
            {joinIndex(path, i), describe(array[i]) + " is in the list twice"});
  }
  size_t first = 0;
  if (const Value *prefix = schema.find("prefixItems"))
    if (const Array *schemas = prefix->getAsArray())
      for (; first < std::min(schemas->size(), array.size()); ++first)
        validate((*schemas)[first], array[first], joinIndex(path, first),
                 errors);
  if (const Value *items = schema.find("items"))
    for (size_t i = first; i < array.size(); ++i)
      validate(*items, array[i], joinIndex(path, i), errors);
}

template <typename ImplT>
void Validator<ImplT>::checkObject(const Object &schema, const Object &object,
                                   Path path, Errors &errors) {
  if (const Value *required = schema.find("required"))
    for (const std::string &name : getStrings(*required))
      if (!object.find(name))
        errors.push_back({path, "missing member \"" + name + "\""});
  if (std::optional<double> least = getLimit(schema, "minProperties");
      least && double(object.size()) < *least)
    errors.push_back(
        {path, "expected at least " + std::to_string(size_t(*least)) +
                   " members, found " + std::to_string(object.size())});

  const Value *named = schema.find("properties");
  const Value *patterns = schema.find("patternProperties");
  const Value *additional = schema.find("additionalProperties");
  const Value *names = schema.find("propertyNames");
  for (const auto &[name, value] : object) {
    std::string memberPath = joinMember(path, name);
    bool known = false;
    if (const Value *member =
            named ? named->getAsObject()->find(name) : nullptr) {
      known = true;
      validate(*member, value, memberPath, errors);
    }
    if (patterns)
      for (const Member &pattern : *patterns->getAsObject())
        if (matchesPattern(pattern.name, name)) {
          known = true;
          validate(pattern.value, value, memberPath, errors);
        }
    if (names) {
      Errors nameErrors;
      validate(*names, Value(name), memberPath, nameErrors);
      for (const SchemaError &error : nameErrors)
        errors.push_back({error.path, "as a name: " + error.message});
    }
    if (known || !additional)
      continue;
    if (*additional == Value(false)) {
      std::vector<std::string> expected;
      if (named)
        for (const Member &member : *named->getAsObject())
          expected.push_back(member.name);
      errors.push_back(
          {memberPath,
           "unknown member" + (expected.empty()
                                   ? std::string()
                                   : ", expected " + joinChoices(expected))});
    } else {
      validate(*additional, value, memberPath, errors);
    }
  }
}

/// How deep into the document the deepest fault lies: the alternative that got
/// furthest is the one that was meant.
static size_t getDepth(const Errors &errors) {
  size_t deepest = 0;
  for (const SchemaError &error : errors)
    deepest = std::max(deepest, error.path.size());
  return deepest;
}

template <typename ImplT>
void Validator<ImplT>::checkAlternatives(const Object &schema,
                                         const Value &value, Path path,
                                         Errors &errors) {
  if (const Value *all = schema.find("allOf"))
    for (const Value &part : *all->getAsArray())
      validate(part, value, path, errors);
  for (std::string_view keyword : {"anyOf", "oneOf"}) {
    const Value *list = schema.find(keyword);
    if (!list)
      continue;
    size_t matching = 0;
    std::optional<Errors> closest;
    for (const Value &alternative : *list->getAsArray()) {
      Errors faults;
      validate(alternative, value, path, faults);
      if (faults.empty())
        ++matching;
      else if (!closest || getDepth(faults) > getDepth(*closest) ||
               (getDepth(faults) == getDepth(*closest) &&
                faults.size() < closest->size()))
        closest = std::move(faults);
    }
    if (matching == 0 && closest)
      errors.insert(errors.end(), closest->begin(), closest->end());
    else if (matching > 1 && keyword == "oneOf")
      errors.push_back({path, "fits " + std::to_string(matching) +
                                  " forms that exclude each other"});
  }
  if (const Value *excluded = schema.find("not");
      excluded && matches(*excluded, value, path)) {
    const Object *object = excluded->getAsObject();
    const Value *why = object ? object->find("description") : nullptr;
    errors.push_back({path, why && why->getAsString()
                                ? *why->getAsString()
                                : "has a form that is not allowed"});
  }
}

template <typename ImplT>
void Validator<ImplT>::checkConditions(const Object &schema, const Value &value,
                                       Path path, Errors &errors) {
  const Value *condition = schema.find("if");
  if (!condition)
    return;
  const Value *branch =
      schema.find(matches(*condition, value, path) ? "then" : "else");
  if (branch)
    validate(*branch, value, path, errors);
}

template <typename ImplT>
void Validator<ImplT>::validate(const Value &schema, const Value &value,
                                const std::string &path, Errors &errors) {
  if (const bool *allowed = schema.getAsBoolean()) {
    if (!*allowed)
      errors.push_back({path, "is not allowed here"});
    return;
  }
  if (depth >= kMaxValidationDepth) {
    errors.push_back({path, "the schema refers to itself without end"});
    return;
  }
  ++depth;
  const Object &object = *schema.getAsObject();
  if (const Value *reference = object.find("$ref"))
    validate(*impl.resolve(*reference->getAsString()), value, path, errors);
  size_t before = errors.size();
  checkType(object, value, path, errors);
  // A value of the wrong type would only repeat that in other words.
  if (errors.size() == before) {
    checkValues(object, value, path, errors);
    if (std::optional<double> number = value.getAsNumber())
      checkNumber(object, *number, value, path, errors);
    if (const std::string *string = value.getAsString())
      checkString(object, *string, path, errors);
    if (const Array *array = value.getAsArray())
      checkArray(object, *array, path, errors);
    if (const Object *members = value.getAsObject())
      checkObject(object, *members, path, errors);
    // Conditions usually ask for a member whose absence is reported already.
    bool sound = std::none_of(
        errors.begin() + long(before), errors.end(),
        [&](const SchemaError &error) { return error.path == path; });
    if (sound) {
      checkAlternatives(object, value, path, errors);
      checkConditions(object, value, path, errors);
    }
  }
  --depth;
}

std::vector<SchemaError> Schema::validate(const Value &value) const {
  Errors errors;
  Validator<Impl>(*impl).validate(impl->document.getValue(), value, "", errors);
  return errors;
}

Result<void> Schema::check(const Document &document) const {
  std::vector<SchemaError> errors = validate(document.getValue());
  if (errors.empty())
    return {};
  std::string message;
  for (size_t i = 0; i < std::min(errors.size(), kMaxReportedFaults); ++i) {
    if (i != 0)
      message += '\n';
    message += document.getName() + ": " + errors[i].toString();
  }
  if (errors.size() > kMaxReportedFaults)
    message += '\n' + document.getName() + ": and " +
               std::to_string(errors.size() - kMaxReportedFaults) +
               " more faults";
  return fail(FailureKind::Input, std::move(message));
}
