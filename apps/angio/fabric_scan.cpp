#include "fabric_scan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "bench/interrupts.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "host/libraries.hpp"
#include "host/root.hpp"
#include "output_file.hpp"
#include "probe/umad/scan.hpp"

namespace angio::app {
namespace {

using probe::ScanPort;

std::string in_words(const ScanPort& port) {
  return fmt::format("{} port {}", printable(port.device), port.port);
}

// "mlx5_0:1", "mlx5_0"; the port of a device is 1 where none is given.
Result<ScanPort> parse_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  ScanPort port{text.substr(0, colon), 1};
  std::optional<std::uint32_t> number = 1;
  if (colon != std::string::npos)
    number = parse_integer<std::uint32_t>(std::string_view(text).substr(colon + 1));
  constexpr std::uint32_t kMost = 254;  // a port number has eight bits; 0 and 255 mean other things
  if (port.device.empty() || !number || *number == 0 || *number > kMost)
    return fail(ErrorCode::kInvalidInput, fmt::format("--from \"{}\" is no device and port", printable(text)),
                "Write it as mlx5_0:1");
  port.port = *number;
  return port;
}

// One line that is written over, where somebody watches.
class Progress {
 public:
  void show(std::uint32_t nodes, std::uint32_t waiting) {
    if (!watched_) return;
    shown_ = true;
    (void)write_all(STDERR_FILENO,
                    fmt::format("\r\x1b[K{}, {} waiting for an answer", count_of(nodes, "node"), waiting));
  }
  void clear() {
    if (std::exchange(shown_, false)) (void)write_all(STDERR_FILENO, "\r\x1b[K");
  }

 private:
  bool watched_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
};

// The node GUID that the kernel tells of a device; none: not told.
std::optional<std::uint64_t> guid_of(const ScanPort& port) {
  const auto root = host::open_directory_root("/");
  if (!root) return std::nullopt;
  auto text = (*root)->read("/sys/class/infiniband/" + port.device + "/node_guid");
  if (!text) return std::nullopt;
  std::string digits(trim(*text));
  std::erase(digits, ':');
  return parse_integer<std::uint64_t>(digits, 16);
}

// Whether a scan from another port met this one.
bool is_in(const model::Fabric& fabric, const ScanPort& port) {
  const auto guid = guid_of(port);
  if (!guid) return false;
  return std::ranges::any_of(fabric.nodes, [&](const model::FabricNode& node) {
    if (node.guid.value != *guid) return false;
    const model::FabricPort* found = model::find_port(node, port.port);
    return found != nullptr && found->peer.has_value();
  });
}

class Scanner {
 public:
  explicit Scanner(const FabricScanOptions& options) : loader_(host::make_library_loader()) {
    wish_.in_flight = options.in_flight;
    wish_.counters = !options.no_counters;
    wish_.patience = std::chrono::milliseconds{options.timeout_ms};
    wish_.limit = std::chrono::seconds{options.limit_s};
    wish_.progress = [this](std::uint32_t nodes, std::uint32_t waiting) { progress_.show(nodes, waiting); };
    wish_.stop = [this] { return stopped(); };
  }

  [[nodiscard]] bool stopped() const { return interrupts_.pending() != 0; }
  [[nodiscard]] Result<std::vector<ScanPort>> ports() const { return probe::list_scan_ports(*loader_); }

  Result<model::Fabric> scan(const ScanPort& port) {
    auto scan = probe::scan_fabric(*loader_, port, wish_);
    progress_.clear();
    if (!scan) return std::unexpected(std::move(scan.error()));
    work_.sent += scan->work.sent;
    work_.resent += scan->work.resent;
    work_.given_up += scan->work.given_up;
    work_.seconds += scan->work.seconds;
    return std::move(scan->fabric);
  }

  [[nodiscard]] std::string cost() const {
    std::string words = fmt::format("{} questions in {:.1f} s", work_.sent, work_.seconds);
    if (work_.resent > 0) words += fmt::format(", {} asked again", work_.resent);
    if (work_.given_up > 0) words += fmt::format(", {} without an answer", work_.given_up);
    return words;
  }

 private:
  bench::Interrupts interrupts_;
  std::unique_ptr<host::LibraryLoader> loader_;
  Progress progress_;
  probe::ScanOptions wish_;
  probe::ScanWork work_;
};

// Every subnet once. A port that fails is said and left out, as long as another one works.
Result<model::Fabric> scan_all(Scanner& scanner, const std::vector<ScanPort>& ports) {
  std::vector<model::Fabric> scans;
  std::optional<Error> trouble;
  for (const ScanPort& port : ports) {
    if (scanner.stopped() && !scans.empty()) break;
    if (std::ranges::any_of(scans, [&](const model::Fabric& scan) { return is_in(scan, port); })) continue;
    auto scan = scanner.scan(port);
    if (scan) {
      scans.push_back(*std::move(scan));
      continue;
    }
    say("angio: " + in_words(port) + " left out: " + scan.error().message);
    if (!trouble) trouble = std::move(scan.error());
  }
  if (scans.empty())
    return std::unexpected(trouble.value_or(Error{ErrorCode::kNotFound, "nothing was scanned", {}}));
  return scans.size() == 1 ? std::move(scans.front()) : fabric::merge(std::move(scans));
}

// Active ports whose subnet was not scanned, as far as the kernel tells which ports those are.
void remark_on_others(const std::vector<ScanPort>& ports, const model::Fabric& fabric,
                      std::vector<std::string>& remarks) {
  const auto elsewhere = std::ranges::count_if(
      ports, [&](const ScanPort& port) { return guid_of(port) && !is_in(fabric, port); });
  if (elsewhere > 0)
    remarks.push_back(count_of(static_cast<std::size_t>(elsewhere), "active port") +
                      " of this host on other subnets: --all scans those too");
}

Result<model::Fabric> scan_with(Scanner& scanner, const FabricScanOptions& options,
                                std::vector<std::string>& remarks) {
  if (!options.from.empty()) {
    auto port = parse_port(options.from);
    if (!port) return std::unexpected(std::move(port.error()));
    return scanner.scan(*port);
  }
  auto ports = scanner.ports();
  if (!ports) return std::unexpected(std::move(ports.error()));
  if (ports->empty())
    return fail(ErrorCode::kNotFound, "no InfiniBand port of this host is active",
                "ibstat shows their states");
  if (options.all_ports) return scan_all(scanner, *ports);
  auto fabric = scanner.scan(ports->front());
  if (fabric) remark_on_others(*ports, *fabric, remarks);
  return fabric;
}

}  // namespace

Result<FabricScan> scan_subnets(const FabricScanOptions& options) {
  Scanner scanner(options);
  FabricScan scan;
  auto fabric = scan_with(scanner, options, scan.remarks);
  if (!fabric) return std::unexpected(std::move(fabric.error()));
  scan.fabric = *std::move(fabric);
  scan.stopped = scanner.stopped();
  scan.cost = scanner.cost();
  return scan;
}

}  // namespace angio::app
