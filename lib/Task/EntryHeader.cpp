// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the entry header of a task.

#include "d2k/Task/EntryHeader.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::task;

std::string d2k::task::getEntryName(const Task &task) {
  return "d2k_" + task.name;
}

/// "M,K" for a shape; blanks are left out, so that fields stay in a line.
static std::string getShapeText(const Tensor &tensor) {
  std::string text = "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i != 0)
      text += ',';
    for (char c : tensor.shape[i].getText())
      if (c != ' ')
        text += c;
  }
  return text + "]";
}

/// A comment's text must not end the comment.
static std::string getCommentText(std::string text) {
  for (size_t at = 0; (at = text.find("*/", at)) != std::string::npos;)
    text.insert(at + 1, " ");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// \p text as lines of a `//` comment of at most 80 columns.
static std::string wrapComment(const std::string &text) {
  constexpr size_t kColumns = 80;
  std::string out;
  std::string line = "//";
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty())
      continue;
    if (line.size() + 1 + word.size() > kColumns && line.size() > 2) {
      out += line + "\n";
      line = "//";
    }
    line += " " + word;
  }
  return out + line + "\n";
}

namespace {

struct Field {
  std::string declaration;
  std::string comment;
};

} // namespace

static std::vector<Field> getFields(const Task &task) {
  std::vector<Field> fields;
  for (const Axis &axis : task.axes)
    if (axis.kind != AxisKind::Constant)
      fields.push_back({"int64_t " + axis.name + ";", axis.description});
  if (task.findMachineAxis())
    fields.push_back({"int64_t rank;", "this rank, from 0"});
  auto addTensor = [&](const Tensor &tensor) {
    std::string cType(getCType(tensor.type));
    std::string typeName(getDTypeName(tensor.type));
    if (tensor.isScalar) {
      fields.push_back({cType + " " + tensor.name + ";",
                        typeName + ", " + tensor.description});
      return;
    }
    std::string comment =
        typeName + " " + getShapeText(tensor) + ", " + tensor.description;
    if (tensor.hasPeers) {
      fields.push_back(
          {"const " + cType + " *const *" + tensor.name + ";",
           comment + "; one pointer a rank, the array on the host"});
      return;
    }
    fields.push_back(
        {(tensor.isOutput ? "" : "const ") + cType + " *" + tensor.name + ";",
         comment});
  };
  for (const Tensor &input : task.inputs)
    addTensor(input);
  for (const Tensor &output : task.outputs)
    addTensor(output);
  if (task.symmetric) {
    fields.push_back({"void *const *scratch;",
                      "scratch of every rank, undefined contents; the array "
                      "on the host"});
    fields.push_back({"size_t scratch_bytes;", "size of the above, on each"});
    fields.push_back({"uint32_t *const *signals;",
                      "words of every rank, zero before the first call and "
                      "never reset; the array on the host"});
    fields.push_back({"size_t signal_words;", "number of the above, on each"});
  }
  if (task.hasPrepare()) {
    fields.push_back({"const void *prepared;", "what prepare wrote, or null"});
    fields.push_back({"size_t prepared_bytes;", "size of the above"});
  }
  return fields;
}

std::string d2k::task::generateEntryHeader(const Task &task) {
  std::string entry = getEntryName(task);
  std::string guard;
  for (char c : entry)
    guard += c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  std::string arguments = entry + "_args";

  std::string out =
      "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n//\n";
  out += wrapComment(
      "Entry point of the task " + task.name +
      ", generated from its task.json: " + getCommentText(task.description));
  out += "\n#ifndef " + guard + "_H\n#define " + guard + "_H\n\n";
  out += "#include <cuda_runtime_api.h>\n\n"
         "#include <stddef.h>\n#include <stdint.h>\n\n";
  bool hasMacros = false;
  for (const Axis &axis : task.axes)
    if (axis.kind == AxisKind::Constant) {
      std::string name = guard + "_" + axis.name;
      out += "/* " + getCommentText(axis.description) + " */\n";
      out += "#define " + name + " ((int64_t)" + std::to_string(axis.value) +
             ")\n";
      hasMacros = true;
    }
  if (hasMacros)
    out += "\n";
  out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";

  out +=
      "/* Tensors are in device memory, row-major and contiguous unless their\n"
      "   comment says otherwise, with bases aligned to " +
      std::to_string(kBaseAlignment) + " bytes. */\n";
  out += "typedef struct " + arguments + " {\n";
  std::vector<Field> fields = getFields(task);
  size_t width = 0;
  for (const Field &field : fields)
    width = std::max(width, field.declaration.size());
  for (const Field &field : fields)
    out += "  " + field.declaration +
           std::string(width - field.declaration.size(), ' ') + " /* " +
           getCommentText(field.comment) + " */\n";
  out += "} " + arguments + ";\n\n";

  out += "/* Enqueues one call on `stream` and returns a cudaError. Neither\n"
         "   allocates nor waits. `workspace` may be null when "
         "`workspace_bytes`\n   is 0; it holds arbitrary bytes. */\n";
  std::string open = "int " + entry + "(";
  std::string indent(open.size(), ' ');
  out += open + "const " + arguments + " *args, void *workspace,\n" + indent +
         "size_t workspace_bytes, cudaStream_t stream);\n\n";
  if (task.hasPrepare()) {
    open = "int " + entry + "_prepare(";
    indent.assign(open.size(), ' ');
    out += "/* Optional and untimed: repacks the constant inputs, the only "
           "ones that\n   `args` has then, into `prepared`. */\n";
    out += open + "const " + arguments + " *args, void *prepared,\n" + indent +
           "size_t prepared_bytes);\n\n";
  }
  out += "#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n";
  out += "#endif // " + guard + "_H\n";
  return out;
}
