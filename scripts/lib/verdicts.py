# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares what d2k-analyze says about the kernels of test/Verdicts with the
# verdicts in their sources; scripts/verdicts describes the options,
# docs/TestingGuide.md the syntax.

import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# How a file can be read, with the tiers that d2k-analyze is asked for.
READINGS = {
    "ptx": "source,ptx",
    "sass": "source,ptx,sass",
    "cubin": "sass",
    "host": "source,ptx",
}
VERDICTS = ("present", "absent", "not-present")
# What can come out of a comparison. Undecided is never a mismatch.
AS_EXPECTED, FALSE, MISSED, UNDECIDED = OUTCOMES = (
    "as expected", "false fact", "missed fact", "undecided")
UNCLASSIFIED = "not classified"

SETTINGS = re.compile(r"// VERDICTS((?: \w+=\S+)+)$")
EXPECTATION = re.compile(
    r"// EXPECT (?P<name>\w+): (?P<property>\w+)"
    r"(?: in (?P<readings>\w+(?:,\w+)*))? (?P<verdict>[\w-]+)"
    r"(?P<attributes>(?: \w+=[^\s:]+)*)(?::(?: (?P<why>.*))?)?$")
CONTINUED = re.compile(r"//   +(\S.*)$")
KNOWN = re.compile(r"(?P<key>\S+ \w+ \w+ (?:present|absent|not-present)"
                   r"(?: \w+=\S+)*) \((?P<reading>\w+)\): "
                   r"(?P<outcome>false fact|missed fact)$")


def fail(status, message, *remedies):
    print("error: %s" % message, file=sys.stderr)
    for remedy in remedies:
        print("       %s" % remedy, file=sys.stderr)
    sys.exit(status)


class Unreadable(Exception):
    """A source that cannot be read in some way; the others can."""


class Expectation:
    """One verdict of a source."""

    def __init__(self, file, line, match):
        self.file, self.line = file, line
        self.name, self.property = match["name"], match["property"]
        self.verdict = match["verdict"]
        self.attributes = dict(
            pair.split("=", 1) for pair in match["attributes"].split())
        self.readings = match["readings"]
        self.why = match["why"] or ""

    @property
    def expected(self):
        return self.verdict + "".join(
            " %s=%s" % pair for pair in self.attributes.items())

    @property
    def key(self):
        """What the list of known mismatches calls it."""
        return "%s %s %s %s" % (os.path.basename(self.file), self.name,
                                self.property, self.expected)


class Source:
    """A file of kernels: how to read it, and what is expected of it."""

    def __init__(self, path, properties):
        self.path = path
        self.settings = {}
        self.expectations = []
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
        last = None
        for number, line in enumerate(lines, 1):
            continued = CONTINUED.match(line)
            if last is not None and continued:
                last.why = (last.why + " " + continued[1]).strip()
                continue
            last = None
            if line.startswith("// VERDICTS"):
                self.readSettings(number, line)
            elif line.startswith("// EXPECT"):
                last = self.readExpectation(number, line, properties)
        if not self.settings:
            self.fault(1, "no line `// VERDICTS arch=sm_90a entry=run "
                       "read=ptx`")
        for expectation in self.expectations:
            if not expectation.why:
                self.fault(expectation.line, "a verdict needs its reason "
                           "behind a colon")

    def fault(self, line, message):
        fail(2, "%s:%d: %s" % (self.path, line, message),
             "docs/TestingGuide.md has the syntax")

    def readSettings(self, number, line):
        match = SETTINGS.match(line)
        if not match or self.settings:
            self.fault(number, "expected one line `// VERDICTS arch=sm_90a "
                       "entry=run read=ptx,cubin`")
        self.settings = dict(
            pair.split("=", 1) for pair in match[1].split())
        unknown = set(self.settings) - {"arch", "entry", "read", "flags"}
        if unknown:
            self.fault(number, "unknown setting '%s'" % min(unknown))
        self.readings = self.settings.get("read", "ptx").split(",")
        for reading in self.readings:
            if reading not in READINGS:
                self.fault(number, "unknown way of reading '%s'; there are %s"
                           % (reading, ", ".join(READINGS)))
        if "arch" not in self.settings:
            self.fault(number, "arch=sm_... is missing")
        self.flags = self.settings.get("flags", "").split(",")
        self.flags = [flag for flag in self.flags if flag]

    def readExpectation(self, number, line, properties):
        match = EXPECTATION.match(line)
        if not match:
            self.fault(number, "expected `// EXPECT kernel: property "
                       "present|absent|not-present [attribute=value...]: why`")
        result = Expectation(self.path, number, match)
        if result.verdict not in VERDICTS:
            self.fault(number, "unknown verdict '%s'; there are %s"
                       % (result.verdict, ", ".join(VERDICTS)))
        if result.property not in properties:
            self.fault(number, "unknown property '%s'" % result.property)
        for reading in (result.readings or "ptx").split(","):
            if reading not in READINGS:
                self.fault(number, "unknown way of reading '%s'; there are %s"
                           % (reading, ", ".join(READINGS)))
        self.expectations.append(result)
        return result


