# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares our reading of machine code with nvdisasm's:
#   registers  every register, predicate and uniform register that an
#              instruction reads and writes (d2k-translate --sass-regs), with the
#              life ranges of `nvdisasm -plr`
#   blocks     basic blocks and edges (--sass-blocks), with `nvdisasm -bbcfg`
#
# What nvdisasm does not say, and is therefore not compared:
#   - calls inside the module: it shows what the callee reads and writes. At
#     others it shows what the interface allows a callee to change, which must
#     be in what we take for changed;
#   - the predicates of a set (PR, UPR): P2R, R2P, UP2UR, UR2UP;
#   - uniform registers from UR63 on;
#   - R254: nvdisasm 13.2 refuses kernels for sm_100a and later that have all 255
#     registers, so that it gets a copy of the file that says 254;
#   - the fourth component that a texture gives, from sm_100 on;
#   - some code that nothing reaches;
#   - the uniform registers of an LDGSTS that has two operands of them, which its
#     text names;
#   - a branch guarded by `@!PT`, which is never taken: it draws its edge;
#   - padding: a branch to itself that nothing reaches, and NOPs, at the end of
#     a section.
#
# usage: sass_oracle.py D2K-TRANSLATE NVDISASM CUBIN...
# One line a file; exit 1 when one differs. Cubins of CUDA 12, of which nvdisasm
# 13 prints no life ranges, are skipped.

import re
import subprocess
import sys
import tempfile

FILES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
MNEMONIC = re.compile(r"(?:@!?U?P\w+\s+)?([A-Z0-9_]+)")
NOT_COMPARED = {"CALL", "P2R", "R2P", "UP2UR", "UR2UP"}
FIRST_UNTRACKED = 63
INSTRUCTION_BYTES = 16
# EIATTR_REGCOUNT of .nv.info: the function's symbol and 255 registers.
ALL_REGISTERS = re.compile(rb"(\x04\x2f\x08\0....)\xff\0\0\0", re.DOTALL)
# LDGSTS [R9+UR0+0x4000], desc[UR1][R94.64]
TWO_UNIFORM = re.compile(r"LDGSTS\S* \[R\w+\+UR.*desc\[UR")
# From sm_100 on nvdisasm leaves out the fourth component of these.
TEXTURES = {"TEX", "TLD", "TLD4", "TXD"}


class NotComparable(RuntimeError):
    """nvdisasm does not say what ours could be compared with."""


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    if "flow analysis is disabled" in done.stderr:
        raise NotComparable(
            "nvdisasm prints neither life ranges nor blocks of a cubin of "
            "CUDA 12 or before: registers and blocks are not compared; it is "
            "disassembled and read like any other")
    if done.returncode != 0:
        raise RuntimeError("%s: exit %d: %s" % (
            command[0], done.returncode, done.stderr.strip()[:200]))
    return done.stdout


def printLifeRanges(nvdisasm, cubin):
    """What nvdisasm says of the life ranges."""
    command = [nvdisasm, "-c", "-plr", "-lrm", "wide"]
    try:
        return run(command + [cubin])
    except RuntimeError as error:
        if "Invalid register count" not in str(error):
            raise
    with open(cubin, "rb") as file:
        content = file.read()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as copy:
        copy.write(ALL_REGISTERS.sub(
            lambda match: match[1] + b"\xfe\0\0\0", content))
        copy.flush()
        return run(command + [copy.name])


def isTracked(register):
    match = re.fullmatch(r"(R|P|UR|UP)(\d+)", register)
    return bool(match) and not (match[1] == "UR" and
                                int(match[2]) >= FIRST_UNTRACKED)


def findColumns(files, numbers):
    """Places of the registers in a line: {column: name}. `files` names the
    register files between bars, `numbers` the registers below them."""
    bars = [i for i, c in enumerate(numbers) if c == "|"]
    columns = {}
    for start, end in zip(bars, bars[1:]):
        prefix = FILES[files[start:end].strip("| ")]
        for match in re.finditer(r"\d+", numbers[start:end]):
            columns[start + match.end() - 1] = prefix + match[0]
    return columns


