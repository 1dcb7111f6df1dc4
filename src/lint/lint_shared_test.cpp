// Texts of the real world that were never written for the linter: logs, notes, scripts. It must read each as
// every kind without losing its places, and stay quiet where nothing is set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lint/lint.hpp"

namespace angio::lint {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> texts(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kLargest = 400'000;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    const bool text = ending == ".txt" || ending == ".log" || ending == ".md" || ending == ".out" ||
                      ending == ".sh" || ending == ".py";
    if (entry.is_regular_file() && text && entry.file_size() < kLargest) paths.push_back(entry.path());
  }
  return paths;
}

TEST(LintShared, ReadsEveryTextAsEveryKind) {
  const char* shared = std::getenv("ANGIO_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "ANGIO_SHARED is not set";
  std::size_t files = 0;
  for (const auto& path : texts(shared)) {
    ++files;
    const std::string text = content(path);
    for (const FileKind kind : {FileKind::kShell, FileKind::kEnvFile, FileKind::kNcclConf,
                                FileKind::kDockerfile, FileKind::kYaml, FileKind::kPython}) {
      const Script script = read_script(path.filename().string(), text, kind);
      ASSERT_EQ(script.text, text);
      for (const Setting& setting : script.settings) {
        ASSERT_LE(setting.value_place.offset + setting.value_place.length, text.size()) << path;
        ASSERT_LE(setting.name_place.offset + setting.name_place.length, text.size()) << path;
      }
      const Report report = lint({script}, {});
      for (const Complaint& complaint : report.complaints) {
        ASSERT_LE(complaint.place.offset + complaint.place.length, text.size()) << path << complaint.message;
      }
    }
  }
  EXPECT_GT(files, 50U);
}

}  // namespace
}  // namespace angio::lint
