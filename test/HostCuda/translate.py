#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Rewrites what a C++ compiler cannot read of a CUDA source:
#   kernel<<<grid, block>>>(arguments)   a call of d2k::host::launch
#   __shared__ T a[4], b;                references into the block's storage
#   extern __shared__ T a[];             a pointer to the dynamic storage
#   asm("..." : ... : ...);              a call of the PTX emulation (Ptx.h)
# Everything else is left as it is, line by line: the output compiles with
# include/HostCuda.h before it. Headers that end in .cuh and are found in the
# folders after -I are rewritten too, into OUTPUT.cpp.include/, which is to be
# the first folder of the compiler's list.
#
# usage: translate.py [-IFOLDER...] SOURCE.cu OUTPUT.cpp
# Exit code: 0, 1 with a message `file:line: what` for what it cannot do, 3 with
# such a message for a source that needs a GPU.

import os
import re
import shutil
import sys

TOKEN = re.compile(
    r"""
    (?P<space>\s+|\\\n|//[^\n]*|/\*.*?\*/)
  | (?P<raw>(?:u8|u|U|L)?R"(?P<delimiter>[^()\s\\]*)\(.*?\)(?P=delimiter)")
  | (?P<string>(?:u8|u|U|L)?"(?:[^"\\\n]|\\.|\\\n)*")
  | (?P<char>(?:u8|u|U|L)?'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<symbol><<<|>>>|::|->|\[\[|\]\]|\.\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
OPEN = {"(": ")", "[": "]", "{": "}"}


# Inline PTX that has no emulation, as against what somebody forgot.
GPU_ONLY = re.compile(r"\b(wgmma|tcgen05|mbarrier|setmaxnreg|multimem|cp\.async\.bulk|bra)\b")


class Translator:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.tokens = []  # (kind, text, position)
        position = 0
        while position < len(text):
            match = TOKEN.match(text, position)
            kind = match.lastgroup
            if kind == "delimiter":
                kind = "raw"
            if kind != "space":
                self.tokens.append((kind, match.group(), position))
            position = match.end()
        self.edits = []  # (start, end, replacement)

    def fail(self, index, message):
        position = self.tokens[min(index, len(self.tokens) - 1)][2]
        line = self.text.count("\n", 0, position) + 1
        sys.exit(f"{self.path}:{line}: {message}")

    def at(self, index):
        return self.tokens[index][1] if 0 <= index < len(self.tokens) else ""

    def end(self, index):
        return self.tokens[index][2] + len(self.tokens[index][1])

    def source(self, first, last):
        """The text from token `first` to before token `last`, edited."""
        return self.apply(self.tokens[first][2], self.end(last - 1)) if first < last else ""

    def apply(self, start, end):
        parts, position = [], start
        for first, last, replacement in sorted(self.edits):
            if position <= first and last <= end:
                parts += [self.text[position:first], replacement]
                position = last
        parts.append(self.text[position:end])
        return "".join(parts)

    def replace(self, first, last, replacement):
        """Puts `replacement` in place of the tokens from `first` to before
        `last`; lines keep their numbers."""
        start, end = self.tokens[first][2], self.end(last - 1)
        missing = self.text.count("\n", start, end) - replacement.count("\n")
        if missing < 0:
            self.fail(first, "the replacement has more lines than the source")
        self.edits = [e for e in self.edits if not (start <= e[0] and e[1] <= end)]
        # In a macro lines end in a backslash.
        newline = "\\\n" if self.text[start:end].count("\\\n") else "\n"
        self.edits.append((start, end, replacement + newline * missing))

    def close(self, index):
        """The index of what closes the bracket at `index`."""
        depth = 0
        for i in range(index, len(self.tokens)):
            text = self.at(i)
            if text in OPEN:
                depth += 1
            elif text in OPEN.values():
                depth -= 1
                if depth == 0:
                    return i
        self.fail(index, f"'{self.at(index)}' is never closed")

    def open(self, index):
        """The index of the parenthesis that the one at `index` closes."""
        depth = 0
        for i in range(index, -1, -1):
            depth += (self.at(i) == ")") - (self.at(i) == "(")
            if depth == 0:
                return i
        self.fail(index, "')' without '('")

    def split(self, first, last, separator=","):
        """(first, last) of the parts between separators outside of brackets
        and of what looks like template arguments."""
        parts, start, i, angles = [], first, first, 0
        while i < last:
            text = self.at(i)
            if text in OPEN:
                i = self.close(i)
            elif text == "<" and self.tokens[i - 1][0] == "name":
                angles += 1
            elif text in (">", ">>>") and angles:
                angles = max(0, angles - len(text))
            elif text == separator and angles == 0:
                parts.append((start, i))
                start = i + 1
            i += 1
        if first < last:
            parts.append((start, last))
        return parts

    # Kernels ------------------------------------------------------------------

    def kernel_start(self, index):
        """The first token of the expression that ends before `index`."""
        i = index - 1
        if self.at(i) == ")":
            return self.open(i)
        while True:
            if self.at(i) in (">", ">>>"):
                depth = 0
                while i >= 0:
                    text = self.at(i)
                    if text == ")":
                        i = self.open(i)
                    elif text in (">", ">>>"):
                        depth += len(text)
                    elif text in ("<", "<<<"):
                        depth -= len(text)
                    elif text in (";", "{"):
                        self.fail(index, "cannot find the kernel of this launch")
                    if depth == 0:
                        break
                    i -= 1
                i -= 1
            if self.tokens[i][0] != "name":
                self.fail(index, "cannot find the kernel of this launch")
            if self.at(i - 1) == "::":
                if i < 2 or (self.tokens[i - 2][0] != "name" and self.at(i - 2) != ">"):
                    return i - 1
                i -= 2
                continue
            return i

    def launch(self, index):
        last = index + 1
        while self.at(last) != ">>>":
            if self.at(last) in OPEN:
                last = self.close(last)
            if last >= len(self.tokens) or self.at(last) == ";":
                self.fail(index, "'<<<' without '>>>'")
            last += 1
        if self.at(last + 1) != "(":
            self.fail(index, "a launch without arguments")
        close = self.close(last + 1)
        first = self.kernel_start(index)
        kernel = self.source(first, index)
        arguments = self.source(last + 2, close)
        comma = ", " if arguments else ""
        self.replace(
            first,
            close + 1,
            "::d2k::host::launch(::d2k::host::configure("
            f"{self.source(index + 1, last)}), [=](const auto &...d2kArguments) "
            f"{{ {kernel}(d2kArguments...); }}{comma}{arguments})",
        )

    # Shared memory ------------------------------------------------------------

    def shared(self, index):
        first = index
        while first > 0 and self.at(first - 1) not in (";", "{", "}", ":", ")"):
            first -= 1
        # `alignas(16) __shared__ T x` and `__align__(16) __shared__ T x`.
        if self.at(first - 1) == ")":
            i = self.open(first - 1)
            if self.at(i - 1) in ("alignas", "__align__"):
                first = i - 1
                while self.at(first - 1) in ("extern", "static"):
                    first -= 1
        last = index
        while self.at(last) != ";":
            if self.at(last) in OPEN:
                last = self.close(last)
            last += 1
        is_extern = "extern" in (self.at(i) for i in range(first, index + 2))
        words = [
            i
            for i in range(first, last)
            if self.at(i) not in ("extern", "static", "__shared__")
        ]
        if is_extern:
            # extern __shared__ [alignment] T name[];
            name = max(i for i in words if self.tokens[i][0] == "name")
            if self.at(name + 1) != "[":
                self.fail(index, "dynamic shared memory that is no array")
            start = 0
            while self.at(words[start]) in ("alignas", "__align__"):
                start = words.index(self.close(words[start] + 1)) + 1
            kind = " ".join(self.at(i) for i in words[start:] if i < name)
            self.replace(
                first,
                last + 1,
                f"{kind} *{self.at(name)} = static_cast<{kind} *>"
                "(::d2k::host::getDynamicShared());",
            )
            return
        names = []
        for begin, end in self.split(words[0], last):
            name = None
            for i in range(begin, end):
                if self.at(i) in ("[", "=", "{"):
                    break
                if self.at(i) in ("(", "<"):
                    continue
                if self.tokens[i][0] == "name":
                    name = self.at(i)
            names.append(name)
        body = " ".join(self.at(i) for i in words)
        unique = f"d2kShared{self.tokens[index][2]}"
        struct = unique[0].upper() + unique[1:]
        references = "".join(f" auto &{n} = {unique}.{n};" for n in names)
        self.replace(
            first,
            last + 1,
            f"struct {struct} {{ {body}; }}; auto &{unique} = "
            f"::d2k::host::getShared<{struct}>();{references}",
        )

    # PTX ----------------------------------------------------------------------

    def assembly(self, index):
        open_index = index + 1
        while self.at(open_index) in ("volatile", "__volatile__"):
            open_index += 1
        if self.at(open_index) != "(":
            return
        close = self.close(open_index)
        # `::` separates two empty sections.
        sections, start, i = [], open_index + 1, open_index + 1
        while i < close:
            text = self.at(i)
            if text in OPEN:
                i = self.close(i)
            elif text == ":" or (text == "::" and self.tokens[i - 1][0] in ("string", "raw")):
                sections.append((start, i))
                start = i + 1
                if text == "::":
                    sections.append((start, start))
            elif text == "::" and self.at(i - 1) == ")" :
                sections.append((start, i))
                sections.append((i + 1, i + 1))
                start = i + 1
            i += 1
        sections.append((start, close))
        template = self.source(*sections[0])
        if GPU_ONLY.search(template):
            print(f"{self.path}: {template.split()[0]}... runs on a GPU alone", file=sys.stderr)
            sys.exit(3)
        operands = []
        for number, (first, last) in enumerate(sections[1:3]):
            for begin, end in self.split(first, last):
                if self.at(begin) == "[":
                    self.fail(begin, "named operands of asm are not supported")
                constraint = self.at(begin)
                expression = self.source(begin + 2, end - 1)
                kind = "output" if number == 0 else "input"
                letter = constraint.strip('"')[-1]
                access = "update" if constraint.startswith('"+') else kind
                operands.append(f"::d2k::host::ptx::{access}<'{letter}'>({expression})")
        line = self.text.count("\n", 0, self.tokens[index][2]) + 1
        joined = ", ".join(operands)
        self.replace(
            index,
            close + 1,
            "[&] { static const ::d2k::host::ptx::Program d2kProgram("
            f"{template.replace(chr(10), ' ')}, {line}); "
            f"d2kProgram.run({{{joined}}}); }}()",
        )

    def translate(self):
        # From the end, so that what is inside of a replaced part is done first
        # only where it comes later; launches are not nested.
        for index in range(len(self.tokens) - 1, -1, -1):
            text = self.at(index)
            if text in ("asm", "__asm__", "__asm"):
                self.assembly(index)
            elif text == "__shared__":
                self.shared(index)
        for index, (_, text, _) in enumerate(self.tokens):
            if text == "<<<":
                self.launch(index)
        return f'#line 1 "{self.path}"\n' + self.apply(0, len(self.text))


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
TOOLKIT = os.environ.get("D2K_HOST_CUDA_INCLUDE", "/usr/local/cuda/include")
# Of these there are stand-ins where the toolkit has their headers. Of CUB there
# is a sort, in include/cub.
STAND_INS = ("cublasLt.h", "nccl.h", "cub/device/device_radix_sort.cuh", "cub/version.cuh")
# Kernels of these are not there in source, or need the CUDA compiler.
LIBRARIES = re.compile(r"^(cub/|thrust/|cublas|cudnn|nccl|cufft|cusparse)")


def translate(path, output, folders, overlay, done):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for quote, name in INCLUDE.findall(text):
        if name in STAND_INS and any(
            os.path.isfile(os.path.join(TOOLKIT, folder, name))
            for folder in ("", "cccl")
        ):
            continue
        if LIBRARIES.match(name):
            print(f"{path}: includes {name}, which only a GPU has", file=sys.stderr)
            sys.exit(3)
        # The others have declarations alone.
        for folder in [os.path.dirname(path), *folders] if quote == '"' else []:
            header = os.path.join(folder, name)
            if header in done or not os.path.isfile(header):
                continue
            done.add(header)
            target = os.path.join(overlay, name)
            if name.endswith(".cuh"):
                os.makedirs(os.path.dirname(target), exist_ok=True)
            else:
                target = None
            translate(header, target, folders, overlay, done)
            break
    if output:
        rewritten = Translator(path, text).translate()
        with open(output, "w", encoding="utf-8") as file:
            file.write(rewritten)


def main():
    folders = [a[2:] for a in sys.argv[1:] if a.startswith("-I")]
    files = [a for a in sys.argv[1:] if not a.startswith("-I")]
    if len(files) != 2:
        sys.exit(f"usage: {sys.argv[0]} [-IFOLDER...] SOURCE.cu OUTPUT.cpp")
    overlay = files[1] + ".include"
    shutil.rmtree(overlay, ignore_errors=True)
    os.makedirs(overlay)
    translate(files[0], files[1], folders, overlay, set())


if __name__ == "__main__":
    main()
