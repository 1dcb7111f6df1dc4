#include "ring_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <new>
#include <optional>
#include <span>
#include <string_view>

namespace angio::profiler {
namespace {

using profile_ring::Header;
using profile_ring::kHeaderSize;
using profile_ring::kLanes;
using profile_ring::Lane;
using profile_ring::Slot;

constexpr std::size_t kHostName = 64;

std::string failed(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

// Small files of /proc, into letters; empty when it cannot be read.
std::string_view read_small(const char* path, std::span<char> letters) {
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t got = file.get() < 0 ? 0 : read(file.get(), letters.data(), letters.size());
  std::string_view text(letters.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (text.ends_with('\n') || text.ends_with('\0'))
    text.remove_suffix(1);
  return text;
}

// Field 22 of /proc/self/stat; the name in field 2 may hold blanks and brackets, so count from its end.
std::uint64_t process_start() {
  std::array<char, 4096> letters{};
  const std::string_view stat = read_small("/proc/self/stat", letters);
  std::size_t at = stat.rfind(')');
  for (int field = 2; field < 22 && at != std::string_view::npos; ++field)
    at = stat.find(' ', at + 1);
  std::uint64_t start = 0;
  if (at != std::string_view::npos) std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), start);
  return start;
}

std::uint64_t now(clockid_t clock) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

// One moment on both clocks: the closest of a few tries.
void take_anchor(Header& header) {
  header.anchor_error_ns = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = now(CLOCK_MONOTONIC);
    const std::uint64_t wall = now(CLOCK_REALTIME);
    const std::uint64_t gap = now(CLOCK_MONOTONIC) - before;
    if (gap >= header.anchor_error_ns) continue;
    header.monotonic_ns = before + gap / 2;
    header.realtime_ns = wall;
    header.anchor_error_ns = gap;
  }
}

template <std::size_t N>
void put(std::string_view text, std::array<char, N>& letters) {
  letters.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), N - 1), letters.begin());
}

using HostName = std::array<char, kHostName>;

HostName host_name() {
  HostName name{};
  if (gethostname(name.data(), name.size() - 1) != 0) put("unknown", name);
  return name;
}

// Ours alone: somebody else's folder, or one that others may write, could make us write where they want.
std::string check_directory(const Settings& settings, int directory) {
  struct stat about{};
  if (fstat(directory, &about) != 0) return failed(settings.directory);
  if (!settings.own_directory) return {};
  if (about.st_uid != geteuid())
    return settings.directory + " belongs to user " + std::to_string(about.st_uid);
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) return settings.directory + " may be written by others";
  return {};
}

// Nothing when the folder cannot be listed: then there is no telling what a new file would make of the limit.
std::optional<std::uint64_t> bytes_in(int directory) {
  const int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = own < 0 ? nullptr : fdopendir(own);
  if (list == nullptr) {
    const int why = errno;
    if (own >= 0) close(own);
    errno = why;
    return std::nullopt;
  }
  std::uint64_t total = 0;
  while (const dirent* entry = readdir(list)) {
    struct stat about{};
    if (std::string_view(entry->d_name).ends_with(profile_ring::kSuffix) &&
        fstatat(directory, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode))
      total += static_cast<std::uint64_t>(about.st_size);
  }
  closedir(list);
  return total;
}

// Half of the slots are for steps when there are steps.
std::array<std::uint64_t, kLanes> lane_capacities(const Settings& settings) {
  const auto bit = [](profile_ring::EventKind kind) {
    return std::uint64_t{1} << static_cast<unsigned>(kind);
  };
  const std::uint64_t steps = bit(profile_ring::EventKind::kProxyStep) |
                              bit(profile_ring::EventKind::kProxyControl) |
                              bit(profile_ring::EventKind::kNetwork);
  if ((settings.mask & steps) == 0) return {settings.events / 2, settings.events / 2, 0};
  return {settings.events / 4, settings.events / 4, settings.events / 2};
}

// Allocates nothing: the file is there already, and stays.
void fill_header(const Settings& settings, Header& header) noexcept {
  header.magic = profile_ring::kMagic;
  header.format = profile_ring::kFormat;
  header.header_size = kHeaderSize;
  header.slot_size = sizeof(Slot);
  header.process = static_cast<std::uint32_t>(getpid());
  header.process_start = process_start();
  struct stat space{};
  if (stat("/proc/self/ns/pid", &space) == 0) header.pid_namespace = space.st_ino;
  take_anchor(header);
  header.mask = settings.mask;
  header.rank = -1;
  put(host_name().data(), header.host);
  std::array<char, 64> boot{};
  put(read_small("/proc/sys/kernel/random/boot_id", boot), header.boot);
  const auto capacities = lane_capacities(settings);
  std::uint64_t offset = kHeaderSize;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    header.lanes[lane] = {.offset = offset, .capacity = capacities[lane]};
    offset += capacities[lane] * sizeof(Slot);
  }
}

// A file of the size, all its pages there, mapped; unlinked again when that fails.
std::string map_new_file(int directory, const std::string& name, std::size_t size, Mapping& mapping) {
  const Descriptor file(
      openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.get() < 0) return failed("cannot make " + name);
  errno = posix_fallocate(file.get(), 0, static_cast<off_t>(size));
  if (errno == 0) {
    void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
    if (bytes != MAP_FAILED) {
      mapping = {static_cast<unsigned char*>(bytes), size};
      return {};
    }
  }
  const int why = errno;
  unlinkat(directory, name.c_str(), 0);
  errno = why;
  return failed("no room for " + std::to_string(size) + " bytes in " + name);
}

}  // namespace

std::string make_ring_file(const Settings& settings, std::uint32_t number, Mapping& mapping) {
  if (mkdir(settings.directory.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return failed("cannot make the folder " + settings.directory);
  // A folder that the user names may be a link, as scratch folders are; the default one in /dev/shm, where
  // anybody can make links, may not.
  const int follow = settings.own_directory ? O_NOFOLLOW : 0;
  const Descriptor directory(open(settings.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow));
  if (directory.get() < 0) return failed(settings.directory);
  if (std::string wrong = check_directory(settings, directory.get()); !wrong.empty()) return wrong;
  const std::size_t size = kHeaderSize + settings.events * sizeof(Slot);
  const std::optional<std::uint64_t> held = bytes_in(directory.get());
  if (!held) return failed("cannot list " + settings.directory);
  if (*held + size > settings.total)
    return settings.directory + " holds nearly ANGIO_PROFILER_TOTAL_MAX = " + std::to_string(settings.total) +
           " bytes; remove those of ended processes with: angio profile clean";
  const std::uint64_t start = now(CLOCK_REALTIME) / 1'000'000'000;
  const std::string name = std::string(host_name().data()) + "-" + std::to_string(getpid()) + "-" +
                           std::to_string(start) + "-" + std::to_string(number) + profile_ring::kSuffix;
  if (std::string wrong = map_new_file(directory.get(), name, size, mapping); !wrong.empty()) return wrong;
  fill_header(settings, *new (mapping.bytes) Header{});
  return {};
}

}  // namespace angio::profiler
