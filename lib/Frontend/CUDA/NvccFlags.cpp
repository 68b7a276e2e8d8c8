// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Frontend/CUDA/NvccFlags.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

using namespace d2k;
using namespace d2k::cuda;

namespace {
class Reader {
public:
  Reader(const std::vector<std::string> &flags, NvccFlags &result)
      : flags(flags), result(result) {}

  void run() {
    for (next = 0; next < flags.size();) {
      llvm::StringRef flag = flags[next++];
      readMacro(flag) || readInclude(flag) || readLanguage(flag) ||
          readHostFlags(flag);
    }
  }

private:
  /// The value of `flag` when it is one of `names`; `isGlued` says that the
  /// value may follow without a sign.
  std::optional<std::string> take(llvm::StringRef flag,
                                  llvm::ArrayRef<llvm::StringRef> names,
                                  bool isGlued = false) {
    for (llvm::StringRef name : names) {
      llvm::StringRef rest = flag;
      if (!rest.consume_front(name))
        continue;
      if (rest.empty())
        return next < flags.size() ? std::optional(flags[next++])
                                   : std::nullopt;
      if (rest.consume_front("=") || isGlued)
        return rest.str();
    }
    return std::nullopt;
  }

  bool readMacro(llvm::StringRef flag) {
    if (auto macro = take(flag, {"--define-macro"}))
      return result.macros.push_back("-D" + *macro), true;
    if (auto macro = take(flag, {"-D"}, /*isGlued=*/true))
      return result.macros.push_back("-D" + *macro), true;
    if (auto macro = take(flag, {"--undefine-macro"}))
      return result.macros.push_back("-U" + *macro), true;
    if (auto macro = take(flag, {"-U"}, /*isGlued=*/true))
      return result.macros.push_back("-U" + *macro), true;
    return false;
  }

  void addPaths(const char *flag, llvm::StringRef list) {
    llvm::SmallVector<llvm::StringRef> paths;
    list.split(paths, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (llvm::StringRef path : paths) {
      result.includes.push_back(flag);
      result.includes.push_back(path.str());
    }
  }

  bool readInclude(llvm::StringRef flag) {
    if (auto path = take(flag, {"-isystem", "--system-include"}, true))
      return addPaths("-isystem", *path), true;
    if (auto path = take(flag, {"-include", "--pre-include"}))
      return addPaths("-include", *path), true;
    if (auto path = take(flag, {"--include-path"}))
      return addPaths("-I", *path), true;
    if (auto path = take(flag, {"-I"}, /*isGlued=*/true))
      return addPaths("-I", *path), true;
    return false;
  }

  bool readLanguage(llvm::StringRef flag) {
    if (auto standard = take(flag, {"--std", "-std"}))
      return result.standard = *standard, true;
    auto isSet = [&](llvm::StringRef name, llvm::StringRef value) {
      llvm::StringRef rest = flag;
      if (!(rest.consume_front("--") || rest.consume_front("-")) ||
          !rest.consume_front(name))
        return false;
      if (rest.empty() && next < flags.size() && flags[next] == value)
        return ++next, true;
      return rest.consume_front("=") && rest == value;
    };
    result.flushDenormals |= isSet("ftz", "true");
    result.approximateDivide |= isSet("prec-div", "false");
    result.approximateRoot |= isSet("prec-sqrt", "false");
    llvm::StringRef name = flag.ltrim('-');
    if (name == "use_fast_math")
      result.fastMath = result.flushDenormals = result.approximateDivide =
          result.approximateRoot = true;
    result.extendedLambda |=
        name == "extended-lambda" || name == "expt-extended-lambda";
    result.relaxedConstexpr |= name == "expt-relaxed-constexpr";
    return false;
  }

  /// Flags for the host compiler may define macros, too.
  bool readHostFlags(llvm::StringRef flag) {
    auto list = take(flag, {"-Xcompiler", "--compiler-options"});
    if (!list)
      return false;
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(*list).split(parts, ',', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts) {
      part = part.trim();
      if (part.starts_with("-D") || part.starts_with("-U"))
        result.macros.push_back(part.str());
      else if (part.starts_with("-I"))
        addPaths("-I", part.drop_front(2));
    }
    return true;
  }

  const std::vector<std::string> &flags;
  NvccFlags &result;
  size_t next = 0;
};
} // namespace

NvccFlags d2k::cuda::readNvccFlags(const std::vector<std::string> &flags) {
  NvccFlags result;
  Reader(flags, result).run();
  return result;
}
