#include "nccl_run/memory_guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"

namespace angio::nccl_run {
namespace {

constexpr int kShare = 20;  // the true measure takes at most one part in so many of the time

// The number behind "Pss:" in a text of lines "Pss:   123 kB".
std::optional<std::uint64_t> kilobytes_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : split_lines(text)) {
    if (!line.starts_with(key)) continue;
    const std::vector<std::string_view> words = split_words(line.substr(key.size()));
    if (words.empty()) return std::nullopt;
    return parse_integer<std::uint64_t>(words[0]);
  }
  return std::nullopt;
}

// Pages that are resident, times their size. A process that has ended holds nothing.
std::uint64_t resident(const host::Root& root, int process) {
  const host::Read<std::string> text = root.read(fmt::format("/proc/{}/statm", process));
  const std::vector<std::string_view> words = text ? split_words(*text) : std::vector<std::string_view>();
  const std::uint64_t pages = words.size() > 1 ? parse_integer<std::uint64_t>(words[1]).value_or(0) : 0;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t proportional(const host::Root& root, int process) {
  const host::Read<std::string> text = root.read(fmt::format("/proc/{}/smaps_rollup", process));
  const std::optional<std::uint64_t> kilobytes = text ? kilobytes_of(*text, "Pss:") : std::nullopt;
  return kilobytes ? *kilobytes << 10U : resident(root, process);
}

std::optional<std::uint64_t> number_in(const host::Root& root, const std::string& path) {
  const host::Read<std::string> text = root.read(path);
  return text ? parse_integer<std::uint64_t>(trim(*text)) : std::nullopt;
}

// Pages of files that nobody uses: given back before a group is refused memory.
std::uint64_t reclaimable(const host::Root& root, const std::string& group) {
  const host::Read<std::string> text = root.read(group + "/memory.stat");
  if (!text) return 0;
  for (const std::string_view line : split_lines(*text)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() == 2 && words[0] == "inactive_file")
      return parse_integer<std::uint64_t>(words[1]).value_or(0);
  }
  return 0;
}

void bound_by(std::uint64_t& available, std::optional<std::uint64_t> limit, std::optional<std::uint64_t> used,
              std::uint64_t reclaim) {
  if (!limit || !used) return;
  const std::uint64_t held = *used - std::min(*used, reclaim);
  available = std::min(available, *limit - std::min(*limit, held));
}

// The group and all above it: each may have the tightest limit.
void bound_by_groups(const host::Root& root, std::string group, bool second, std::uint64_t& available) {
  const std::string mount = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const char* limit = second ? "/memory.max" : "/memory.limit_in_bytes";
  const char* used = second ? "/memory.current" : "/memory.usage_in_bytes";
  while (!group.empty() && group.front() == '/') {
    const std::string folder = mount + (group == "/" ? "" : group);
    bound_by(available, number_in(root, folder + limit), number_in(root, folder + used),
             reclaimable(root, folder));
    if (group == "/") return;
    group.resize(std::max<std::size_t>(group.rfind('/'), 1));
  }
}

}  // namespace

std::uint64_t MemoryGuard::measure(std::span<const int> processes) {
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const std::uint64_t held = proportional(root_, processes[i]);
    if (held > most) largest_ = i;
    most = std::max(most, held);
    sum += held;
  }
  peak_ = std::max(peak_, sum);
  return sum;
}

bool MemoryGuard::is_beyond(std::span<const int> processes) {
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t sum = 0;
  for (const int process : processes)
    sum += resident(root_, process);
  if (sum <= limit_ && start < due_) return false;
  const std::uint64_t held = measure(processes);
  const auto end = std::chrono::steady_clock::now();
  due_ = end + (end - start) * kShare;
  return held > limit_;
}

std::optional<std::uint64_t> available_memory(const host::Root& root) {
  const host::Read<std::string> text = root.read("/proc/meminfo");
  const std::optional<std::uint64_t> kilobytes = text ? kilobytes_of(*text, "MemAvailable:") : std::nullopt;
  if (!kilobytes) return std::nullopt;
  std::uint64_t available = *kilobytes << 10U;
  const host::Read<std::string> groups = root.read("/proc/self/cgroup");
  for (const std::string_view line : groups ? split_lines(*groups) : std::vector<std::string_view>()) {
    const std::vector<std::string_view> parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool second = parts[0] == "0" && parts[1].empty();
    if (second || parts[1] == "memory") bound_by_groups(root, std::string(parts[2]), second, available);
  }
  return available;
}

}  // namespace angio::nccl_run
