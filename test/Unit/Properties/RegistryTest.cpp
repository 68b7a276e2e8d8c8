// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every property must have: an id of its own that is its file's name in
// lower case, words in its record, and its tests.

#include "d2k/Properties/Catalog.h"

#include "TestPaths.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace d2k;
using d2k::test::getSourcePath;

/// "LaunchBounds" to "launch_bounds".
static std::string toSnakeCase(llvm::StringRef name) {
  std::string result;
  for (char c : name) {
    if (llvm::isUpper(c) && !result.empty())
      result += '_';
    result += llvm::toLower(c);
  }
  return result;
}

TEST(Registry, NoIdIsInTheVocabularyToo) {
  llvm::StringSet<> detected;
  for (const std::string &id : properties::getDetectedIds())
    EXPECT_TRUE(detected.insert(id).second) << id << " has two detectors";
  for (const PropertyInfo &info : getUndetectedVocabulary())
    EXPECT_FALSE(detected.contains(info.id))
        << info.id << " has a detector and a row in lib/Fact/Vocabulary.def";
}

TEST(Registry, CatalogHoldsEverything) {
  const PropertyCatalog &catalog = properties::getCatalog();
  EXPECT_EQ(catalog.getProperties().size(),
            properties::getDetectedIds().size() +
                getUndetectedVocabulary().size());
  for (const std::string &id : properties::getDetectedIds()) {
    const PropertyInfo *info = catalog.find(id);
    ASSERT_NE(info, nullptr) << id;
    EXPECT_TRUE(info->isImplemented()) << id;
  }
}

TEST(Registry, RecordsAreComplete) {
  for (const PropertyInfo &info : properties::getCatalog().getProperties()) {
    EXPECT_FALSE(info.summary.empty()) << info.id;
    EXPECT_FALSE(info.decidingTiers.empty()) << info.id;
    EXPECT_TRUE(info.group >= 'A' && info.group <= 'F') << info.id;
    // A detector that decides nothing would be of no use.
    EXPECT_EQ(info.detectorTiers.intersect(info.decidingTiers),
              info.detectorTiers)
        << info.id;
    for (const AttributeInfo &attribute : info.attributes) {
      EXPECT_FALSE(attribute.meaning.empty()) << info.id << attribute.name;
      EXPECT_TRUE(attribute.values.empty() ||
                  attribute.type == AttrType::String)
          << info.id << attribute.name;
    }
  }
}

TEST(Registry, IdIsTheFileName) {
  llvm::StringSet<> files;
  std::error_code error;
  std::string folder = getSourcePath("lib/Properties");
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".cpp")
      files.insert(toSnakeCase(llvm::sys::path::stem(it->path())));
  for (const std::string &id : properties::getDetectedIds())
    EXPECT_TRUE(files.contains(id)) << id << " has no file of its name";
  EXPECT_EQ(files.size(), properties::getDetectedIds().size());
}

TEST(Registry, EveryPropertyHasItsTests) {
  for (const std::string &id : properties::getDetectedIds()) {
    // What the host decides has all its cases in one source.
    if (properties::getCatalog().find(id)->detectorTiers ==
        TierSet{Tier::Source}) {
      EXPECT_TRUE(llvm::sys::fs::exists(
          getSourcePath("test/Properties/" + id + "/host.cu")))
          << id << " has no host.cu";
      continue;
    }
    auto hasFile = [&](llvm::StringRef name) {
      std::string path =
          getSourcePath("test/Properties/" + id + "/") + name.str();
      // What only machine code decides is tested in the dialect.
      return llvm::sys::fs::exists(path + ".ptx") ||
             llvm::sys::fs::exists(path + ".mlir");
    };
    if (hasFile("present") && hasFile("absent") && hasFile("decoy"))
      continue;
    // Or its files expect the fact somewhere, refuse it somewhere, and refuse
    // it or say why it is nearly there once more: kernels of their own, or one
    // that a RUN line mutates.
    unsigned present = 0, absent = 0, nearly = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator
             file(getSourcePath("test/Properties/" + id), error),
         end;
         file != end && !error; file.increment(error)) {
      auto text = llvm::MemoryBuffer::getFile(file->path());
      ASSERT_TRUE(text) << file->path();
      for (llvm::line_iterator line(**text); !line.is_at_end(); ++line) {
        if (line->contains("-NOT:"))
          ++absent;
        else if (line->contains("near-miss " + id) ||
                 line->contains("near miss: " + id))
          ++nearly;
        else if (line->contains(": fact " + id) ||
                 line->contains("}fact " + id) || line->contains(id + " ("))
          ++present;
      }
    }
    EXPECT_FALSE(error) << id << " has no folder";
    EXPECT_GE(present, 1u) << id << " is expected nowhere";
    EXPECT_GE(absent, 1u) << id << " is refused nowhere";
    EXPECT_GE(absent + nearly, 2u) << id << " has no decoy";
  }
}
