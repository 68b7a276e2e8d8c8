# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares our reading of a cubin's line tables (d2k-translate --sass-lines)
# with nvdisasm's: the source lines with inlining (-gi) and the line of PTX
# (-gp) of every instruction. nvdisasm prints a stack of lines only when its
# innermost line changes; where it prints none, only that line is compared.
# Line 0 (code that belongs to no line) is left out of a stack.
#
# usage: line_oracle.py D2K-TRANSLATE NVDISASM CUBIN...
# One line a file; exit 1 when one differs.

import re
import subprocess
import sys

SECTION = re.compile(r"^\s*\.section\s+([^,\s]+)")
NOTE = re.compile(r'^\s*//## File "(.*?)", line (\d+)'
                  r'(?: inlined at "(.*?)", line (\d+))?')
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s")
OURS = re.compile(r"^0x([0-9a-f]+) (?:ptx (\d+): )?(.*)$")
FRAME = re.compile(r"^(.*):(\d+)(?: \S+)?$")


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        raise RuntimeError("%s: exit %d: %s" % (
            command[0], done.returncode, done.stderr.strip()[:200]))
    return done.stdout


def readNvdisasm(text):
    """{(section, offset): (stack of (file, line), whether it was printed
    there)}; an empty stack is no line."""
    result = {}
    section, stack, fresh = None, (), True
    for line in text.splitlines():
        if match := SECTION.match(line):
            # Others have data in lines that look like instructions.
            isCode = match[1].startswith(".text.")
            section = match[1] if isCode else None
            stack, fresh = (), True
        elif match := NOTE.match(line):
            if fresh:
                stack, fresh = (), False
            stack += ((match[1], int(match[2])),)
        elif section and (match := INSTRUCTION.match(line)):
            result[section, int(match[1], 16)] = stack, not fresh
            fresh = True
    return result


def readOurs(text, offsets):
    """The same of our output, for the instructions in `offsets`; twice: source
    and PTX."""
    changes = {}
    section = None
    for line in text.splitlines():
        if match := OURS.match(line):
            frames = () if match[3] == "no line" else tuple(
                (FRAME.match(frame)[1], int(FRAME.match(frame)[2]))
                for frame in match[3].split(" < "))
            ptx = int(match[2]) if match[2] else None
            changes[section].append((int(match[1], 16), frames, ptx))
        else:
            section = line
            changes.setdefault(section, [])
    source, ptx = {}, {}
    for section, offset in offsets:
        for start, frames, line in changes.get(section, []):
            if start > offset:
                break
            source[section, offset], ptx[section, offset] = frames, line
    return source, ptx


def compare(translate, nvdisasm, cubin):
    """Number of instructions, and the first difference or None."""
    inlined = readNvdisasm(run([nvdisasm, "-gi", cubin]))
    ptxLines = readNvdisasm(run([nvdisasm, "-gp", cubin]))
    source, ptx = readOurs(run([translate, "--sass-lines", cubin]), inlined)
    for place, (stack, printed) in inlined.items():
        stack = tuple(frame for frame in stack if frame[1] != 0)
        ours = source.get(place, ())
        if ours != stack and (printed or ours[:1] != stack[:1]):
            return len(inlined), "%s+0x%x: source lines %s, nvdisasm -gi %s" % (
                *place, ours, stack)
        line = ptxLines[place][0]
        expected = line[0][1] if line else None
        if ptx.get(place) != expected:
            return len(inlined), "%s+0x%x: PTX line %s, nvdisasm -gp %s" % (
                *place, ptx.get(place), expected)
    return len(inlined), None


def main(arguments):
    if len(arguments) < 3:
        print("usage: line_oracle.py D2K-TRANSLATE NVDISASM CUBIN...",
              file=sys.stderr)
        return 2
    failed = False
    for cubin in arguments[2:]:
        try:
            count, difference = compare(arguments[0], arguments[1], cubin)
        except RuntimeError as error:
            count, difference = 0, str(error)
        failed |= difference is not None
        print("%s: %s, %d instructions%s" % (
            cubin, "FAIL" if difference else "pass", count,
            ": " + difference if difference else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
