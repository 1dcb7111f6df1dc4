#include "rdma_sources.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "command.hpp"
#include "host/clock.hpp"
#include "host/clock_root.hpp"
#include "host/ethtool_root.hpp"
#include "load_machine.hpp"
#include "probe/live_root.hpp"
#include "probe/snapshot/snapshot.hpp"

namespace angio::app {
namespace {

struct Name {
  std::string device;
  std::uint32_t port = 0;  // 0: all
};

Result<Name> parse_device(const std::string& text) {
  const std::size_t colon = text.find(':');
  Name name{text.substr(0, colon)};
  const auto port =
      colon == std::string::npos ? std::optional(0U) : parse_integer<std::uint32_t>(text.substr(colon + 1));
  if (name.device.empty() || !port || (colon != std::string::npos && *port == 0))
    return fail(ErrorCode::kInvalidInput, "--device: \"" + printable(text) + "\" names no port",
                "Write DEVICE or DEVICE:PORT, for example mlx5_0 or mlx5_0:1");
  name.port = *port;
  return name;
}

bool is_of(const Name& name, const std::string& device, std::uint32_t port) {
  return name.device == device && (name.port == 0 || name.port == port);
}

constexpr std::string_view kSnapshotStart = "angio snapshot";

Result<Captured> read_tree(const std::string& path) {
  auto root = probe::make_tree_root(path);
  if (!root) return std::unexpected(std::move(root.error()));
  if (!(*root)->exists("/sys"))
    return fail(ErrorCode::kInvalidInput, printable(path) + ": no sys in this directory",
                "Name the directory that holds sys");
  Captured captured;
  captured.reading = probe::read_rdma_counters(**root);
  auto machine = load_machine(path);
  if (!machine) return std::unexpected(std::move(machine.error()));
  captured.machine = std::move(*machine);
  captured.reading.host = captured.machine.software.hostname.value_or("");
  captured.reading.origin = "directory " + path;
  return captured;
}

Result<Captured> read_snapshot(const std::string& path, const std::string& bytes) {
  const std::string name = path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
  auto snapshot = probe::parse_snapshot(bytes, name);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  Captured captured;
  {
    const auto root = host::make_memory_root(snapshot->recording, snapshot->scope);
    captured.reading = probe::read_rdma_counters(*root);
  }
  for (const model::Note& note : snapshot->notes) {
    captured.reading.notes.push_back(note.text + ": " + note.remedy);
    if (note.id == "snap.truncated") captured.reading.complete = false;
  }
  captured.reading.host = snapshot->host;
  captured.reading.captured = snapshot->captured;
  captured.reading.origin = "snapshot " + name;
  captured.machine = probe::machine_of(std::move(*snapshot), name);
  return captured;
}

}  // namespace

Result<probe::WantedPort> parse_devices(const std::vector<std::string>& devices) {
  if (devices.empty()) return probe::WantedPort{};
  std::vector<Name> names;
  for (const std::string& device : devices) {
    Result<Name> name = parse_device(device);
    if (!name) return std::unexpected(std::move(name.error()));
    names.push_back(std::move(*name));
  }
  return probe::WantedPort([names = std::move(names)](const std::string& device, std::uint32_t port) {
    return std::ranges::any_of(names, [&](const Name& name) { return is_of(name, device, port); });
  });
}

Result<void> check_devices(const std::vector<std::string>& devices, const model::RdmaReading& all) {
  for (const std::string& text : devices) {
    Result<Name> name = parse_device(text);
    if (!name) return std::unexpected(std::move(name.error()));
    const auto same = [&](const model::RdmaPortReading& port) {
      return is_of(*name, port.device, port.port);
    };
    if (std::ranges::any_of(all.ports, same)) continue;
    std::vector<std::string> there;
    for (const model::RdmaPortReading& port : all.ports)
      there.push_back(printable(port.device) + ":" + std::to_string(port.port));
    return fail(ErrorCode::kNotFound, "there is no RDMA port " + printable(text),
                there.empty() ? (all.problem.empty() ? "There are none" : printable(all.problem))
                              : "There are " + join(there, ", "));
  }
  return {};
}

Result<std::unique_ptr<host::Root>> open_counters_root() {
  auto files = host::open_directory_root("/");
  if (!files) return files;
  auto root = std::make_unique<host::MountedRoot>(std::move(*files));
  root->mount("/@ethtool", host::make_ethtool_root());
  root->mount("/@clock", host::make_clock_root());
  return root;
}

model::RdmaReading read_this_host(const host::Root& root, const probe::WantedPort& wanted) {
  model::RdmaReading reading = probe::read_rdma_counters(root, wanted);
  reading.host = trim(root.read("/proc/sys/kernel/hostname").value_or(""));
  reading.origin = "live";
  reading.captured = host::utc_text(host::make_system_clock()->now());
  return reading;
}

Result<Captured> read_captured(const std::string& path) {
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) return read_tree(path);
  auto bytes = read_input(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  if (!bytes->starts_with(kSnapshotStart))
    return fail(ErrorCode::kInvalidInput,
                (path == "-" ? std::string("standard input") : printable(path)) + ": is no snapshot",
                "angio collect writes them; a directory that holds sys is read as well");
  return read_snapshot(path, *bytes);
}

}  // namespace angio::app
