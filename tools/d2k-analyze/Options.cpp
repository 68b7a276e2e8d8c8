// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include "d2k/Support/Architecture.h"
#include "d2k/Support/Files.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Option/Option.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdlib>

using namespace d2k;
using namespace llvm::opt;

namespace {
enum ID {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Opts.inc"
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include "Opts.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Opts.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr OptTable::Info kInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Opts.inc"
#undef OPTION
};

class Options : public GenericOptTable {
public:
  Options() : GenericOptTable(OptionStrTable, OptionPrefixesTable, kInfos) {}
};
} // namespace

/// More work at the same time is a mistake.
static constexpr unsigned kMaxJobs = 1024;

static tl::unexpected<Failure> usage(std::string message) {
  return fail(FailureKind::Usage, std::move(message));
}

/// Applies `--tiers`; naming a tier that this version cannot read is no error,
/// the report says that it is unavailable.
static Result<void> readTiers(llvm::StringRef list, AnalyzeRequest &request) {
  llvm::SmallVector<llvm::StringRef> names;
  list.split(names, ',');
  request.readSource = request.readPtx = request.readSass = false;
  for (llvm::StringRef name : names) {
    if (name == "source")
      request.readSource = true;
    else if (name == "ptx")
      request.readPtx = true;
    else if (name == "sass")
      request.readSass = true;
    else
      return usage("--tiers: unknown tier '" + name.str() +
                   "'; expected source, ptx or sass, separated by commas");
  }
  return {};
}

static Result<void> readKernelFilter(llvm::StringRef pattern,
                                     AnalyzeRequest &request) {
  auto regex = std::make_shared<llvm::Regex>(pattern);
  std::string error;
  if (!regex->isValid(error))
    return usage("--kernel: '" + pattern.str() +
                 "' is no regular expression: " + error);
  request.kernelPattern = pattern.str();
  request.kernelFilter = [regex](const std::string &mangled,
                                 const std::string &demangled) {
    return regex->match(mangled) || regex->match(demangled);
  };
  return {};
}

/// Where results and precompiled headers are kept. Results are kept only where
/// the user names a folder.
static void readCacheOptions(const InputArgList &args,
                             AnalyzeRequest &request) {
  if (args.hasArg(OPT_no_cache))
    return;
  auto variable = [](const char *name) -> std::optional<std::string> {
    const char *value = std::getenv(name);
    return value && *value ? std::optional<std::string>(value) : std::nullopt;
  };
  request.cacheFolder = variable("D2K_CACHE");
  if (const Arg *arg = args.getLastArg(OPT_cache))
    request.cacheFolder = arg->getValue();
  // The folder of the XDG Base Directory Specification.
  std::optional<std::string> folder = request.cacheFolder;
  if (!folder)
    if (std::optional<std::string> user = variable("XDG_CACHE_HOME"))
      folder = joinPath(*user, "d2k");
  if (!folder)
    if (std::optional<std::string> home = variable("HOME"))
      folder = joinPath(*home, ".cache/d2k");
  if (folder)
    request.headerFolder = joinPath(*folder, "headers");
}

