#include "host/task_root.hpp"

#include <sched.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "host/discreet.hpp"

namespace angio::host {
namespace {

constexpr std::string_view kAffinity = "/affinity/";
constexpr std::string_view kOwner = "/owner/";
constexpr std::string_view kSegment = "/shm/";
constexpr const char* kSharedMemory = "/dev/shm";

std::unexpected<ReadError> failed(int error) {
  return std::unexpected(ReadError{error, {}});
}

Read<std::string> affinity_of(std::string_view name) {
  const auto id = parse_integer<std::uint32_t>(name);
  if (!id || *id == 0) return failed(ENOENT);  // 0 would be this thread
  constexpr std::size_t kBytes = (CpuSet::kMaxCpu + 1) / 8;
  alignas(cpu_set_t) std::array<std::uint64_t, kBytes / sizeof(std::uint64_t)> mask{};
  if (sched_getaffinity(static_cast<pid_t>(*id), kBytes, reinterpret_cast<cpu_set_t*>(mask.data())) != 0)
    return failed(errno);
  CpuSet cpus;
  for (std::uint32_t word = 0; word < mask.size(); ++word) {
    for (std::uint64_t rest = mask[word]; rest != 0; rest &= rest - 1)
      cpus.insert(word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(rest)));
  }
  return to_list(cpus);
}

Read<std::string> owner_of(std::string_view name) {
  if (!parse_integer<std::uint32_t>(name)) return failed(ENOENT);
  struct stat status{};
  if (stat(("/proc/" + std::string(name)).c_str(), &status) != 0) return failed(errno);
  return std::to_string(status.st_uid);
}

Read<std::string> segment_of(std::string_view name) {
  if (!is_training_segment(name) || contains(name, "/")) return failed(ENOENT);
  struct stat status{};
  if (lstat((std::string(kSharedMemory) + "/" + std::string(name)).c_str(), &status) != 0)
    return failed(errno);
  if (!S_ISREG(status.st_mode)) return failed(ENXIO);
  // Pages in use, not the file's length: that is what its removal gives back. stat(2): units of 512 bytes.
  return std::to_string(static_cast<std::uint64_t>(status.st_blocks) * 512) + " " +
         std::to_string(status.st_uid);
}

class TaskRoot final : public Root {
 public:
  explicit TaskRoot(std::unique_ptr<Root> files) : files_(std::move(files)) {}

  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    if (path.starts_with(kAffinity)) return affinity_of(path.substr(kAffinity.size()));
    if (path.starts_with(kOwner)) return owner_of(path.substr(kOwner.size()));
    if (path.starts_with(kSegment)) return segment_of(path.substr(kSegment.size()));
    return failed(ENOENT);
  }
  [[nodiscard]] Read<Names> list(std::string_view path) const override {
    if (path != "/shm" || files_ == nullptr) return failed(ENOENT);
    Read<Names> names = files_->list(kSharedMemory);
    if (names) std::erase_if(*names, [](const std::string& name) { return !is_training_segment(name); });
    return names;
  }
  [[nodiscard]] Read<std::string> read_link(std::string_view /*path*/) const override {
    return failed(EINVAL);
  }
  [[nodiscard]] bool exists(std::string_view path) const override { return read(path).has_value(); }
  [[nodiscard]] bool is_live() const override { return true; }

 private:
  std::unique_ptr<Root> files_;
};

}  // namespace

std::unique_ptr<Root> make_task_root() {
  Result<std::unique_ptr<Root>> files = open_directory_root("/");
  return std::make_unique<TaskRoot>(files ? std::move(*files) : nullptr);
}

}  // namespace angio::host
