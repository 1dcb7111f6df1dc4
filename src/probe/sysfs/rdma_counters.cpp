#include "probe/sysfs/rdma_counters.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "probe/names.hpp"
#include "probe/sysfs/rdma_port.hpp"

namespace angio::probe {
namespace {

using model::RdmaCounter;
using model::RdmaCounterPlace;
using model::RdmaPortReading;

constexpr const char* kRdma = "/sys/class/infiniband";
constexpr const char* kNet = "/sys/class/net";

// A root that counts what it is asked, so that the cost of a reading can be told.
class Asked {
 public:
  Asked(const host::Root& root, std::uint32_t& files) : root_(root), files_(files) {}
  [[nodiscard]] host::Read<std::string> read(const std::string& path) const {
    ++files_;
    return root_.read(path);
  }
  [[nodiscard]] host::Read<host::Names> list(const std::string& path) const {
    ++files_;
    return root_.list(path);
  }
  [[nodiscard]] std::string text(const std::string& path) const {
    const host::Read<std::string> content = read(path);
    return content ? std::string(trim(*content)) : std::string();
  }

 private:
  const host::Root& root_;
  std::uint32_t& files_;
};

std::string why_of(const host::ReadError& error) {
  if (error.error == host::kNotCollected) return "not collected";
  return error.detail.empty() ? errno_text(error.error) : error.detail;
}

RdmaCounter counter_of(RdmaCounterPlace place, std::string interface, std::string name,
                       const host::Read<std::string>& content) {
  RdmaCounter counter{place, std::move(interface), std::move(name), std::nullopt, {}};
  if (!content) {
    counter.why = why_of(content.error());
    return counter;
  }
  counter.value = parse_integer<std::uint64_t>(trim(*content));
  constexpr std::size_t kShown = 40;
  if (!counter.value) counter.why = "\"" + std::string(trim(*content).substr(0, kShown)) + "\" is no number";
  return counter;
}

// Each file on its own: one that a driver refuses must not cost the others.
void read_directory(const Asked& asked, RdmaCounterPlace place, const std::string& interface,
                    const std::string& directory, RdmaPortReading& out) {
  const host::Read<host::Names> names = asked.list(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (name == "lifespan") continue;  // how long the kernel caches the others, in ms
    const host::Read<std::string> content = asked.read(directory + "/" + name);
    if (!content && (content.error().error == ENOENT || content.error().error == EISDIR)) continue;
    out.counters.push_back(counter_of(place, interface, name, content));
  }
}

// "rx_prio3_pause: 17" a line. Names hold blanks and colons of their own: the last colon counts.
void read_ethtool(const Asked& asked, const std::string& interface, RdmaPortReading& out) {
  const host::Read<std::string> content = asked.read("/@ethtool/" + interface + "/stats");
  if (!content) return;
  for (const std::string_view line : split_lines(*content)) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)).empty()) continue;
    out.counters.push_back(counter_of(RdmaCounterPlace::kEthtool, interface,
                                      std::string(trim(line.substr(0, colon))),
                                      std::string(line.substr(colon + 1))));
  }
}

// An interface name comes from files: it must not lead elsewhere.
bool is_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// The one of the port's first GID (a bond sits on no PCI device), those of the PCI device, soft-RoCE's
// parent.
std::vector<std::string> interfaces_of(const Asked& asked, const std::string& device,
                                       const RdmaPortReading& port, std::size_t ports) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (is_name(name) && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  add(asked.text(device + "/ports/" + std::to_string(port.port) + "/gid_attrs/ndevs/0"));
  const host::Names own = asked.list(device + "/device/net").value_or(host::Names{});
  for (const std::string& name : own) {
    if (!is_name(name)) continue;
    // Two ports on one PCI function (mlx4): dev_port, from 0, says whose the interface is.
    const auto number = parse_integer<std::uint32_t>(
        ports > 1 ? asked.text(std::string(kNet) + "/" + name + "/dev_port") : "");
    if (!number || *number + 1 == port.port) add(name);
  }
  if (names.empty()) add(asked.text(device + "/parent"));
  return names;
}

model::RdmaMoment moment_of(const Asked& asked, const std::string& device, std::uint32_t port) {
  model::RdmaMoment moment;
  const std::string text = asked.text("/@clock/" + device + "/" + std::to_string(port));
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() != 2) return moment;
  moment.wall = parse_integer<std::int64_t>(words[0]);
  moment.boot = parse_integer<std::int64_t>(words[1]);
  return moment;
}

void read_link(const Asked& asked, const std::string& path, RdmaPortReading& out) {
  out.state = parse_numbered_word(asked.text(path + "/state")).value_or("");
  out.physical_state = parse_numbered_word(asked.text(path + "/phys_state")).value_or("");
  const std::string layer = asked.text(path + "/link_layer");
  if (layer == "InfiniBand") out.link_layer = model::LinkLayer::kInfiniBand;
  if (layer == "Ethernet") out.link_layer = model::LinkLayer::kEthernet;
  if (const auto rate = parse_port_rate(asked.text(path + "/rate"))) {
    if (rate->rate.value > 0) out.rate = rate->rate;
    out.lanes = rate->lanes;
    out.speed_name = rate->speed_name;
  }
}

RdmaPortReading read_port(const Asked& asked, const std::string& name, std::uint32_t number,
                          std::size_t ports) {
  const std::string device = std::string(kRdma) + "/" + name;
  const std::string path = device + "/ports/" + std::to_string(number);
  RdmaPortReading out;
  out.device = name;
  out.port = number;
  out.node_guid = asked.text(device + "/node_guid");
  read_link(asked, path, out);
  out.interfaces = interfaces_of(asked, device, out, ports);
  out.moment = moment_of(asked, name, number);
  read_directory(asked, RdmaCounterPlace::kPort, "", path + "/counters", out);
  read_directory(asked, RdmaCounterPlace::kHardware, "", path + "/hw_counters", out);
  for (const std::string& interface : out.interfaces) {
    read_directory(asked, RdmaCounterPlace::kInterface, interface,
                   std::string(kNet) + "/" + interface + "/statistics", out);
    if (out.link_layer != model::LinkLayer::kInfiniBand) read_ethtool(asked, interface, out);
  }
  return out;
}

}  // namespace

model::RdmaReading read_rdma_counters(const host::Root& root, const WantedPort& wanted) {
  model::RdmaReading reading;
  const Asked asked(root, reading.files);
  const host::Read<host::Names> devices = asked.list(kRdma);
  if (!devices) {
    reading.problem = devices.error().error == ENOENT ? std::string("there are no RDMA devices: no ") + kRdma
                                                      : std::string(kRdma) + ": " + why_of(devices.error());
    return reading;
  }
  for (const std::string& name : *devices) {
    const auto ports =
        numbers_of(asked.list(std::string(kRdma) + "/" + name + "/ports").value_or(host::Names{}));
    for (const std::uint32_t number : ports) {
      if (!wanted || wanted(name, number))
        reading.ports.push_back(read_port(asked, name, number, ports.size()));
    }
  }
  if (devices->empty()) reading.problem = std::string("there are no RDMA devices in ") + kRdma;
  return reading;
}

}  // namespace angio::probe
