// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks JSON values against JSON Schema, the part of draft 2020-12 that our
// schemas use. Keywords that it does not know are refused when a schema is
// loaded: a misspelt one must not silently check nothing.
//
// Known: type, enum, const, properties, patternProperties, required,
// additionalProperties, propertyNames, minProperties, items, prefixItems,
// minItems, maxItems, uniqueItems, minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, minLength, maxLength, pattern, oneOf, anyOf, allOf, not,
// if, then, else, $ref (within the schema), and the annotations $schema, $id,
// $defs, $comment, title, description, default, examples.

#ifndef D2K_SUPPORT_JSONSCHEMA_H
#define D2K_SUPPORT_JSONSCHEMA_H

#include "d2k/Support/Json.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace d2k::json {

/// One fault of a value.
struct SchemaError {
  /// JSON path of the fault: "properties[3].weight"; empty at the root.
  std::string path;
  /// "expected number, found string \"x\""
  std::string message;

  /// `path: message`, or the message alone at the root.
  std::string toString() const;
};

/// A schema that is ready to check values.
class Schema {
public:
  /// Takes \p document as a schema; fails when it uses unknown keywords,
  /// ill-formed patterns or references that lead nowhere.
  static Result<Schema> create(Document document);
  /// Reads and takes the schema in the file \p path.
  static Result<Schema> read(const std::string &path);

  Schema(Schema &&);
  Schema &operator=(Schema &&);
  ~Schema();

  /// All faults of \p value, in document order; empty when it conforms.
  std::vector<SchemaError> validate(const Value &value) const;

  /// Fails with kind Input and one line a fault, `FILE: PATH: message`, of
  /// which the first hundred are worded.
  Result<void> check(const Document &document) const;

private:
  struct Impl;
  explicit Schema(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace d2k::json

#endif // D2K_SUPPORT_JSONSCHEMA_H
