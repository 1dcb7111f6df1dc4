// The folder below /dev/shm for files that NCCL shares between its ranks, and its end: it is removed when the
// run ends, by a small process of our own when the run is killed, and at the next start when both were.
// Its name holds the process, its start time, so that a number used again is no mistake, and its PID
// namespace: containers may share /dev/shm, and another one's processes cannot be seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "host/descriptor.hpp"
#include "host/root.hpp"

namespace angio::nccl_run {

struct FolderOwner {
  int process = 0;
  std::uint64_t start = 0;          // field 22 of /proc/PID/stat, clock ticks after boot
  std::uint64_t pid_namespace = 0;  // inode of /proc/PID/ns/pid
  bool operator==(const FolderOwner&) const = default;
};
std::string folder_name(const FolderOwner& owner);                    // "angio-dryrun.4711.123456.4026531836"
std::optional<FolderOwner> parse_folder_name(std::string_view name);  // also with ".2" behind it
// Of this process; none: /proc does not say.
std::optional<std::uint64_t> own_pid_namespace(const host::Root& root);
std::optional<std::uint64_t> start_time(const host::Root& root, int process);

// A folder of this PID namespace whose process is gone.
bool is_left_over(const host::Root& root, std::uint64_t own_namespace, std::string_view name);

class SharedFolder {
 public:
  SharedFolder() = default;
  SharedFolder(SharedFolder&& other) noexcept;
  SharedFolder& operator=(SharedFolder&& other) noexcept;
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder();

  // Cleans up after dead runs first. Errors: /dev/shm refuses.
  static Result<SharedFolder> make(const host::Root& root);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  host::Descriptor alive_;  // its end tells the helper that this process is gone
  int helper_ = 0;
};

}  // namespace angio::nccl_run
