// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MathSites.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

using namespace d2k;
using namespace d2k::cuda;

namespace {
/// What an intrinsic stands for.
struct Choice {
  llvm::StringLiteral name, op;
  /// One or two units.
  llvm::StringLiteral unit, otherUnit = "";
};
} // namespace

/// Intrinsics (CUDA Math API, "Single Precision Intrinsics"). One that computes
/// several functions has several rows.
static constexpr Choice kIntrinsics[] = {
    {"__expf", "exp", "ex2"},
    {"__exp10f", "exp", "ex2"},
    {"__logf", "log", "lg2"},
    {"__log10f", "log", "lg2"},
    {"__log2f", "lg2", "lg2"},
    {"__powf", "lg2", "lg2"},
    {"__powf", "ex2", "ex2"},
    {"__sinf", "sin", "sin"},
    {"__cosf", "cos", "cos"},
    {"__sincosf", "sin", "sin"},
    {"__sincosf", "cos", "cos"},
    {"__tanf", "sin", "sin"},
    {"__tanf", "cos", "cos"},
    {"__tanf", "div", "div", "rcp"},
    {"__tanhf", "tanh", "tanh"},
    {"__fdividef", "div", "div", "rcp"},
    // "Half Math Functions", "Bfloat16 Math Functions".
    {"htanh_approx", "tanh", "tanh"},
    {"h2tanh_approx", "tanh", "tanh"},
};

/// What `--use_fast_math` makes of ordinary functions (NVCC manual): the
/// intrinsic.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral>
    kFastMath[] = {{"expf", "__expf"},       {"exp10f", "__exp10f"},
                   {"logf", "__logf"},       {"log10f", "__log10f"},
                   {"log2f", "__log2f"},     {"powf", "__powf"},
                   {"sinf", "__sinf"},       {"cosf", "__cosf"},
                   {"sincosf", "__sincosf"}, {"tanf", "__tanf"},
                   {"tanhf", "__tanhf"},     {"fdividef", "__fdividef"}};

/// Ordinary functions of which compiled code may hold an approximate unit,
/// without the letter of their type.
static constexpr llvm::StringLiteral kPlain[] = {
    "exp",     "exp2",   "exp10",  "expm1",   "log",     "log2",    "log10",
    "log1p",   "sin",    "cos",    "tan",     "sincos",  "sinpi",   "cospi",
    "tanh",    "sinh",   "cosh",   "asinh",   "acosh",   "atanh",   "atan",
    "atan2",   "asin",   "acos",   "pow",     "powi",    "rsqrt",   "sqrt",
    "erf",     "erfc",   "erfinv", "erfcinv", "erfcx",   "cbrt",    "rcbrt",
    "hypot",   "rhypot", "tgamma", "lgamma",  "fdivide", "normcdf", "norm3d",
    "rnorm3d", "norm4d", "rnorm4d"};

/// The same for half types, behind `h` and, for pairs, `h2`: no form of them is
/// more exact (CUDA Math API, "Half Math Functions").
static constexpr llvm::StringLiteral kHalf[] = {
    "exp", "exp2", "exp10", "log",   "log2", "log10",
    "sin", "cos",  "rcp",   "rsqrt", "sqrt", "tanh"};