class Scope:
    """What a report says about one kernel, or about a host function and the
    kernels that it launches."""

    def __init__(self, *parts):
        self.facts, self.open, self.others = [], [], []
        for part in parts:
            # Facts of a kernel whose result is not used, or perhaps not, are no
            # evidence, or perhaps not.
            reachable = part.get("reachable")
            why = part.get("not_launched_because")
            if why and reachable is None:
                self.open += [{"property": fact["property"], "reason": why}
                              for fact in part.get("facts", [])]
            elif why:
                self.others += [{"property": fact["property"], "reason": why}
                                for fact in part.get("facts", [])]
            else:
                self.facts += part.get("facts", [])
            self.open += part.get("undecided", [])
            self.others += (part.get("near_misses", [])
                            + part.get("incomplete", []))

    def judge(self, expectation, neighbours):
        """The outcome and what was got. `neighbours` are the expectations of
        the same property."""
        def about(entries):
            return [entry for entry in entries
                    if entry["property"] == expectation.property]
        facts = about(self.facts)
        wanted = expectation.attributes
        hits = [fact for fact in facts if fits(fact, wanted)]
        isOpen = bool(about(self.open))
        got = "; ".join(sorted({describe(fact) for fact in facts}))
        reasons = "; ".join(sorted({
            entry["reason"] for entry in about(self.open + self.others)}))
        if expectation.verdict == "present":
            if hits:
                return AS_EXPECTED, got
            if isOpen:
                return UNDECIDED, reasons
            # An attribute that is not known is no claim.
            if any(fits(fact, wanted, lenient=True) for fact in facts):
                return UNDECIDED, got
            # What another expectation asked for is not in this one's place.
            if any(not any(e is not expectation and e.verdict == "present"
                           and fits(fact, e.attributes) for e in neighbours)
                   for fact in facts):
                return FALSE, got
            return MISSED, "absent" + (": " + reasons if reasons else "")
        if hits:
            return FALSE, got
        if isOpen and expectation.verdict == "absent":
            return UNDECIDED, reasons
        return AS_EXPECTED, reasons


