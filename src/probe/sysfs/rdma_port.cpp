#include "probe/sysfs/rdma_port.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "probe/names.hpp"

namespace angio::probe {
namespace {

model::LinkLayer parse_link_layer(std::string_view text) {
  if (text == "InfiniBand") return model::LinkLayer::kInfiniBand;
  if (text == "Ethernet") return model::LinkLayer::kEthernet;
  return model::LinkLayer::kUnknown;
}

std::optional<Lid> parse_lid(std::string_view text) {
  const auto value = parse_integer<std::uint16_t>(text, 16);
  return value ? std::optional(Lid{*value}) : std::nullopt;
}

std::optional<Bytes> parse_mtu(std::string_view text) {
  const auto value = parse_integer<std::uint64_t>(text);
  return value ? std::optional(Bytes{*value}) : std::nullopt;
}

void read_rate(const Place& port, model::RdmaPort& out) {
  const auto part = [&port](auto pick) {
    return port.parsed("rate", [pick](std::string_view text) {
      const std::optional<PortRate> rate = parse_port_rate(text);
      return rate ? std::optional(pick(*rate)) : std::nullopt;
    });
  };
  out.rate = part([](const PortRate& rate) { return rate.rate; });
  out.lanes = part([](const PortRate& rate) { return rate.lanes; });
  out.speed_name = part([](const PortRate& rate) { return rate.speed_name; });
  if (out.speed_name.is(std::string()))
    out.speed_name = Observed<std::string>::absent(out.speed_name.source());
}

bool is_empty_gid(std::string_view gid) {
  return std::ranges::all_of(gid, [](char c) { return c == '0' || c == ':'; });
}

// Tables are sparse, up to several hundred slots: every slot is looked at, the used ones are kept.
std::vector<model::Gid> read_gids(const Place& port, model::Machine& machine) {
  std::vector<model::Gid> gids;
  const Place table(port.root(), machine, port.path("gids"));
  const host::Read<host::Names> names = port.root().list(table.directory());
  if (!names) return gids;
  const std::string types = port.path("gid_attrs/types");
  const std::string ndevs = port.path("gid_attrs/ndevs");
  for (const std::uint32_t index : numbers_of(*names)) {
    const std::string slot = std::to_string(index);
    const host::Read<std::string> gid = port.root().read(table.path(slot));
    if (!gid || is_empty_gid(trim(*gid))) continue;
    model::Gid& out = gids.emplace_back();
    out.index = index;
    out.gid = trim(*gid);
    out.type = Place(port.root(), machine, types + "/" + slot).text("");
    out.netdev = Place(port.root(), machine, ndevs + "/" + slot).text("");
  }
  return gids;
}

// Each counter on its own: drivers refuse single ones (EINVAL, "N/A (no PMA)"), and the others still count.
std::map<std::string, Observed<std::uint64_t>> read_counters(const Place& port, model::Machine& machine,
                                                             const char* directory) {
  std::map<std::string, Observed<std::uint64_t>> counters;
  const std::string path = port.path(directory);
  const host::Read<host::Names> names = port.root().list(path);
  if (!names) return counters;
  for (const std::string& name : *names) {
    if (name == "lifespan") continue;  // how long the kernel caches the others, in ms
    counters.emplace(name, Place(port.root(), machine, path + "/" + name).integer<std::uint64_t>(""));
  }
  return counters;
}

}  // namespace

std::optional<PortRate> parse_port_rate(std::string_view text) {
  // ib_core, core/sysfs.c: "%d%s Gb/sec (%dX%s)"
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() < 3 || words.size() > 4 || words[1] != "Gb/sec") return std::nullopt;
  const std::optional<double> gigabits = parse_double(words[0]);
  std::string_view width = words[2];
  if (!gigabits || *gigabits < 0 || !width.starts_with('(')) return std::nullopt;
  width.remove_prefix(1);
  const auto lanes = parse_integer<std::uint32_t>(width.substr(0, width.find('X')));
  if (!lanes || !contains(width, "X")) return std::nullopt;
  PortRate rate{BitsPerSecond{*gigabits * 1e9}, *lanes, {}};
  if (words.size() == 4) rate.speed_name = words[3].substr(0, words[3].find(')'));
  return rate;
}

std::optional<std::string> parse_numbered_word(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = trim(colon == std::string_view::npos ? text : text.substr(colon + 1));
  return word.empty() ? std::nullopt : std::optional(std::string(word));
}

model::RdmaPort read_rdma_port(const Place& device, model::Machine& machine, const std::string& device_name,
                               std::uint32_t number) {
  const std::string name = std::to_string(number);
  const Place port(device.root(), machine, device.path("ports/" + name));
  const Place verbs(device.root(), machine, "/@verbs/" + device_name + "/" + name);
  model::RdmaPort out;
  out.number = number;
  out.state = port.parsed("state", parse_numbered_word);
  out.physical_state = port.parsed("phys_state", parse_numbered_word);
  read_rate(port, out);
  out.link_layer = parse_link_layer(port.text("link_layer").value_or({}));
  out.lid = port.parsed("lid", parse_lid);
  out.sm_lid = port.parsed("sm_lid", parse_lid);
  out.active_mtu = verbs.parsed("active_mtu", parse_mtu);
  out.max_mtu = verbs.parsed("max_mtu", parse_mtu);
  out.gids = read_gids(port, machine);
  out.counters = read_counters(port, machine, "counters");
  out.hw_counters = read_counters(port, machine, "hw_counters");
  return out;
}

}  // namespace angio::probe
