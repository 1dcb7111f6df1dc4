#include "probe/sysfs/netdev.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/text.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/locality.hpp"

namespace angio::probe {
namespace {

constexpr const char* kNet = "/sys/class/net";

// The kernel answers EINVAL for what an interface that is down does not have: that is an answer.
template <typename T>
Observed<T> absent_when_down(Observed<T> observed) {
  if (!observed.is_unreadable() || observed.error() != EINVAL) return observed;
  return Observed<T>::absent(observed.source());
}

// Mb/s; -1 or 4294967295 (SPEED_UNKNOWN, linux/ethtool.h) where the driver does not know.
Observed<BitsPerSecond> read_speed(const Place& place) {
  const Observed<BitsPerSecond> speed = place.parsed("speed", [](std::string_view text) {
    const auto megabits = parse_integer<std::int64_t>(text);
    return megabits ? std::optional(BitsPerSecond{static_cast<double>(*megabits) * 1e6}) : std::nullopt;
  });
  constexpr BitsPerSecond kUnknown{4294967295e6};
  const BitsPerSecond* value = speed.get();
  const bool unknown = value != nullptr && (value->value <= 0 || *value == kUnknown);
  return unknown ? Observed<BitsPerSecond>::absent(speed.source()) : absent_when_down(speed);
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "1") return true;
  if (text == "0") return false;
  return std::nullopt;
}

Observed<std::string> link_name(const Place& place, const char* leaf) {
  const host::Read<std::string> link = place.root().read_link(place.path(leaf));
  if (!link) return place.missing<std::string>(leaf, link.error());
  return Observed<std::string>::known(link->substr(link->rfind('/') + 1), place.source(leaf));
}

std::string devtype(const Place& place) {
  const Observed<std::string> uevent = place.text("uevent");
  if (!uevent.is_known()) return {};
  constexpr std::string_view kKey = "DEVTYPE=";
  for (const std::string_view line : split_lines(*uevent.get())) {
    if (line.starts_with(kKey)) return std::string(trim(line.substr(kKey.size())));
  }
  return {};
}

// ARPHRD_* of linux/if_arp.h says the medium, DEVTYPE in uevent and sub-directories the software kinds.
Observed<std::string> read_kind(const Place& place, bool has_device) {
  const auto known = [&](const char* kind, const char* leaf) {
    return Observed<std::string>::known(kind, place.source(leaf));
  };
  const Observed<std::uint32_t> type = place.integer<std::uint32_t>("type");
  if (type.is(772)) return known("loopback", "type");  // ARPHRD_LOOPBACK
  if (type.is(32)) return known("ipoib", "type");      // ARPHRD_INFINIBAND
  if (place.root().exists(place.path("bonding"))) return known("bond", "bonding");
  if (place.root().exists(place.path("bridge"))) return known("bridge", "bridge");
  if (devtype(place) == "vlan") return known("vlan", "uevent");
  return known(has_device ? "physical" : "virtual", "device");
}

std::vector<std::string> words_of(const Observed<std::string>& text) {
  std::vector<std::string> words;
  const std::string* content = text.get();
  if (content == nullptr) return words;
  for (const std::string_view word : split_words(*content))
    words.emplace_back(word);
  return words;
}

// One file, its first line. Bounded: these directories belong to out-of-tree drivers.
void add_qos_file(const Place& place, const std::string& relative, std::map<std::string, std::string>& qos) {
  const host::Read<std::string> content = place.root().read(place.path(relative));
  if (!content) return;
  const std::string_view line = trim(*content);
  constexpr std::size_t kLongest = 256;
  if (!line.empty() && line.size() <= kLongest) qos.emplace(relative, line.substr(0, line.find('\n')));
}

// mlx5 of MLNX_OFED and DOCA-OFED: qos/trust, qos/… and the RoCE congestion control switches per priority.
std::map<std::string, std::string> read_qos(const Place& place) {
  std::map<std::string, std::string> qos;
  constexpr std::size_t kMostFiles = 64;
  for (const std::string& file : place.names("qos").value_or({})) {
    if (qos.size() < kMostFiles) add_qos_file(place, "qos/" + file, qos);
  }
  for (const std::string side : {"ecn/roce_np", "ecn/roce_rp"}) {
    if (!place.root().exists(place.path(side))) continue;
    for (int priority = 0; priority < 8; ++priority) {
      add_qos_file(place, side + "/enable/" + std::to_string(priority), qos);
    }
    for (const char* leaf : {"/cnp_dscp", "/cnp_802p_prio"})
      add_qos_file(place, side + leaf, qos);
  }
  return qos;
}

model::NetDevice read_net_device(const Place& place, const model::Machine& machine, std::string name) {
  model::NetDevice device;
  device.name = std::move(name);
  device.address = address_of(place);
  if (const PciAddress* address = device.address.get()) device.pci = machine.pci.find(*address);
  const bool has_device = device.address.is_known() || place.root().exists(place.path("device"));
  device.driver = link_name(place, "device/driver");
  device.speed = read_speed(place);
  device.mtu = place.integer<std::uint32_t>("mtu");
  device.carrier = absent_when_down(place.parsed("carrier", parse_flag));
  device.state = place.text("operstate");
  device.mac = place.text("address");
  device.numa = device.pci ? numa_of(machine, device.pci) : own_numa(place, "device/numa_node");
  device.bond_master = link_name(place, "master");
  device.bond_members = words_of(place.text("bonding/slaves"));
  device.kind = read_kind(place, has_device);
  device.qos = read_qos(place);
  return device;
}

}  // namespace

std::map<std::string, std::vector<std::string>> parse_addresses(std::string_view text) {
  std::map<std::string, std::vector<std::string>> addresses;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() == 2) addresses[std::string(words[0])].emplace_back(words[1]);
  }
  return addresses;
}

std::vector<model::NetDevice> read_net_devices(const host::Root& root, model::Machine& machine) {
  std::vector<model::NetDevice> devices;
  const host::Read<host::Names> names = root.list(kNet);
  if (!names) return devices;
  auto addresses = parse_addresses(root.read("/@net/addresses").value_or(std::string()));
  for (const std::string& name : *names) {
    const Place place(root, machine, std::string(kNet) + "/" + name);
    // bonding_masters is a file among the directories
    if (!root.exists(place.path("mtu")) && !root.exists(place.path("operstate"))) continue;
    model::NetDevice& device = devices.emplace_back(read_net_device(place, machine, name));
    device.addresses = std::move(addresses[name]);
  }
  return devices;
}

}  // namespace angio::probe
