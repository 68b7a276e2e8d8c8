// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the document of `nvdisasm -json`: an array of a header and a list of
// functions, each with its instructions in order, 16 bytes apart.

#include "JsonReader.h"

#include "d2k/Support/Json.h"

using namespace d2k;
using namespace d2k::sass;

static constexpr uint32_t kInstructionBytes = 16;

/// The text of member \p name, or nothing.
static std::string_view getText(const json::Object &object,
                                std::string_view name) {
  const json::Value *value = object.find(name);
  const std::string *text = value ? value->getAsString() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

static Result<TextFunction> readFunction(const json::Cursor &cursor) {
  TextFunction function;
  Result<std::string> name = cursor.getString("function-name");
  if (!name)
    return forwardFailure(std::move(name));
  function.name = *name;
  Result<int64_t> start = cursor.getInteger("start");
  if (!start)
    return forwardFailure(std::move(start));
  if (*start < 0 || *start > int64_t(UINT32_MAX) / 2 ||
      *start % kInstructionBytes != 0)
    return cursor.at("start").fail(
        "expected a multiple of 16 below 2^31, found " +
        std::to_string(*start));
  function.start = uint32_t(*start);
  Result<json::Cursor> list = cursor.get("sass-instructions");
  if (!list)
    return forwardFailure(std::move(list));
  const json::Array *items = list->getValue().getAsArray();
  if (!items)
    return list->fail("expected array, found " +
                      json::describe(list->getValue()));
  function.instructions.reserve(items->size());
  for (size_t i = 0; i < items->size(); ++i) {
    const json::Object *object = (*items)[i].getAsObject();
    std::string_view mnemonic =
        object ? getText(*object, "opcode") : std::string_view();
    if (mnemonic.empty())
      return list->at(i).fail("expected an instruction with \"opcode\"");
    function.instructions.push_back({getText(*object, "predicate"), mnemonic,
                                     getText(*object, "operands")});
  }
  return function;
}

Result<TextModule> d2k::sass::readDocument(const json::Document &document) {
  TextModule module;
  json::Cursor root = document.getRoot();
  const json::Array *parts = root.getValue().getAsArray();
  if (!parts || parts->size() != 2)
    return root.fail("expected what nvdisasm -json prints: an array of a "
                     "header and a list of functions");
  json::Cursor header = root.at(0);
  Result<json::Cursor> sm = header.get("SM");
  if (!sm)
    return forwardFailure(std::move(sm));
  Result<json::Cursor> version = sm->get("version");
  if (!version)
    return forwardFailure(std::move(version));
  Result<int64_t> major = version->getInteger("major");
  Result<int64_t> minor = version->getInteger("minor");
  if (!major || !minor)
    return forwardFailure(std::move(major ? minor : major));
  if (*major < 0 || *major > 99 || *minor < 0 || *minor > 9)
    return version->fail("no compute capability: " + std::to_string(*major) +
                         "." + std::to_string(*minor));
  module.target = unsigned(*major * 10 + *minor);
  const json::Object &fields = *header.getValue().getAsObject();
  module.disassembler = getText(fields, "Producer");
  if (const json::Value *note = fields.find(".note.nv.tkinfo"))
    if (const json::Object *info = note->getAsObject()) {
      module.producer = getText(*info, "tki_toolVersion");
      module.producerOptions = getText(*info, "tki_toolOptions");
    }
  Result<std::vector<json::Cursor>> functions = root.at(1).asArray();
  if (!functions)
    return forwardFailure(std::move(functions));
  for (const json::Cursor &cursor : *functions) {
    Result<TextFunction> function = readFunction(cursor);
    if (!function)
      return forwardFailure(std::move(function));
    module.functions.push_back(std::move(*function));
  }
  return module;
}

/// Gives targets that are names the offset that they have in \p function.
static void resolveTargets(Function &function) {
  for (Instruction &instruction : function.instructions)
    for (Operand &operand : instruction.operands) {
      if (operand.kind != OperandKind::Target || operand.integer >= 0)
        continue;
      if (operand.name == function.name)
        operand.integer = 0;
      for (const Subroutine &subroutine : function.subroutines)
        if (operand.name == subroutine.name)
          operand.integer = subroutine.offset;
    }
}

Result<Module> d2k::sass::readNvdisasmJson(std::string_view text,
                                           const std::string &name) {
  Result<json::Document> document = json::Document::parse(text, name);
  if (!document)
    return forwardFailure(std::move(document));
  Result<TextModule> read = readDocument(*document);
  if (!read)
    return forwardFailure(std::move(read));

  Module module;
  module.name = name;
  module.target = findTarget(read->target, read->producerOptions);
  module.producer = read->producer;
  module.producerOptions = read->producerOptions;
  module.disassembler = read->disassembler;
  InstructionReader reader(module);
  for (const TextFunction &part : read->functions) {
    // A function that does not begin at 0 is a subroutine of the one before.
    if (part.start == 0) {
      Function &function = module.functions.emplace_back();
      function.name = part.name;
      // The document does not tell kernels from device functions.
      function.isKernel = true;
    } else if (module.functions.empty() ||
               module.functions.back().instructions.empty() ||
               module.functions.back().instructions.back().offset >=
                   part.start) {
      return fail(FailureKind::Input, name + ": function " + part.name +
                                          " starts at offset " +
                                          std::to_string(part.start) +
                                          ", but no function ends before it");
    } else {
      module.functions.back().subroutines.push_back(
          {part.name, part.start,
           uint32_t(part.instructions.size()) * kInstructionBytes});
    }
    Function &function = module.functions.back();
    uint32_t offset = part.start;
    for (const TextInstruction &instruction : part.instructions) {
      function.instructions.push_back(
          reader.read(function.name, offset, instruction.guard,
                      instruction.mnemonic, instruction.operands, {}));
      offset += kInstructionBytes;
    }
  }
  for (Function &function : module.functions) {
    resolveTargets(function);
    buildBlocks(module, function);
  }
  return module;
}