Result<AnalyzeOptions> d2k::parseOptions(int argc, const char *const *argv) {
  Options table;
  unsigned missingIndex = 0, missingCount = 0;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  llvm::SmallVector<const char *> words(argv, argv + argc);
  llvm::cl::ExpandResponseFiles(saver, llvm::cl::TokenizeGNUCommandLine, words);
  InputArgList args = table.ParseArgs(words, missingIndex, missingCount);
  if (missingCount)
    return usage(std::string(args.getArgString(missingIndex)) +
                 " needs a value");
  for (const Arg *arg : args.filtered(OPT_UNKNOWN)) {
    std::string spelling = arg->getAsString(args), nearest;
    std::string hint = "; see --help";
    if (table.findNearest(spelling, nearest) <= 2)
      hint = "; did you mean " + nearest + "?";
    return usage("unknown option " + spelling + hint);
  }

  AnalyzeOptions options;
  if (args.hasArg(OPT_help)) {
    options.mode = AnalyzeOptions::Mode::Help;
    return options;
  }
  if (args.hasArg(OPT_version)) {
    options.mode = AnalyzeOptions::Mode::Version;
    return options;
  }
  if (const Arg *arg = args.getLastArg(OPT_color)) {
    auto mode = llvm::StringSwitch<std::optional<ColorMode>>(arg->getValue())
                    .Case("auto", ColorMode::Auto)
                    .Case("always", ColorMode::Always)
                    .Case("never", ColorMode::Never)
                    .Default(std::nullopt);
    if (!mode)
      return usage("--color: expected auto, always or never, found '" +
                   std::string(arg->getValue()) + "'");
    options.color = *mode;
  }
  if (const Arg *arg = args.getLastArg(OPT_o))
    options.output = arg->getValue();
  if (const Arg *arg =
          args.getLastArg(OPT_list_properties, OPT_list_properties_as)) {
    options.mode = AnalyzeOptions::Mode::ListProperties;
    if (arg->getOption().matches(OPT_list_properties_as))
      options.listFormat = arg->getValue();
    if (options.listFormat != "text" && options.listFormat != "json" &&
        options.listFormat != "markdown")
      return usage("--list-properties: expected text, json or markdown, found "
                   "'" +
                   options.listFormat + "'");
    return options;
  }

  options.request.inputs = args.getAllArgValues(OPT_INPUT);
  if (!options.request.inputs.empty() && options.request.inputs[0] == "lint") {
    if (options.request.inputs.size() > 1)
      return usage("lint takes no inputs: it checks all rubrics, guidance and "
                   "tasks, or the one of --rubric FILE");
    options.mode = AnalyzeOptions::Mode::Lint;
    if (const Arg *arg = args.getLastArg(OPT_rubric))
      options.rubric = arg->getValue();
    return options;
  }
  if (options.request.inputs.empty())
    return usage("no input; name a .cu, .ptx or .cubin file, or a folder, or "
                 "see --help");

  if (const Arg *arg = args.getLastArg(OPT_arch)) {
    std::string arch = arg->getValue();
    if (!isArchitecture(arch))
      return usage(describeWrongArchitecture(arch));
    options.request.arch = std::move(arch);
  }
  if (const Arg *arg = args.getLastArg(OPT_entry))
    options.request.entry = arg->getValue();
  if (const Arg *arg = args.getLastArg(OPT_tiers))
    if (Result<void> read = readTiers(arg->getValue(), options.request); !read)
      return forwardFailure(std::move(read));
  if (const Arg *arg = args.getLastArg(OPT_kernel))
    if (Result<void> read = readKernelFilter(arg->getValue(), options.request);
        !read)
      return forwardFailure(std::move(read));
  if (const Arg *arg = args.getLastArg(OPT_compiler)) {
    llvm::StringRef who = arg->getValue();
    auto compiler = llvm::StringSwitch<std::optional<PtxCompiler>>(who)
                        .Case("auto", PtxCompiler::Auto)
                        .Case("nvcc", PtxCompiler::Nvcc)
                        .Case("clang", PtxCompiler::Clang)
                        .Case("none", PtxCompiler::None)
                        .Default(std::nullopt);
    if (!compiler)
      return usage("--compiler: expected auto, nvcc, clang or none, found '" +
                   who.str() + "'");
    options.request.compiler = *compiler;
  }
  if (const Arg *arg = args.getLastArg(OPT_format)) {
    auto format =
        llvm::StringSwitch<std::optional<OutputFormat>>(arg->getValue())
            .Case("text", OutputFormat::Text)
            .Case("json", OutputFormat::Json)
            .Case("mlir", OutputFormat::Mlir)
            .Default(std::nullopt);
    if (!format)
      return usage("--format: expected text, json or mlir, found '" +
                   std::string(arg->getValue()) + "'");
    options.format = *format;
  }
  auto value = [&](OptSpecifier id) -> std::optional<std::string> {
    if (const Arg *arg = args.getLastArg(id))
      return std::string(arg->getValue());
    return std::nullopt;
  };
  options.task = value(OPT_task);
  options.rubric = value(OPT_rubric);
  options.baseline = value(OPT_baseline);
  options.request.withPtx = value(OPT_with_ptx);
  options.request.withCubin = value(OPT_with_cubin);
  options.request.compileCommands = value(OPT_p);
  readCacheOptions(args, options.request);
  if (std::optional<std::string> text = value(OPT_j))
    if (llvm::StringRef(*text).getAsInteger(10, options.request.jobs) ||
        options.request.jobs < 1 || options.request.jobs > kMaxJobs)
      return usage("-j: expected a number from 1 to " +
                   std::to_string(kMaxJobs) + ", found '" + *text + "'");
  options.explain = value(OPT_explain);
  options.facts = args.hasArg(OPT_facts);
  if (std::optional<std::string> text = value(OPT_fail_under)) {
    double limit = 0;
    if (llvm::StringRef(*text).getAsDouble(limit) || !std::isfinite(limit) ||
        limit < 0 || limit > 100)
      return usage("--fail-under: expected a score from 0 to 100, found '" +
                   *text + "'");
    options.failUnder = limit;
  }
  options.request.compilerFlags = args.getAllArgValues(OPT_DASH_DASH);

  if (options.explain && options.format != OutputFormat::Text)
    return usage("--explain prints text; leave out --format");
  if (options.failUnder && !options.task && !options.rubric)
    return usage("--fail-under needs a score; add --task or --rubric");
  if (options.format == OutputFormat::Mlir && (options.task || options.rubric))
    return usage("--format mlir prints the IR, not a score; leave out --task "
                 "and --rubric");
  return options;
}

std::string d2k::getHelp() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Options().printHelp(
      stream,
      "d2k-analyze [options] INPUT... [-- compiler flags]\n"
      "       d2k-analyze lint [--rubric <file>]",
      "which design a GPU kernel really implements, proved from its code");
  stream << "\nINPUT: a .cu file, a .ptx file, machine code (a cubin, or a "
            "fatbin in an object,\nlibrary or program), what nvdisasm -json "
            "prints, or a folder that holds some.\n"
            "Exit status: 0 done, 1 below --fail-under or lint found faults, "
            "2 bad usage,\n3 an input could not be analysed, 4 a needed tool "
            "is missing or broken.\n";
  return text;
}
