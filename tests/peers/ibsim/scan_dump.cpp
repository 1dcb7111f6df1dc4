// The scan of a fabric as plain lines, for fabric_scan_test.py and benchmarks/fabric_scan.py. Not a tool for
// people: that is `angio fabric scan`.
//
//   fabric_scan_dump [--in-flight N] [--tries N] [--patience MS] [--no-counters] [--quiet] [DEVICE PORT]
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "host/libraries.hpp"
#include "model/fabric.hpp"
#include "probe/umad/scan.hpp"

namespace {

using namespace angio;
using model::FabricNodeKind;

int refuse(const Error& error) {
  fmt::print(stderr, "error: {}\nhint: {}\n", error.message, error.hint);
  return 3;
}

std::string_view kind_of(const model::FabricNode& node) {
  switch (node.kind) {
    case FabricNodeKind::kAdapter:
      return "ca";
    case FabricNodeKind::kSwitch:
      return "switch";
    case FabricNodeKind::kRouter:
      return "router";
    case FabricNodeKind::kSubnet:
    case FabricNodeKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string counters_of(const model::CounterSet& counters) {
  std::string text;
  for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
    const auto counter = static_cast<model::FabricCounter>(i);
    const auto value = counters.get(counter);
    if (value && *value != 0)
      text += fmt::format(" {}={}{}", name_of(counter), *value, counters.is_stuck(counter) ? "!" : "");
  }
  return counters.empty() ? " no-counters" : text;
}

void print_port(const model::Fabric& fabric, const model::FabricNode& node, const model::FabricPort& port) {
  std::string peer = "-";
  if (port.peer) {
    peer = fmt::format("{}:{}", to_string(fabric.nodes[port.peer->node].guid),
                       model::port_at(fabric, *port.peer).number);
  }
  fmt::print("port {} {} {} {} {}x{} most {}x{} enabled {}x{} lid {} sm {} mtu {} guid {:#x} peer {}{}{}\n",
             to_string(node.guid), port.number, name_of(port.state), name_of(port.physical_state), port.lanes,
             name_of(port.speed), port.most_lanes, name_of(port.most_speed), port.enabled_lanes,
             name_of(port.enabled_speed), port.lid ? port.lid->value : 0,
             port.sm_lid ? port.sm_lid->value : 0, port.mtu.value_or(0), port.guid, peer,
             counters_of(port.counters), port.trouble.empty() ? "" : " trouble: " + port.trouble);
}

void print_fabric(const model::Fabric& fabric) {
  for (const model::FabricNode& node : fabric.nodes) {
    fmt::print(
        "node {} {} sys {:#x} vendor {:#x} device {:#x} revision {:#x} ports {} enhanced {} \"{}\"{}\n",
        to_string(node.guid), kind_of(node), node.system_guid, node.vendor, node.device, node.revision,
        node.stated_ports, node.enhanced_port0 ? 1 : 0, printable(node.description),
        node.trouble.empty() ? "" : " trouble: " + node.trouble);
    for (const model::FabricPort& port : node.ports)
      print_port(fabric, node, port);
  }
}

}  // namespace

int main(int argc, char** argv) {
  probe::ScanOptions options;
  bool quiet = false;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoul(argv[++i], nullptr, 10) : 0UL; };
    if (word == "--in-flight") {
      options.in_flight = static_cast<std::uint32_t>(number());
    } else if (word == "--tries") {
      options.tries = static_cast<std::uint32_t>(number());
    } else if (word == "--patience") {
      options.patience = std::chrono::milliseconds(number());
    } else if (word == "--no-counters") {
      options.counters = false;
    } else if (word == "--quiet") {
      quiet = true;
    } else {
      words.emplace_back(word);
    }
  }
  const auto loader = host::make_library_loader();
  probe::ScanPort from;
  if (words.size() == 2) {
    from = {words[0], static_cast<std::uint32_t>(std::strtoul(words[1].c_str(), nullptr, 10))};
  } else {
    const Result<std::vector<probe::ScanPort>> ports = probe::list_scan_ports(*loader);
    if (!ports) return refuse(ports.error());
    from = ports->front();
  }
  const Result<probe::Scan> scan = probe::scan_fabric(*loader, from, options);
  if (!scan) return refuse(scan.error());
  if (!quiet) print_fabric(scan->fabric);
  for (const std::string& place : scan->fabric.seen_from)
    fmt::print("seen from {}\n", place);
  for (const model::Note& note : scan->fabric.notes)
    fmt::print("note {} {} {}\n", note.id, note.count, note.text);
  const probe::ScanWork& work = scan->work;
  fmt::print("work nodes {} sent {} answered {} resent {} given-up {} seconds {:.6f}\n",
             scan->fabric.nodes.size(), work.sent, work.answered, work.resent, work.given_up, work.seconds);
  return 0;
}
