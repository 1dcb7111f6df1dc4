// Real public inputs that are not in this repository: the folder that ANGIO_SHARED names.
// Tests over them live in *_shared_test.cpp and skip without it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace angio::test {

// Path below the corpus; empty when there is none.
inline std::string shared_corpus(const std::string& relative) {
  const char* shared = std::getenv("ANGIO_SHARED");
  if (shared == nullptr) return {};
  std::filesystem::path path = std::filesystem::path(shared) / "corpus" / relative;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

inline std::string read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace angio::test

// First line of such a test: const std::string path = …; or a skip with its reason.
#define ANGIO_SHARED_OR_SKIP(variable, relative)                       \
  const std::string variable = ::angio::test::shared_corpus(relative); \
  if ((variable).empty()) GTEST_SKIP() << "needs ANGIO_SHARED with corpus/" << (relative)