def text(value):
    """A value of JSON as verdicts write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "%g" % value
    return str(value)


def fits(fact, attributes, lenient=False):
    """Whether a fact has these attributes; lenient: or does not know them."""
    return all(text(fact["attributes"].get(name)) == value
               or lenient and fact["attributes"].get(name) is None
               for name, value in attributes.items())


def describe(fact):
    return " ".join(["present"] + [
        "%s=%s" % (name, text(value))
        for name, value in sorted(fact["attributes"].items())]
        + ["(%s)" % ", ".join(fact["tiers"])])


def baseName(demangled):
    """`f` of `void space::f<int>(float*)`."""
    return re.sub(r"[<(].*", "", demangled).split()[-1].split("::")[-1]


class Analyzer:
    def __init__(self, build):
        self.tool = os.path.join(build, "bin", "d2k-analyze")
        if not os.access(self.tool, os.X_OK):
            fail(4, "d2k-analyze not found in %s/bin" % build,
                 "build it: ninja -C %s d2k-analyze, or name the build folder "
                 "with --build" % build)
        listed = self.run(["--list-properties=json"])
        self.properties = {
            entry["id"]: entry
            for entry in json.loads(listed.stdout)["properties"]}

    def run(self, arguments):
        return subprocess.run([self.tool] + arguments, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)

    def report(self, source, reading, arguments):
        done = self.run(["--format", "json", "--facts"] + arguments)
        if not done.stdout.strip():
            raise Unreadable("cannot be analysed (%s)\n%s" % (
                reading, done.stderr.strip()[:2000]))
        return json.loads(done.stdout)

    def readSource(self, source, reading, entry):
        arguments = ["--arch", source.settings["arch"],
                     "--tiers", READINGS[reading]]
        if entry:
            arguments += ["--entry", entry]
        flags = ["--"] + source.flags if source.flags else []
        result = self.report(source, reading,
                             arguments + [source.path] + flags)
        for tier in READINGS[reading].split(","):
            state = result["tiers"].get(tier, {})
            if state.get("status") not in ("ok", "partial"):
                raise Unreadable("tier %s was not read: %s" % (
                    tier, state.get("reason")))
        return result

    def readCubin(self, source):
        cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        nvcc = (os.environ.get("D2K_NVCC") or shutil.which("nvcc")
                or os.path.join(cuda, "bin", "nvcc"))
        if not os.access(nvcc, os.X_OK):
            fail(4, "nvcc not found", "install the CUDA Toolkit or set "
                 "CUDA_HOME")
        with tempfile.TemporaryDirectory() as folder:
            cubin = os.path.join(folder, "unit.cubin")
            done = subprocess.run(
                [nvcc, "-std=c++20", "-cubin", "-lineinfo",
                 "-arch=" + source.settings["arch"], "-o", cubin,
                 source.path] + source.flags, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                raise Unreadable("nvcc failed\n" + done.stdout[:2000])
            return self.report(source, "cubin", [cubin])


class Comparison:
    def __init__(self, analyzer):
        self.analyzer = analyzer
        # (expectation, reading, outcome, got)
        self.results = []

    def compare(self, source, reading):
        wanted = [e for e in source.expectations
                  if not e.readings or reading in e.readings.split(",")]
        if reading == "cubin":
            wanted = [e for e in wanted if "sass" in
                      self.analyzer.properties[e.property]["detected_at"]]
        if not wanted:
            return
        if reading == "host":
            self.compareHost(source, wanted)
            return
        report = (self.analyzer.readCubin(source) if reading == "cubin"
                  else self.analyzer.readSource(
                      source, reading, source.settings.get("entry")))
        kernels = collections.defaultdict(list)
        for kernel in report["kernels"]:
            kernels[baseName(kernel["demangled"])].append(kernel)
        for expectation in wanted:
            if expectation.name not in kernels:
                source.fault(expectation.line, "no kernel '%s' (%s)" % (
                    expectation.name, reading))
            self.add(expectation, reading,
                     Scope(*kernels[expectation.name]), wanted)

    def compareHost(self, source, wanted):
        scopes = {}
        for expectation in wanted:
            name = expectation.name
            if name not in scopes:
                report = self.analyzer.readSource(source, "host", name)
                scopes[name] = Scope(report.get("host", {}), *[
                    kernel for kernel in report["kernels"]
                    if kernel.get("reachable") is not False])
            self.add(expectation, "host", scopes[name], wanted)

    def add(self, expectation, reading, scope, wanted):
        neighbours = [e for e in wanted if e.name == expectation.name
                      and e.property == expectation.property]
        self.results.append((expectation, reading)
                            + scope.judge(expectation, neighbours))


class KnownList:
    """Mismatches that are known, by class:

        [class, a part of a line of docs/Status.md]
        FILE.cu kernel property verdict (reading): outcome
    """

    HEADER = (
        "# Mismatches that are known, by class; the classes are lines of\n"
        "# docs/Status.md. The list may only shrink: scripts/verdicts fails when\n"
        "# an entry is right now. `scripts/verdicts --update-known` writes it.\n")

    def __init__(self, path):
        self.path = path
        self.classOf = {}
        self.lines = {}
        self.classes = {}
        if not os.path.exists(path):
            return
        current = None
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream.read().splitlines(), 1):
                if not line.strip() or line.startswith("#"):
                    continue
                if line.startswith("[") and line.endswith("]"):
                    current = line[1:-1]
                    self.classes[current] = number
                elif KNOWN.match(line) and current:
                    self.classOf[line] = current
                    self.lines[line] = number
                else:
                    fail(2, "%s:%d: expected `[class]` or `FILE.cu kernel "
                         "property verdict (reading): outcome`"
                         % (path, number))

    def write(self, entries):
        sections = collections.defaultdict(list)
        for entry in entries:
            sections[self.classOf.get(entry, UNCLASSIFIED)].append(entry)
        with open(self.path, "w", encoding="utf-8") as stream:
            stream.write(self.HEADER)
            for name in sorted(sections, key=lambda n: (n == UNCLASSIFIED, n)):
                stream.write("\n[%s]\n" % name)
                for entry in sorted(set(sections[name])):
                    stream.write(entry + "\n")


def printTable(results):
    counts = collections.defaultdict(collections.Counter)
    for expectation, _, outcome, _ in results:
        counts[expectation.property][outcome] += 1
    print("| property | verdicts | as expected | false | missed | undecided |")
    print("|---|---|---|---|---|---|")
    for name in sorted(counts):
        print("| `%s` | %d | %s |" % (
            name, sum(counts[name].values()), " | ".join(
                str(counts[name][outcome]) for outcome in OUTCOMES)))
    for reading in READINGS:
        chosen = collections.Counter(
            result[2] for result in results if result[1] == reading)
        if chosen:
            print("| %s, in all | %d | %s |" % (
                reading, sum(chosen.values()), " | ".join(
                    str(chosen[outcome]) for outcome in OUTCOMES)))


def checkKnown(known, results, mismatches, statusPage):
    """Prints what is wrong with the list; whether something is."""
    wrong = False
    evaluated = {"%s (%s)" % (e.key, reading) for e, reading, _, _ in results}
    for entry, number in known.lines.items():
        if entry.rsplit(":", 1)[0] in evaluated and entry not in mismatches:
            print("%s:%d: is right now, take it out: %s" % (
                known.path, number, entry))
            wrong = True
    with open(statusPage, encoding="utf-8") as stream:
        page = " ".join(stream.read().split())
    for name, number in known.classes.items():
        if name == UNCLASSIFIED or name not in page:
            print("%s:%d: class '%s' does not stand in %s" % (
                known.path, number, name, os.path.relpath(statusPage)))
            wrong = True
    return wrong


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--tier", action="append", default=[],
                        choices=sorted(READINGS))
    parser.add_argument("--syntax", action="store_true")
    parser.add_argument("--undecided", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--update-known", action="store_true")
    parser.add_argument("--known", default=os.path.join(
        ROOT, "test", "Verdicts", "known-mismatches.txt"))
    parser.add_argument("--status", default=os.path.join(
        ROOT, "docs", "Status.md"))
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    options = parser.parse_args()
    if options.update_known and (options.files or options.tier):
        fail(2, "--update-known writes the whole list",
             "leave out the files and --tier")

    files = options.files or sorted(
        glob.glob(os.path.join(ROOT, "test", "Verdicts", "*.cu")))
    for path in files:
        if not os.path.isfile(path):
            fail(2, "%s does not exist" % path, "name .cu files with verdicts")
    analyzer = Analyzer(options.build)
    # All of the syntax before the first long step.
    sources = [Source(path, analyzer.properties) for path in files]
    known = KnownList(options.known)
    if options.syntax:
        failed = checkKnown(known, [], {}, options.status)
        print("%d verdicts in %d files, %d known mismatches" % (
            sum(len(source.expectations) for source in sources),
            len(sources), len(known.lines)))
        return 1 if failed else 0

    comparison = Comparison(analyzer)
    mismatches = {}
    failed = False
    for source in sources:
        start = len(comparison.results)
        for reading in source.readings:
            if options.tier and reading not in options.tier:
                continue
            try:
                comparison.compare(source, reading)
            except Unreadable as error:
                print("%s: %s" % (os.path.relpath(source.path), error))
                failed = True
        for expectation, reading, outcome, got in comparison.results[start:]:
            if outcome == AS_EXPECTED:
                continue
            if outcome == UNDECIDED and not options.undecided:
                continue
            entry = "%s (%s): %s" % (expectation.key, reading, outcome)
            note = ""
            if outcome != UNDECIDED:
                mismatches[entry] = None
                if entry in known.classOf:
                    note = " [known: %s]" % known.classOf[entry]
            print("%s:%d: %s %s (%s): %s: expected %s, got %s; %s%s" % (
                os.path.relpath(expectation.file), expectation.line,
                expectation.name, expectation.property, reading, outcome,
                expectation.expected, got, expectation.why, note), flush=True)
    if options.table:
        printTable(comparison.results)
    if options.update_known:
        known.write(mismatches)
        known = KnownList(options.known)
    failed |= checkKnown(known, comparison.results, mismatches, options.status)
    failed |= any(entry not in known.classOf for entry in mismatches)
    counts = collections.Counter(result[2] for result in comparison.results)
    print("%d as expected, %d false facts, %d missed facts, %d undecided" %
          tuple(counts[outcome] for outcome in OUTCOMES))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