def readLifeRanges(text):
    """{(function, offset): (instruction, reads, writes)} of `-plr`."""
    result = {}
    function, files, columns, number = None, "", {}, False
    for line in text.splitlines():
        if match := SECTION.match(line):
            function = match[1]
        bar = line.rfind("// |")
        if bar < 0:
            continue
        left, right = line[:bar], line[bar + 3:]
        if re.search(r"\bGPR\b", right):
            files, number = right, True
        elif number:
            columns, number = findColumns(files, right), False
        elif match := INSTRUCTION.match(left):
            marks = {name: right[place] for place, name in columns.items()
                     if place < len(right)}
            result[function, int(match[1], 16)] = (
                match[2],
                {name for name, mark in marks.items() if mark in "vx"},
                {name for name, mark in marks.items() if mark in "^x"})
    return result


def readRegisters(text):
    """The same of our output."""
    result = {}
    for line in text.splitlines():
        if line.startswith("function "):
            function = line[len("function "):]
            continue
        offset, instruction, *rest = line.split(" | ")
        sets = {part.split()[0]: set(filter(isTracked, part.split()[1:]))
                for part in rest}
        result[function, int(offset, 16)] = (
            instruction, sets["reads"], sets["writes"])
    return result


def removePadding(registers, blocks):
    """Takes the padding out of what we read."""
    for function, spans in blocks.items():
        offsets = sorted(offset for name, offset in registers
                         if name == function)
        while offsets and registers[function, offsets[-1]][0] == "NOP":
            del registers[function, offsets.pop()]
        if not offsets:
            continue
        end = offsets[-1]
        spans.update({(first, end): spans.pop((first, last))
                      for first, last in list(spans)
                      if first <= end < last})
        for span in [span for span in spans if span[0] > end]:
            del spans[span]
        reached = set().union(*(
            to for span, to in spans.items() if span[0] != end))
        if spans.get((end, end)) == {end} and end not in reached:
            del spans[end, end]


def removeUnreached(theirs, graph, registers, blocks):
    """Takes blocks that nothing leads to out of what we read, where nvdisasm has
    left them out: of its life ranges, and of its graph."""
    offsets = {}
    for function, offset in registers:
        offsets.setdefault(function, []).append(offset)
    for function, spans in blocks.items():
        reached = {0}.union(*spans.values())
        for first, last in list(spans):
            if first in reached:
                continue
            if (first, last) not in graph.get(function, {}):
                del spans[first, last]
            places = [(function, offset) for offset in offsets.get(function, ())
                      if first <= offset <= last]
            if not any(place in theirs for place in places):
                for place in places:
                    del registers[place]


def compareRegisters(theirs, ours):
    """Number of instructions compared, and the differences in words."""
    compared, differences = 0, []
    for place in sorted(set(theirs) | set(ours)):
        if place not in theirs or place not in ours:
            differences.append("%s+0x%x: only in %s" % (
                *place, "ours" if place in ours else "nvdisasm's"))
            continue
        text, reads, writes = theirs[place]
        mnemonic = MNEMONIC.match(text)[1]
        if mnemonic == "CALL" and ours[place][2]:
            compared += 1
            if missing := writes - ours[place][2]:
                differences.append("%s+0x%x: %s: may change %s, too" % (
                    *place, text, " ".join(sorted(missing))))
        if mnemonic in NOT_COMPARED:
            continue
        compared += 1
        words = []
        for what, their, our in (("reads", reads, ours[place][1]),
                                 ("writes", writes, ours[place][2])):
            if missing := their - our:
                words.append("%s %s, too" % (what, " ".join(sorted(missing))))
            surplus = our - their
            if TWO_UNIFORM.search(text):
                surplus = {name for name in surplus
                           if not name.startswith("UR")}
            if mnemonic in TEXTURES and what == "writes" and \
                    len(surplus) == 1 and len(our) >= 4:
                surplus = set()
            if surplus:
                words.append("%s no %s" % (what, " ".join(sorted(surplus))))
        if words:
            differences.append("%s+0x%x: %s: %s" % (
                *place, text, "; ".join(words)))
    return compared, differences


