#include "profile_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/text.hpp"
#include "host/descriptor.hpp"
#include "host/process_start.hpp"
#include "profile_ring/reader.hpp"

namespace angio::app {
namespace {

using profile::Liveness;

// This machine and this container's processes, to tell whether a process number means something here.
struct Here {
  std::unique_ptr<host::Root> root;  // null: nothing can be told
  std::string boot;
  std::uint64_t pid_namespace = 0;
};

Here find_here() {
  Here here;
  if (auto root = host::open_directory_root("/")) here.root = std::move(*root);
  if (here.root) here.boot = trim(here.root->read("/proc/sys/kernel/random/boot_id").value_or(""));
  struct stat about{};
  if (stat("/proc/self/ns/pid", &about) == 0) here.pid_namespace = about.st_ino;
  return here;
}

Liveness liveness_of(const profile_ring::RingFile& file, const Here& here) {
  const profile_ring::Header& header = file.header;
  if (here.boot.empty() || file.boot != here.boot || header.pid_namespace != here.pid_namespace)
    return Liveness::kUnknown;
  const auto start = host::read_process_start(*here.root, header.process);
  const bool runs = start && !start->ended && start->ticks == header.process_start;
  return runs ? Liveness::kRunning : Liveness::kEnded;
}

Result<std::vector<std::string>> list_rings(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> list(opendir(directory.c_str()), closedir);
  if (!list) {
    const int why = errno;
    return fail(
        why == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, printable(directory) + ": " + errno_text(why),
        why == ENOENT ? "Run the job with NCCL_PROFILER_PLUGIN=angio; docs/profiler.md says how" : "");
  }
  std::vector<std::string> paths;
  while (const dirent* entry = readdir(list.get()))
    if (std::string_view(entry->d_name).ends_with(profile_ring::kSuffix))
      paths.push_back(directory + "/" + entry->d_name);
  std::ranges::sort(paths);
  return paths;
}

bool is_folder(const std::string& path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

// An open file that is a file: a pipe or device named like a ring would hang whoever opens or reads it.
struct Opened {
  host::Descriptor file;
  struct stat about{};
};

Result<Opened> open_regular(const std::string& path, int flags) {
  Opened opened{host::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)), {}};
  if (opened.file.get() < 0 || fstat(opened.file.get(), &opened.about) != 0) {
    const int why = errno;
    return fail(why == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                printable(path) + ": cannot open: " + errno_text(why));
  }
  if (!S_ISREG(opened.about.st_mode))
    return fail(ErrorCode::kInvalidInput, printable(path) + " is no regular file");
  return opened;
}

// Goes on until so many bytes are there; fewer where the file ends.
Result<void> read_until(const Opened& opened, const std::string& path, std::size_t size, std::string& bytes) {
  std::size_t done = bytes.size();
  bytes.resize(std::max(done, std::min(size, static_cast<std::size_t>(opened.about.st_size))));
  while (done < bytes.size()) {
    const ssize_t got = read(opened.file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::kIo, printable(path) + ": cannot read: " + errno_text(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return {};
}

// What is no ring file is refused by its first bytes, however long it is.
Result<profile_ring::RingFile> read_header(const Opened& opened, const std::string& path,
                                           std::string& bytes) {
  if (auto read = read_until(opened, path, profile_ring::kHeaderSize, bytes); !read)
    return std::unexpected(std::move(read.error()));
  return profile_ring::read_ring(bytes, path);
}

Result<profile_ring::RingFile> read_whole(const std::string& path) {
  const auto opened = open_regular(path, 0);
  if (!opened) return std::unexpected(opened.error());
  std::string bytes;
  auto file = read_header(*opened, path, bytes);
  if (!file) return file;
  if (auto read = read_until(*opened, path, profile_ring::bytes_announced(file->header), bytes); !read)
    return std::unexpected(std::move(read.error()));
  return profile_ring::read_ring(bytes, path);
}

Liveness liveness_of_own(const Opened& opened, const std::string& path, const Here& here) {
  if (opened.about.st_uid != geteuid()) return Liveness::kUnknown;
  std::string bytes;
  const auto file = read_header(opened, path, bytes);
  return file ? liveness_of(*file, here) : Liveness::kUnknown;
}

// Removes one file of ours whose process is gone, and counts it.
void clean_file(const std::string& path, const Here& here, Cleaned& cleaned) {
  const auto opened = open_regular(path, O_NOFOLLOW);
  const Liveness liveness = opened ? liveness_of_own(*opened, path, here) : Liveness::kUnknown;
  if (liveness == Liveness::kEnded && unlink(path.c_str()) == 0) {
    ++cleaned.removed;
    cleaned.bytes += static_cast<std::uint64_t>(opened->about.st_size);
  } else if (liveness == Liveness::kRunning) {
    ++cleaned.running;
  } else {
    ++cleaned.unknown;
  }
}

}  // namespace

std::string default_profile_directory() {
  const char* named = std::getenv("ANGIO_PROFILER_DIR");
  if (named != nullptr && *named != '\0') return named;
  return "/dev/shm/angio-profiler-" + std::to_string(geteuid());
}

Result<std::vector<std::string>> find_profile_files(const std::vector<std::string>& named) {
  std::vector<std::string> paths;
  const std::vector<std::string> places = named.empty() ? std::vector{default_profile_directory()} : named;
  for (const std::string& place : places) {
    if (!is_folder(place) && !named.empty()) {
      paths.push_back(place);
      continue;
    }
    auto rings = list_rings(place);
    if (!rings) return std::unexpected(std::move(rings.error()));
    if (rings->empty())
      return fail(ErrorCode::kNotFound, printable(place) + " has no *.ring file",
                  "The profiler plugin says in NCCL's log why it is off: NCCL_DEBUG=INFO");
    paths.insert(paths.end(), rings->begin(), rings->end());
  }
  return paths;
}

Result<std::vector<profile::Input>> read_profile_files(const std::vector<std::string>& paths,
                                                       std::vector<std::string>& problems) {
  const Here here = find_here();
  std::vector<profile::Input> inputs;
  std::optional<Error> first;
  for (const std::string& path : paths) {
    auto file = read_whole(path);
    if (!file) {
      problems.push_back(file.error().message);
      if (!first) first = std::move(file.error());
      continue;
    }
    const Liveness liveness = liveness_of(*file, here);
    inputs.push_back({std::move(*file), liveness});
  }
  if (inputs.empty() && first) return std::unexpected(std::move(*first));
  return inputs;
}

Result<Cleaned> clean_profile_files(const std::string& directory) {
  auto paths = list_rings(directory);
  if (!paths) return std::unexpected(std::move(paths.error()));
  const Here here = find_here();
  Cleaned cleaned;
  for (const std::string& path : *paths)
    clean_file(path, here, cleaned);
  return cleaned;
}

}  // namespace angio::app
