#include "probe/sysfs/rdma_host_probe.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.hpp"
#include "host/discreet.hpp"
#include "probe/names.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/pci_config.hpp"

namespace angio::probe {
namespace {

using model::Machine;

// Interrupts looked at, of each device. mlx5 spreads from the CPUs of its own node outwards, so the first
// ones tell; a device may have one for each CPU of the machine.
constexpr std::size_t kFirstInterrupts = 16;
// Devices looked at. Hosts of virtual machines have hundreds of functions.
constexpr std::size_t kMostDevices = 64;

const model::PciDevice* pci_of(const Machine& machine, const model::RdmaDevice& device) {
  return device.pci ? &machine.pci.devices[*device.pci] : nullptr;
}

void read_interrupts(const host::Root& root, Machine& machine, const std::string& pci_directory,
                     model::RdmaDeviceFacts& facts) {
  const Place place(root, machine, pci_directory);
  const Observed<host::Names> names = place.names("msi_irqs");
  if (!names.is_known()) {
    facts.interrupts = names.is_absent() ? Observed<std::uint32_t>::absent(names.source())
                                         : Observed<std::uint32_t>::unreadable(names.reason(), names.source(),
                                                                               names.error());
    return;
  }
  const std::vector<std::uint32_t> numbers = numbers_of(*names.get());
  facts.interrupts =
      Observed<std::uint32_t>::known(static_cast<std::uint32_t>(numbers.size()), names.source());
  for (std::size_t i = 0; i < std::min(numbers.size(), kFirstInterrupts); ++i) {
    const Place irq(root, machine, "/proc/irq/" + std::to_string(numbers[i]));
    facts.first_interrupts.push_back({numbers[i], irq.parsed("smp_affinity_list", [](std::string_view text) {
                                        return parse_cpu_list(text);
                                      })});
  }
}

Observed<bool> read_relaxed_ordering(const Place& place) {
  const host::Read<std::string> bytes = place.root().read(place.path("config"));
  if (!bytes) return place.missing<bool>("config", bytes.error());
  const PciConfig config(*bytes);
  if (config.reach() == ConfigReach::kHeader)  // the rest is for root alone
    return Observed<bool>::unreadable(model::Reason::kDenied, place.source("config"));
  const auto express = config.express();
  if (!express || !express->relaxed_ordering) return Observed<bool>::absent(place.source("config"));
  return Observed<bool>::known(*express->relaxed_ordering, place.source("config"));
}

Observed<std::uint32_t> count_slots(const Place& device, std::uint32_t port, Machine& machine) {
  const Place place(device.root(), machine, device.path("ports/" + std::to_string(port)));
  const Observed<host::Names> names = place.names("gids");
  if (!names.is_known())
    return names.is_absent()
               ? Observed<std::uint32_t>::absent(names.source())
               : Observed<std::uint32_t>::unreadable(names.reason(), names.source(), names.error());
  return Observed<std::uint32_t>::known(static_cast<std::uint32_t>(names.get()->size()), names.source());
}

model::RdmaDeviceFacts read_device(const host::Root& root, Machine& machine,
                                   const model::RdmaDevice& device) {
  model::RdmaDeviceFacts facts;
  const Place place(root, machine, "/sys/class/infiniband/" + device.name);
  for (const model::RdmaPort& port : device.ports)
    facts.gid_slots.push_back(count_slots(place, port.number, machine));
  facts.traffic_class = place.parsed("tc/1/traffic_class", parse_traffic_class);
  const model::PciDevice* pci = pci_of(machine, device);
  if (pci == nullptr || pci->physical_function) return facts;
  const std::string directory = "/sys/bus/pci/devices/" + to_string(pci->address);
  read_interrupts(root, machine, directory, facts);
  facts.relaxed_ordering = read_relaxed_ordering(Place(root, machine, directory));
  return facts;
}

// Interfaces of RoCE devices: there the kernel's ARP settings decide which rail answers.
std::set<std::string> roce_interfaces(const Machine& machine) {
  std::set<std::string> names;
  for (const model::RdmaDevice& device : machine.rdma) {
    const bool ethernet = std::ranges::any_of(device.ports, [](const model::RdmaPort& port) {
      return port.link_layer == model::LinkLayer::kEthernet;
    });
    if (ethernet) names.insert(device.netdevs.begin(), device.netdevs.end());
  }
  return names;
}

// Linux Documentation/networking/bonding.rst, "Configuring Bonding Manually via Sysfs"; members:
// drivers/net/bonding/bond_sysfs_slave.c. "N/A" where the mode is not LACP's.
void read_bond(const Place& place, const model::NetDevice& device, model::NetDeviceFacts& facts) {
  if (device.kind.is("bond")) {
    facts.bond_mode = place.parsed("bonding/mode", [](std::string_view text) {  // "802.3ad 4"
      return std::optional(std::string(text.substr(0, text.find(' '))));
    });
    facts.aggregator = place.integer<std::uint32_t>("bonding/ad_aggregator");
  } else if (device.bond_master.is_known()) {
    facts.aggregator = place.integer<std::uint32_t>("bonding_slave/ad_aggregator_id");
  }
}

model::NetDeviceFacts read_interface(const host::Root& root, Machine& machine, const model::NetDevice& device,
                                     bool roce) {
  model::NetDeviceFacts facts;
  const Place place(root, machine, "/sys/class/net/" + device.name);
  if (device.kind.is("ipoib")) facts.ipoib_mode = place.text("mode");
  if (device.pci) facts.port_name = place.text("phys_port_name");
  read_bond(place, device, facts);
  if (!roce) return facts;
  const Place settings(root, machine, "/proc/sys/net/ipv4/conf/" + device.name);
  facts.arp_ignore = settings.integer<std::int64_t>("arp_ignore");
  facts.arp_announce = settings.integer<std::int64_t>("arp_announce");
  facts.rp_filter = settings.integer<std::int64_t>("rp_filter");
  return facts;
}

// Buffers and queues of TCP, which carries NCCL's start and its sockets; ports; ARP. Linux
// Documentation/networking/ip-sysctl.rst and admin-guide/sysctl/net.rst.
void read_sysctls(const host::Root& root, Machine& machine, model::RdmaHost& out) {
  constexpr std::array<const char*, 13> kNames{"net.core.rmem_max",
                                               "net.core.wmem_max",
                                               "net.core.netdev_max_backlog",
                                               "net.core.somaxconn",
                                               "net.ipv4.tcp_rmem",
                                               "net.ipv4.tcp_wmem",
                                               "net.ipv4.tcp_mtu_probing",
                                               "net.ipv4.tcp_congestion_control",
                                               "net.ipv4.ip_local_port_range",
                                               "net.ipv4.conf.all.arp_ignore",
                                               "net.ipv4.conf.all.arp_announce",
                                               "net.ipv4.conf.all.rp_filter",
                                               "vm.max_map_count"};
  for (const char* name : kNames) {
    std::string path = "/proc/sys/" + std::string(name);
    std::ranges::replace(path, '.', '/');
    out.sysctls.emplace(name, Place(root, machine, path).text(""));
  }
}

void read_mounts(const host::Root& root, Machine& machine, model::RdmaHost& out) {
  const Place proc(root, machine, "/proc/self/mountinfo");
  const model::Source source = proc.source("");
  out.mounts = proc.parsed(
      "", [&](std::string_view text) { return std::optional(parse_network_mounts(text, source.place)); });
}

}  // namespace

std::optional<std::uint32_t> parse_traffic_class(std::string_view text) {
  const std::string_view line = trim(text.substr(0, text.find('\n')));
  const std::size_t equals = line.find('=');
  const auto value = parse_integer<std::uint32_t>(trim(equals == line.npos ? line : line.substr(equals + 1)));
  constexpr std::uint32_t kLargest = 255;
  return value && *value <= kLargest ? value : std::nullopt;
}

std::vector<model::NetworkMount> parse_network_mounts(std::string_view mountinfo, std::uint32_t place) {
  std::vector<model::NetworkMount> mounts;
  constexpr std::size_t kMost = 1024;  // automounters make many of one kind
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(mountinfo)) {
    ++number;
    const std::vector<std::string_view> words = split_words(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.end() - dash < 3 || !host::is_network_file_system(dash[1]) || mounts.size() >= kMost) continue;
    model::NetworkMount mount{std::string(dash[1]), {}, {}, {}, {place, number, ""}};
    const std::string_view server = dash[2].substr(0, dash[2].find_first_of("@:/"));
    if (server != "..." && contains(server, ".")) mount.server = server;
    if (contains(dash[2], "@o2ib")) mount.transport = "rdma";  // Lustre's name of its verbs network
    for (const std::string_view option : split(words.end() - dash >= 4 ? dash[3] : std::string_view(), ',')) {
      if (option.starts_with("addr=")) mount.server = option.substr(5);
      if (option.starts_with("clientaddr=")) mount.client_address = option.substr(11);
      if (option.starts_with("proto=")) mount.transport = option.substr(6);
      if (option == "rdma") mount.transport = "rdma";
    }
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

void probe_rdma_host(const host::Root& root, Machine& machine) {
  if (machine.rdma.empty() && machine.networks.empty()) return;
  auto host = std::make_shared<model::RdmaHost>();
  for (const model::RdmaDevice& device : machine.rdma) {
    host->devices.push_back(host->devices.size() < kMostDevices ? read_device(root, machine, device)
                                                                : model::RdmaDeviceFacts{});
  }
  const std::set<std::string> roce = roce_interfaces(machine);
  for (const model::NetDevice& device : machine.networks)
    host->interfaces.push_back(read_interface(root, machine, device, roce.contains(device.name)));
  if (!machine.rdma.empty()) read_sysctls(root, machine, *host);
  read_mounts(root, machine, *host);
  machine.rdma_host = std::move(host);
}

}  // namespace angio::probe
