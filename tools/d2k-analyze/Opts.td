// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of d2k-analyze. Help text and parsing both come from here.

include "llvm/Option/OptParser.td"

class F<string name, string help> : Flag<["--"], name>, HelpText<help>;

multiclass Eq<string name, string metavar, string help> {
  def NAME : Separate<["--"], name>, HelpText<help>, MetaVarName<metavar>;
  def NAME #_eq : Joined<["--"], name #"=">, Alias<!cast<Separate>(NAME)>;
}

defm task : Eq<"task", "<name>", "Score against rubrics/<name>.json">;
defm rubric : Eq<"rubric", "<file>", "Score against this rubric">;
defm arch : Eq<"arch", "<sm>", "Target, sm_80 to sm_120a (default sm_100a; PTX names its own)">;
defm entry : Eq<"entry", "<name>", "The host function that is called (default: the task's; without a task every one that launches)">;
defm kernel : Eq<"kernel", "<regex>", "Only kernels whose name matches">;
defm tiers : Eq<"tiers", "<list>", "Tiers to read: source, ptx, sass (default all that can be had)">;
defm compiler : Eq<"compiler", "<who>", "Who makes PTX: auto (nvcc where there is one, else Clang), nvcc, clang or none (default auto)">;
defm with_ptx : Eq<"with-ptx", "<file>", "Use this PTX of the one source input instead of compiling">;
defm with_cubin : Eq<"with-cubin", "<file>", "Use this machine code of the one source input instead of compiling">;
defm cache : Eq<"cache", "<dir>", "Keep results there by content and use what is kept (default $D2K_CACHE)">;
def j : JoinedOrSeparate<["-"], "j">, HelpText<"Work done at the same time (default: one piece for each processor)">, MetaVarName<"<n>">;
def p : JoinedOrSeparate<["-"], "p">, HelpText<"Take the flags of sources from <dir>/compile_commands.json">, MetaVarName<"<dir>">;
def no_cache : F<"no-cache", "Neither keep results and precompiled headers nor use what is kept">;
defm format : Eq<"format", "<format>", "text, json or mlir (default text)">;
def o : Separate<["-"], "o">, HelpText<"Write to <file> instead of standard output">, MetaVarName<"<file>">;
defm explain : Eq<"explain", "<property>", "Why this property holds or not, with the code around each place">;
def facts : F<"facts", "List facts and near misses also when a rubric is given">;
defm fail_under : Eq<"fail-under", "<score>", "Exit 1 when the combined score is below this">;
defm baseline : Eq<"baseline", "<file>", "Compare with an earlier JSON report">;
def list_properties : F<"list-properties", "Print the property vocabulary">;
def list_properties_as : Joined<["--"], "list-properties=">, HelpText<"Print the property vocabulary as text, json or markdown">, MetaVarName<"<format>">;
def color : Joined<["--"], "color=">, HelpText<"auto, always or never (default auto; NO_COLOR is honoured)">, MetaVarName<"<when>">;
def version : F<"version", "Print the version">;
def help : F<"help", "Print this help">;
def h : Flag<["-"], "h">, Alias<help>;
def DASH_DASH : Option<["--"], "", KIND_REMAINING_ARGS>, HelpText<"The rest are flags for the compiler">;
