#include "launch/supervisor_children.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "host/descriptor.hpp"

namespace angio::launch {
namespace {

// Files of /proc have no size; these are short.
std::optional<std::string> read_small(const std::string& path) {
  const host::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  constexpr std::size_t kChunk = 4096;
  std::string text;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    const ssize_t count = read(file.get(), text.data() + size, kChunk);
    text.resize(size + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count <= 0) return text;
  }
}

// proc(5): "pid (comm) state ppid ..."; comm may hold anything, parentheses too.
std::optional<int> parent_in_stat(std::string_view stat) {
  const std::size_t end = stat.rfind(')');
  if (end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = split_words(stat.substr(end + 1));
  return words.size() > 1 ? parse_integer<int>(words[1]) : std::nullopt;
}

// For kernels without CONFIG_PROC_CHILDREN.
std::vector<int> search_children() {
  std::vector<int> found;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return found;
  const int self = getpid();
  while (const dirent* entry = readdir(directory)) {
    const auto pid = parse_integer<int>(std::string_view(entry->d_name));
    if (!pid) continue;
    const auto stat = read_small("/proc/" + std::to_string(*pid) + "/stat");
    if (stat && parent_in_stat(*stat) == self) found.push_back(*pid);
  }
  closedir(directory);
  return found;
}

}  // namespace

bool adopt_orphans() {
  return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

std::vector<int> list_children() {
  const std::string self = std::to_string(getpid());
  const auto text = read_small("/proc/" + self + "/task/" + self + "/children");
  if (!text) return search_children();
  std::vector<int> found;
  for (const std::string_view word : split_words(*text)) {
    if (const auto pid = parse_integer<int>(word)) found.push_back(*pid);
  }
  return found;
}

std::string name_of_process(int pid) {
  const auto text = read_small("/proc/" + std::to_string(pid) + "/comm");
  return text ? printable(trim(*text)) : std::string();
}

bool is_exiting(int pid) {
  const auto text = read_small("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return false;
  // The name in brackets may hold anything; behind it: state, ppid, pgrp, session, tty, tpgid, flags.
  const std::size_t end = text->rfind(')');
  if (end == std::string::npos) return false;
  const auto words = split_words(std::string_view(*text).substr(end + 1));
  constexpr std::size_t kFlags = 6;
  constexpr std::uint64_t kExiting = 0x4;  // include/linux/sched.h, PF_EXITING
  const auto flags = words.size() > kFlags ? parse_integer<std::uint64_t>(words[kFlags]) : std::nullopt;
  return flags && (*flags & kExiting) != 0;
}

bool is_dumping_core(int pid) {
  const auto text = read_small("/proc/" + std::to_string(pid) + "/status");
  return text && contains(*text, "\nCoreDumping:\t1\n");
}

Adopted::Adopted() {
  for (const int pid : list_children())
    before_.insert(pid);
}

std::vector<int> Adopted::living(const std::set<int>& known) const {
  std::vector<int> found;
  for (const int pid : list_children()) {
    if (before_.contains(pid) || known.contains(pid)) continue;
    if (waitpid(pid, nullptr, WNOHANG) == 0) found.push_back(pid);
  }
  return found;
}

}  // namespace angio::launch