def readGraph(text, functions):
    """{function: {(first, last): set of the first offsets of successors}} of
    `-bbcfg -poff`. A cluster that is no section is a subroutine in the one
    before."""
    function, node = None, None
    places, edges, labels = {}, [], {}
    for line in text.splitlines():
        if match := re.match(r'subgraph "cluster_(.*)" \{', line):
            if match[1] in functions:
                function = match[1]
            places.setdefault(function, {})
        elif match := re.match(r'"((?:[^"\\]|\\.)*)"(?::\w+)?:\w+ -> '
                               r'"((?:[^"\\]|\\.)*)"', line):
            edges.append((match[1], match[2]))
        elif match := re.match(r'"((?:[^"\\]|\\.)*)"$', line):
            node = match[1]
        elif line.startswith("[label=") and node is not None:
            offsets = [int(number, 16) for number in re.findall(
                r"(?:\{|\||>|\\l)([0-9a-f]{4,}):\\ ", line)]
            if offsets:
                labels[node] = (function, offsets[0], offsets[-1])
                places[function][offsets[0], offsets[-1]] = set()
            node = None
    for source, target in edges:
        if source not in labels or target not in labels:
            continue
        function, first, last = labels[source]
        places[function][first, last].add(labels[target][1])
    return places


def readBlocks(text):
    """The same of our output."""
    places = {}
    for line in text.splitlines():
        if line.startswith("function "):
            blocks = places.setdefault(line[len("function "):], {})
            continue
        span, *edges = line.split(" ")
        first, last = (int(number, 16) for number in span.split(".."))
        blocks[first, last] = {int(number, 16) for number in edges[1::2]}
    return places


def removeNeverTaken(graph, registers):
    """Takes the edges of branches that are never taken out of nvdisasm's
    graph: `@!PT BRA` goes on behind itself only."""
    for function, spans in graph.items():
        firsts = {first for first, _ in spans}
        for (_, last), targets in spans.items():
            text = registers.get((function, last), ("",))[0]
            behind = last + INSTRUCTION_BYTES
            if text.startswith(("@!PT BRA", "@!UPT BRA")) and behind in firsts:
                targets.intersection_update({behind})


def compareBlocks(theirs, ours):
    """Number of blocks, and the differences in words."""
    compared, differences = 0, []
    for function, blocks in sorted(ours.items()):
        graph = theirs.get(function, {})
        compared += len(blocks)
        for span in sorted(set(blocks) | set(graph)):
            where = "%s+0x%x..0x%x" % (function, *span)
            if span not in graph or span not in blocks:
                differences.append("%s: block only in %s" % (
                    where, "ours" if span in blocks else "nvdisasm's"))
            elif blocks[span] != graph[span]:
                differences.append("%s: goes to %s, in nvdisasm's to %s" % (
                    where, *(" ".join("0x%x" % offset for offset in sorted(to))
                             or "nothing"
                             for to in (blocks[span], graph[span]))))
    return compared, differences


def compare(translate, nvdisasm, cubin):
    """Numbers of instructions and of blocks, and all differences."""
    ours = readRegisters(run([translate, "--quiet", "--sass-regs", cubin]))
    blocks = readBlocks(run([translate, "--quiet", "--sass-blocks", cubin]))
    removePadding(ours, blocks)
    theirs = readLifeRanges(printLifeRanges(nvdisasm, cubin))
    graph = readGraph(run([nvdisasm, "-bbcfg", "-poff", cubin]), set(blocks))
    removeUnreached(theirs, graph, ours, blocks)
    removeNeverTaken(graph, ours)
    instructions, differences = compareRegisters(theirs, ours)
    number, more = compareBlocks(graph, blocks)
    return instructions, number, differences + more


def main():
    if len(sys.argv) < 4:
        print("usage: sass_oracle.py D2K-TRANSLATE NVDISASM CUBIN...",
              file=sys.stderr)
        return 2
    translate, nvdisasm, *cubins = sys.argv[1:]
    status = 0
    for cubin in cubins:
        try:
            instructions, blocks, differences = compare(translate, nvdisasm,
                                                        cubin)
        except NotComparable as reason:
            print("skip %s: %s" % (cubin, reason))
            continue
        except RuntimeError as error:
            print("FAIL %s: %s" % (cubin, error))
            status = 1
            continue
        print("%s %s: %d instructions, %d blocks, %d differences" % (
            "FAIL" if differences else "pass", cubin, instructions, blocks,
            len(differences)), flush=True)
        for difference in differences[:20]:
            print("  " + difference)
        status |= bool(differences)
    return status


if __name__ == "__main__":
    sys.exit(main())