/// Units in inline assembly.
static constexpr llvm::StringLiteral kUnits[] = {
    "ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "div"};

namespace {
class Finder {
public:
  Finder(const clang::ASTContext &context, const NvccFlags &flags,
         std::vector<MathSite> &sites)
      : sources(context.getSourceManager()), flags(flags), sites(sites) {}

  void visitFunction(const clang::FunctionDecl *function) {
    bool onDevice = function->hasAttr<clang::CUDAGlobalAttr>() ||
                    function->hasAttr<clang::CUDADeviceAttr>();
    if (onDevice && function->isThisDeclarationADefinition() &&
        !sources.isInSystemHeader(function->getLocation()))
      visit(function->getBody(), nullptr);
  }

private:
  /// \p statement is the innermost one around an expression.
  void visit(const clang::Stmt *stmt, const clang::Stmt *statement) {
    if (!stmt)
      return;
    bool isLeaf = llvm::isa<clang::Expr, clang::DeclStmt, clang::ReturnStmt,
                            clang::AsmStmt>(stmt);
    if (!isLeaf)
      statement = nullptr;
    else if (!statement)
      statement = stmt;
    if (const auto *call = llvm::dyn_cast<clang::CallExpr>(stmt))
      addCall(call, statement);
    if (const auto *assembly = llvm::dyn_cast<clang::GCCAsmStmt>(stmt))
      addAssembly(assembly, statement);
    if (const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(stmt))
      addDivision(binary, statement);
    if (const auto *lambda = llvm::dyn_cast<clang::LambdaExpr>(stmt))
      return visit(lambda->getBody(), nullptr);
    for (const clang::Stmt *child : stmt->children())
      visit(child, statement);
  }

  void add(MathSite site, const clang::Stmt *at, const clang::Stmt *statement) {
    clang::PresumedLoc place =
        sources.getPresumedLoc(sources.getExpansionLoc(at->getBeginLoc()));
    if (place.isInvalid())
      return;
    auto line = [&](clang::SourceLocation where) {
      return int64_t(sources.getExpansionLineNumber(where));
    };
    site.where.file = place.getFilename();
    site.where.line = place.getLine();
    site.where.column = place.getColumn();
    site.firstLine = line(statement->getBeginLoc());
    site.lastLine = line(statement->getEndLoc());
    sites.push_back(std::move(site));
  }

  static std::string getName(const clang::CallExpr *call) {
    const clang::Expr *callee = call->getCallee()->IgnoreParenImpCasts();
    if (const auto *ref = llvm::dyn_cast<clang::DeclRefExpr>(callee))
      return ref->getNameInfo().getAsString();
    if (const auto *lookup =
            llvm::dyn_cast<clang::UnresolvedLookupExpr>(callee))
      return lookup->getName().getAsString();
    return "";
  }

  /// A function or operator of half types that gives what its type can hold.
  bool isHalfFunction(const clang::CallExpr *call, llvm::StringRef name) const {
    if (name == "__hdiv" || name == "__h2div")
      return true;
    // A division of the author's own is read where it stands.
    if (name == "operator/" || name == "operator/=") {
      const clang::FunctionDecl *callee = call->getDirectCallee();
      return callee && sources.isInSystemHeader(callee->getLocation());
    }
    return name.consume_front("h") &&
           (llvm::is_contained(kHalf, name) ||
            (name.consume_front("2") && llvm::is_contained(kHalf, name)));
  }

  void addCall(const clang::CallExpr *call, const clang::Stmt *statement) {
    std::string name = getName(call);
    llvm::StringRef intrinsic = name;
    MathSite site;
    site.how = MathSite::How::Intrinsic;
    site.name = name;
    if (flags.fastMath)
      for (const auto &[plain, fast] : kFastMath)
        if (plain == name) {
          intrinsic = fast;
          site.how = MathSite::How::Flag;
        }
    bool found = false;
    for (const Choice &choice : kIntrinsics)
      if (choice.name == intrinsic) {
        site.op = choice.op.str();
        site.units = {choice.unit.str()};
        if (!choice.otherUnit.empty())
          site.units.push_back(choice.otherUnit.str());
        add(site, call, statement);
        found = true;
      }
    if (found)
      return;
    if (flags.approximateRoot && name == "sqrtf") {
      site.how = MathSite::How::Flag;
      site.op = "sqrt";
      // A root is also made as the reciprocal of the reciprocal root.
      site.units = {"sqrt", "rsqrt", "rcp"};
      return add(site, call, statement);
    }
    llvm::StringRef stem = name;
    if (isHalfFunction(call, name) || llvm::is_contained(kPlain, stem) ||
        (stem.consume_back("f") && llvm::is_contained(kPlain, stem))) {
      site.how = MathSite::How::Plain;
      add(site, call, statement);
    }
  }

  void addAssembly(const clang::GCCAsmStmt *assembly,
                   const clang::Stmt *statement) {
    std::string text = assembly->getAsmString();
    for (llvm::StringRef unit : kUnits) {
      for (size_t at = text.find(unit); at != std::string::npos;
           at = text.find(unit, at + 1)) {
        // The start of an instruction, not the end of `rsqrt`.
        if (at > 0 && (llvm::isAlnum(text[at - 1]) || text[at - 1] == '_'))
          continue;
        llvm::StringRef rest = llvm::StringRef(text).drop_front(at);
        llvm::StringRef form = rest.drop_front(unit.size());
        if (!form.starts_with(".approx") && !form.starts_with(".full"))
          continue;
        MathSite site;
        site.how = MathSite::How::Assembly;
        site.op = unit.str();
        site.units = {unit.str()};
        site.name = rest.take_until([](char c) { return isspace(c); }).str();
        add(std::move(site), assembly, statement);
        break;
      }
    }
  }

  void addDivision(const clang::BinaryOperator *binary,
                   const clang::Stmt *statement) {
    bool divides = binary->getOpcode() == clang::BO_Div ||
                   binary->getOpcode() == clang::BO_DivAssign;
    if (!flags.approximateDivide || !divides)
      return;
    clang::QualType type = binary->getType();
    if (!type->isDependentType() &&
        !type->isSpecificBuiltinType(clang::BuiltinType::Float))
      return;
    MathSite site;
    site.how = MathSite::How::Flag;
    site.op = "div";
    site.units = {"div", "rcp"};
    site.name = "/";
    add(std::move(site), binary, statement);
  }

  const clang::SourceManager &sources;
  const NvccFlags &flags;
  std::vector<MathSite> &sites;
};
} // namespace

std::vector<MathSite> cuda::findMathSites(const ClangUnit &unit,
                                          const NvccFlags &flags) {
  std::vector<MathSite> sites;
  if (!unit.ast)
    return sites;
  const clang::ASTContext &context = unit.ast->getASTContext();
  Finder finder(context, flags, sites);
  forEachFunction(context, [&](const clang::FunctionDecl *function) {
    finder.visitFunction(function);
  });
  return sites;
}
