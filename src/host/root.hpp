// Root: the only way anything in Angio sees a machine. A live host, a directory tree captured by
// someone else, a .snap file and a test's text all look the same through it.
// Also library answers: NVML, verbs, limits and the environment appear as files under "/@nvml",
// "/@verbs", "/@limits", "/@env", so that one recorder captures everything a probe ever asked.
// Not for acting on a machine: Root only reads.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace angio::host {

// Asked of a snapshot that never looked there: not a statement about the machine.
inline constexpr int kNotCollected = -1;

// Why a read gave nothing. error is an errno value (ENOENT: it is not there) or kNotCollected;
// detail carries a library's own words where errno cannot ("Driver/library version mismatch").
struct ReadError {
  int error = 0;
  std::string detail;
  bool operator==(const ReadError&) const = default;
};

template <typename T>
using Read = std::expected<T, ReadError>;
using Names = std::vector<std::string>;

class Root {
 public:
  Root() = default;
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  virtual ~Root() = default;

  // Paths are absolute within the root. Content is bounded (kMaxFileSize; beyond it EFBIG).
  [[nodiscard]] virtual Read<std::string> read(std::string_view path) const = 0;
  // Names in a directory, sorted, without "." and "..".
  [[nodiscard]] virtual Read<Names> list(std::string_view path) const = 0;
  [[nodiscard]] virtual Read<std::string> read_link(std::string_view path) const = 0;
  // True when the path is there, readable or not.
  [[nodiscard]] virtual bool exists(std::string_view path) const = 0;
  // False for everything captured: launch, bench and setters refuse.
  [[nodiscard]] virtual bool is_live() const = 0;
};

inline constexpr std::size_t kMaxFileSize = std::size_t{64} << 20U;

// What one path answered. Each question asked of it is kept apart.
struct Answers {
  std::optional<Read<std::string>> content;
  std::optional<Read<Names>> names;
  std::optional<Read<std::string>> link;
  std::optional<bool> exists;
};
using Recording = std::map<std::string, Answers, std::less<>>;

// A directory of the real file system as a root; "/" is the live host.
// Links are resolved inside the directory (openat2 RESOLVE_IN_ROOT) and cannot leave it.
Result<std::unique_ptr<Root>> open_directory_root(const std::string& directory);

// Whether a path that a recording does not mention is absent or simply unknown.
enum class Scope {
  kRecorded,  // unmentioned: kNotCollected, unless its directory was listed without it
  kComplete,  // unmentioned: ENOENT. For synthetic machines and whole captured trees
};
std::unique_ptr<Root> make_memory_root(Recording recording, Scope scope);

// Passes everything through to inner and remembers what was asked and answered. Not thread-safe.
class RecordingRoot : public Root {
 public:
  explicit RecordingRoot(const Root& inner) : inner_(inner) {}
  [[nodiscard]] Read<std::string> read(std::string_view path) const override;
  [[nodiscard]] Read<Names> list(std::string_view path) const override;
  [[nodiscard]] Read<std::string> read_link(std::string_view path) const override;
  [[nodiscard]] bool exists(std::string_view path) const override;
  [[nodiscard]] bool is_live() const override { return inner_.is_live(); }
  [[nodiscard]] const Recording& recording() const { return recording_; }

 private:
  Answers& at(std::string_view path) const;
  const Root& inner_;
  mutable Recording recording_;
};

// base with others mounted at absolute prefixes ("/@nvml"); the longest prefix wins.
class MountedRoot : public Root {
 public:
  explicit MountedRoot(std::unique_ptr<Root> base) : base_(std::move(base)) {}
  void mount(std::string prefix, std::unique_ptr<Root> root);
  [[nodiscard]] Read<std::string> read(std::string_view path) const override;
  [[nodiscard]] Read<Names> list(std::string_view path) const override;
  [[nodiscard]] Read<std::string> read_link(std::string_view path) const override;
  [[nodiscard]] bool exists(std::string_view path) const override;
  [[nodiscard]] bool is_live() const override { return base_->is_live(); }

 private:
  [[nodiscard]] std::pair<const Root*, std::string_view> resolve(std::string_view path) const;
  std::unique_ptr<Root> base_;
  std::vector<std::pair<std::string, std::unique_ptr<Root>>> mounts_;
};

}  // namespace angio::host
