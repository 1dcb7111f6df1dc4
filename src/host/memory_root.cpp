#include <algorithm>
#include <cerrno>
#include <set>

#include "host/root.hpp"

namespace angio::host {
namespace {

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

class MemoryRoot final : public Root {
 public:
  MemoryRoot(Recording recording, Scope scope) : recording_(std::move(recording)), scope_(scope) {}

  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    const Answers* answers = find(path);
    if (answers != nullptr && answers->content) return *answers->content;
    return std::unexpected(missing(path, answers));
  }

  [[nodiscard]] Read<Names> list(std::string_view path) const override {
    const Answers* answers = find(path);
    if (answers != nullptr && answers->names) return *answers->names;
    Names names = scope_ == Scope::kComplete ? children(path) : Names{};
    if (!names.empty()) return names;
    return std::unexpected(missing(path, answers));
  }

  [[nodiscard]] Read<std::string> read_link(std::string_view path) const override {
    const Answers* answers = find(path);
    if (answers != nullptr && answers->link) return *answers->link;
    return std::unexpected(missing(path, answers));
  }

  [[nodiscard]] bool exists(std::string_view path) const override {
    const Answers* answers = find(path);
    if (answers == nullptr) return scope_ == Scope::kComplete && !children(path).empty();
    if (answers->exists) return *answers->exists;
    const auto there = [](const auto& answer) {
      return answer && (*answer || answer->error().error != ENOENT);
    };
    return there(answers->content) || there(answers->names) || there(answers->link);
  }

  [[nodiscard]] bool is_live() const override { return false; }

 private:
  [[nodiscard]] const Answers* find(std::string_view path) const {
    const auto found = recording_.find(path);
    return found == recording_.end() ? nullptr : &found->second;
  }

  // ENOENT only where somebody looked; otherwise the snapshot simply does not say.
  [[nodiscard]] ReadError missing(std::string_view path, const Answers* answers) const {
    if (answers != nullptr && answers->exists == false) return {ENOENT, {}};
    if (scope_ == Scope::kComplete) return {ENOENT, {}};
    const Answers* directory = find(parent_of(path));
    if (directory != nullptr && directory->names && *directory->names) {
      const Names& names = **directory->names;
      if (!std::ranges::binary_search(names, path.substr(path.rfind('/') + 1))) return {ENOENT, {}};
    }
    return {kNotCollected, {}};
  }

  // Names directly below path among the recorded paths: for hand-written machines without listings.
  [[nodiscard]] Names children(std::string_view path) const {
    const std::string prefix = path == "/" ? "/" : std::string(path) + "/";
    Names names;
    for (auto entry = recording_.lower_bound(prefix); entry != recording_.end();) {
      const std::string& full = entry->first;
      if (!full.starts_with(prefix)) break;
      std::string name = full.substr(prefix.size(), full.find('/', prefix.size()) - prefix.size());
      entry = recording_.lower_bound(prefix + name + char('/' + 1));  // past everything below name
      if (full != prefix && (names.empty() || names.back() != name)) names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
  }

  Recording recording_;
  Scope scope_;
};

}  // namespace

std::unique_ptr<Root> make_memory_root(Recording recording, Scope scope) {
  return std::make_unique<MemoryRoot>(std::move(recording), scope);
}

}  // namespace angio::host
