#include "bench/available.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "bench/proc_text.hpp"

namespace angio::bench {
namespace {

// Names of Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
struct Controller {
  std::string mount;
  std::string path;  // of this process below it
  const char* limit;
  const char* use;
};

std::optional<Controller> find_controller(const host::Root& root) {
  const auto text = root.read("/proc/self/cgroup");
  if (!text) return std::nullopt;
  std::optional<Controller> second;
  for (const std::string_view line : split_lines(*text)) {
    const auto parts = split(line, ':');
    if (parts.size() != 3) continue;
    const std::string path(parts[2] == "/" ? "" : parts[2]);
    for (const std::string_view name : split(parts[1], ',')) {
      if (name != "memory") continue;
      return Controller{"/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes"};
    }
    if (parts[0] == "0") second = Controller{"/sys/fs/cgroup", path, "memory.max", "memory.current"};
  }
  return second;
}

std::optional<std::uint64_t> read_number(const host::Root& root, const std::string& path) {
  const auto text = root.read(path);
  return text ? parse_integer<std::uint64_t>(trim(*text)) : std::nullopt;
}

std::optional<Bytes> left_in(const host::Root& root, const std::string& directory,
                             const Controller& controller) {
  const auto limit = read_number(root, directory + "/" + controller.limit);  // "max": no number, no limit
  if (!limit) return std::nullopt;
  const std::uint64_t use = read_number(root, directory + "/" + controller.use).value_or(0);
  return Bytes{*limit > use ? *limit - use : 0};
}

}  // namespace

std::optional<Bytes> available_on_node(std::string_view meminfo) {
  std::optional<std::uint64_t> free;
  std::uint64_t cache = 0;
  for (const std::string_view line : split_lines(meminfo)) {
    if (!free) free = kibibytes_after(line, "MemFree:");
    cache += kibibytes_after(line, "Inactive(file):").value_or(0);
  }
  if (!free) return std::nullopt;
  return Bytes{(*free + cache / 2) << 10U};
}

std::optional<Bytes> left_in_cgroups(const host::Root& root) {
  const std::optional<Controller> controller = find_controller(root);
  if (!controller) return std::nullopt;
  std::optional<Bytes> least;
  for (std::string path = controller->path;; path.erase(path.rfind('/'))) {
    const auto left = left_in(root, controller->mount + path, *controller);
    if (left) least = std::min(least.value_or(*left), *left);
    if (path.rfind('/') == std::string::npos) break;
  }
  return least;
}

Available read_available(const model::Numa& numa, const host::Root& root) {
  Available available;
  available.of_cgroup = left_in_cgroups(root);
  for (const model::NumaNode& node : numa.nodes) {
    const auto text = root.read(fmt::format("/sys/devices/system/node/node{}/meminfo", node.id.value));
    const auto bytes = text ? available_on_node(*text) : std::nullopt;
    if (bytes) available.on_node[node.id.value] = *bytes;
  }
  if (!numa.nodes.empty()) return available;
  const auto text = root.read("/proc/meminfo");
  if (const auto bytes = text ? available_on_node(*text) : std::nullopt) available.on_node[0] = *bytes;
  return available;
}

}  // namespace angio::bench
