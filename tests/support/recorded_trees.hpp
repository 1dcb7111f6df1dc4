// Machines recorded as directory trees, for tests that unpack archives of them. Not for the product.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace angio::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/angio-test-XXXXXX";
    if (const char* made = mkdtemp(pattern.data())) path_ = made;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Directories that hold "sys": at most three deep, for archives with several machines.
inline std::vector<std::string> find_trees(const std::string& directory, int depth = 3) {
  if (std::filesystem::is_directory(directory + "/sys")) return {directory};
  std::vector<std::string> trees;
  if (depth == 0) return trees;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.is_directory() || entry.is_symlink()) continue;
    const std::vector<std::string> below = find_trees(entry.path().string(), depth - 1);
    trees.insert(trees.end(), below.begin(), below.end());
  }
  std::ranges::sort(trees);
  return trees;
}

}  // namespace angio::test
