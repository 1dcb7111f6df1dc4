#include "nccl_run/shared_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "base/text.hpp"
#include "host/process_start.hpp"

namespace angio::nccl_run {
namespace {

constexpr std::string_view kPlace = "/dev/shm";
constexpr std::string_view kPrefix = "angio-dryrun.";
constexpr int kMostRunsAtOnce = 64;  // of one process
constexpr int kMostTries = 200;      // with 10 ms between: nodes that the same blow hit are dying still

// The folder is flat: NCCL makes files only. False when something stays, as when a dying node still makes
// files.
bool remove_folder(const host::Root& root, const std::string& path) {
  if (const host::Read<host::Names> names = root.list(path)) {
    for (const std::string& name : *names)
      unlink((path + "/" + name).c_str());
  }
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

bool is_ours(const std::string& path) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

void remove_dead(const host::Root& root) {
  const host::Read<host::Names> names = root.list(kPlace);
  const std::optional<std::uint64_t> own = own_pid_namespace(root);
  if (!names || !own) return;
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", kPlace, name);
    if (is_left_over(root, *own, name) && is_ours(path)) remove_folder(root, path);
  }
}

void close_all_but(int kept) {
  // One call where the kernel has it (5.9), else one by one.
  const auto close_range = [](unsigned first, unsigned last) {
    return syscall(SYS_close_range, first, last, 0U) == 0;
  };
  const auto number = static_cast<unsigned>(kept);
  if ((kept == 0 || close_range(0, number - 1)) && close_range(number + 1, UINT_MAX)) return;
  constexpr long kMost = 65536;  // of ours: a handful, and numbers are given from the bottom
  const long most = std::min(sysconf(_SC_OPEN_MAX), kMost);
  for (int fd = 0; fd < most; ++fd) {
    if (fd != kept) close(fd);
  }
}

// The helper's whole life: out of the terminal's reach, it waits for the end of the run, however that comes.
[[noreturn]] void wait_and_remove(const std::string& path, int alive) {
  close_all_but(alive);
  setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    (void)std::signal(signal, SIG_IGN);
  char byte = 0;
  ssize_t count = 0;
  do {
    count = read(alive, &byte, 1);
  } while (count > 0 || (count < 0 && errno == EINTR));
  const auto root = host::open_directory_root("/");
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 10'000'000};
  for (int tries = 0; root && tries < kMostTries && !remove_folder(**root, path); ++tries)
    nanosleep(&kPause, nullptr);
  std::_Exit(0);
}

Result<std::string> make_folder(const FolderOwner& owner) {
  const std::string first = fmt::format("{}/{}", kPlace, folder_name(owner));
  for (int i = 0; i < kMostRunsAtOnce; ++i) {
    const std::string path = i == 0 ? first : fmt::format("{}.{}", first, i);
    if (mkdir(path.c_str(), S_IRWXU) == 0) return path;
    if (errno != EEXIST) break;
  }
  return fail(ErrorCode::kIo, fmt::format("cannot make a folder for NCCL's shared memory in {}: {}", kPlace,
                                          errno_text(errno)));
}

}  // namespace

std::string folder_name(const FolderOwner& owner) {
  return fmt::format("{}{}.{}.{}", kPrefix, owner.process, owner.start, owner.pid_namespace);
}

std::optional<FolderOwner> parse_folder_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::vector<std::string_view> parts = split(name.substr(kPrefix.size()), '.');
  if (parts.size() != 3 && parts.size() != 4) return std::nullopt;
  const std::optional<int> process = parse_integer<int>(parts[0]);
  const std::optional<std::uint64_t> start = parse_integer<std::uint64_t>(parts[1]);
  const std::optional<std::uint64_t> pid_namespace = parse_integer<std::uint64_t>(parts[2]);
  const bool counted = parts.size() == 3 || parse_integer<std::uint32_t>(parts[3]);
  if (!process || *process <= 0 || !start || !pid_namespace || !counted) return std::nullopt;
  return FolderOwner{*process, *start, *pid_namespace};
}

std::optional<std::uint64_t> own_pid_namespace(const host::Root& root) {
  constexpr std::string_view kBefore = "pid:[";
  const host::Read<std::string> link = root.read_link("/proc/self/ns/pid");
  if (!link || !link->starts_with(kBefore) || !link->ends_with(']')) return std::nullopt;
  return parse_integer<std::uint64_t>(
      std::string_view(*link).substr(kBefore.size(), link->size() - kBefore.size() - 1));
}

bool is_left_over(const host::Root& root, std::uint64_t own_namespace, std::string_view name) {
  const std::optional<FolderOwner> owner = parse_folder_name(name);
  return owner && owner->pid_namespace == own_namespace && start_time(root, owner->process) != owner->start;
}

std::optional<std::uint64_t> start_time(const host::Root& root, int process) {
  const auto start = host::read_process_start(root, static_cast<std::uint32_t>(process));
  return start ? std::optional(start->ticks) : std::nullopt;
}

Result<SharedFolder> SharedFolder::make(const host::Root& root) {
  remove_dead(root);
  const FolderOwner owner{getpid(), start_time(root, getpid()).value_or(0),
                          own_pid_namespace(root).value_or(0)};
  Result<std::string> path = make_folder(owner);
  if (!path) return std::unexpected(path.error());
  SharedFolder folder;
  folder.path_ = std::move(*path);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, fmt::format("cannot make a pipe: {}", errno_text(errno)));
  const host::Descriptor reading(ends[0]);
  folder.alive_ = host::Descriptor(ends[1]);
  folder.helper_ = fork();
  if (folder.helper_ == 0) wait_and_remove(folder.path_, reading.get());
  // Without the helper the next start cleans up.
  return folder;
}

SharedFolder::SharedFolder(SharedFolder&& other) noexcept {
  *this = std::move(other);
}

SharedFolder& SharedFolder::operator=(SharedFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(alive_, other.alive_);
  std::swap(helper_, other.helper_);
  return *this;
}

SharedFolder::~SharedFolder() {
  if (path_.empty()) return;
  alive_ = host::Descriptor();
  // With the helper it is the helper that removes; it ends at once.
  if (helper_ > 0) {
    while (waitpid(helper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (const auto root = host::open_directory_root("/"); root) remove_folder(**root, path_);
}

}  // namespace angio::nccl_run
