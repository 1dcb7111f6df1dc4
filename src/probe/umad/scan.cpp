#include "probe/umad/scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "host/clock.hpp"
#include "probe/umad/exchange.hpp"
#include "probe/umad/umad_library.hpp"
#include "probe/umad/walk.hpp"

namespace angio::probe {
namespace {

constexpr std::uint32_t kDown = 1;
constexpr std::uint32_t kActive = 4;

std::string list_words(const std::vector<umad::ListedPort>& ports) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ports.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + umad::words_of(ports[i]);
  return ports.size() > kShown ? text + fmt::format(" and {} more", ports.size() - kShown) : text;
}

std::unexpected<Error> none_active(const std::vector<umad::ListedPort>& ports) {
  if (ports.empty()) {
    return fail(ErrorCode::kNotFound, "no InfiniBand port is active: this host has no InfiniBand adapter",
                "Run it on a host of the fabric, or read the output of ibnetdiscover instead");
  }
  const bool all_ethernet = std::ranges::all_of(ports, &umad::ListedPort::ethernet);
  return fail(ErrorCode::kNotFound, "no InfiniBand port is active: " + list_words(ports),
              all_ethernet ? "RoCE has no subnet to scan: LLDP (lldpctl -f json) tells its cables"
                           : "A port becomes active when its cable is in and a subnet manager runs");
}

// The port that was named, if a scan can start there.
Result<void> check_port(const std::vector<umad::ListedPort>& ports, const ScanPort& from) {
  const auto found = std::ranges::find_if(ports, [&](const umad::ListedPort& port) {
    return port.adapter == from.device && port.number == from.port;
  });
  const std::string name = fmt::format("{} port {}", printable(from.device), from.port);
  if (found == ports.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no {}", name),
                ports.empty() ? "This host has no InfiniBand adapter" : "There are: " + list_words(ports));
  }
  if (found->ethernet) {
    return fail(ErrorCode::kUnsupported, fmt::format("{} is Ethernet: RoCE has no subnet to scan", name),
                "LLDP (lldpctl -f json) tells the cables of RoCE");
  }
  if (found->state == kDown) {
    return fail(ErrorCode::kUnsupported, fmt::format("{} is Down: nothing can be reached through it", name),
                "Is its cable in? `ibstat` shows the physical state");
  }
  return {};
}

}  // namespace

Result<std::vector<ScanPort>> list_scan_ports(const host::LibraryLoader& loader) {
  Result<std::unique_ptr<umad::UmadLibrary>> library = umad::UmadLibrary::load(loader);
  if (!library) return std::unexpected(library.error());
  const std::vector<umad::ListedPort> ports = (*library)->ports();
  std::vector<ScanPort> active;
  for (const umad::ListedPort& port : ports) {
    if (!port.ethernet && port.state == kActive) active.push_back({port.adapter, port.number});
  }
  if (active.empty()) return none_active(ports);
  return active;
}

Result<Scan> scan_fabric(const host::LibraryLoader& loader, const ScanPort& from,
                         const ScanOptions& options) {
  Result<std::unique_ptr<umad::UmadLibrary>> library = umad::UmadLibrary::load(loader);
  if (!library) return std::unexpected(library.error());
  if (Result<void> usable = check_port((*library)->ports(), from); !usable)
    return std::unexpected(usable.error());
  Result<std::unique_ptr<umad::MadWire>> wire = (*library)->open(from.device, from.port);
  if (!wire) return std::unexpected(wire.error());

  umad::WalkLimits limits;
  limits.counters = options.counters;
  limits.most_nodes = options.most_nodes;
  umad::FabricWalk walk(limits);
  const std::unique_ptr<host::Clock> clock = host::make_system_clock();
  Scan scan;
  scan.work = umad::Exchange(walk, **wire, options, *clock).run();
  const bool started = walk.has_start();
  scan.fabric = walk.take();
  const std::string name = fmt::format("{} port {}", printable(from.device), from.port);
  if (!started) {
    const std::string why = scan.fabric.notes.empty() ? "" : " (" + scan.fabric.notes.front().text + ")";
    return fail(ErrorCode::kIo, fmt::format("{} gives no answer about itself{}", name, why),
                "Its firmware hangs, or the kernel hands over no management datagrams: look at dmesg");
  }
  scan.fabric.name = name;
  scan.fabric.origin = "scan from " + name;
  scan.fabric.captured = host::utc_text(clock->now());
  return scan;
}

}  // namespace angio::probe
