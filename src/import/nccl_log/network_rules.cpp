// Networks, their devices and GPUDirect RDMA.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/nccl_log/events.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

constexpr std::uint64_t kNetworkKey = 301;
constexpr std::uint64_t kNetworkProcessKey = 302;
constexpr std::uint64_t kGdrKey = 303;
constexpr std::size_t kMaxNetworks = 65536;
constexpr std::size_t kMaxDevices = 128;
constexpr std::size_t kMaxGdrPairs = std::size_t{1} << 18U;
constexpr std::size_t kMaxName = 120;

std::string name_text(std::string_view text) {
  return printable(text.substr(0, kMaxName));
}

// The network of this process and plugin that was listed last; null: none.
model::NcclNetwork* find_network(Parser& parser, const Message& message, std::string_view plugin) {
  const auto& own = parser.process(message).networks;
  for (auto index = own.rbegin(); index != own.rend(); ++index) {
    auto& network = parser.log().networks[*index];
    if (plugin.empty() || network.plugin == plugin) return &network;
  }
  return nullptr;
}

// Processes of one host that print the same text share a network.
model::NcclNetwork* open_network(Parser& parser, const Message& message, std::string_view plugin,
                                 std::string_view text) {
  auto& log = parser.log();
  const auto key = hash_text(text, hash_text(plugin, mix(kNetworkKey, hash_text(parser.host(message)))));
  auto* network = parser.once(key, log.networks, kMaxNetworks);
  if (network == nullptr) return nullptr;
  if (network->source.line == 0) {
    network->host = parser.host(message);
    network->plugin = name_text(plugin);
    network->source = message.source;
  }
  if (parser.first_time(mix(key, kNetworkProcessKey + message.process))) {
    ++network->processes;
    parser.process(message).networks.push_back(static_cast<model::NcclIndex>(network - log.networks.data()));
  }
  return network;
}

// "mlx5_0:1/IB", "mlx5_0:1/RoCE:0:1" (2.30: rail and plane), "eth0:10.0.0.1<0>", "mlx5_0:uverbs0:1/RoCE".
void read_device(std::string_view text, bool is_socket, model::NcclNetDevice& device) {
  Scan scan(text);
  device.name = name_text(scan.until(':'));
  if (!scan.eat(':')) return;
  if (is_socket) {
    device.address = name_text(scan.rest());
    return;
  }
  std::uint32_t port = 0;
  if (!scan.number(port)) {  // the verbs device
    if (!scan.skip_past(":") || !scan.number(port)) return;
  }
  device.port = port;
  if (!scan.eat('/')) return;
  auto link = scan.until(':');
  device.link = name_text(link.substr(0, link.find('/')));
  std::uint32_t number = 0;
  if (scan.eat(':') && scan.number(number)) device.rail = number;
  if (scan.eat(':') && scan.number(number)) device.plane = number;
}

// "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
void read_list(Scan scan, model::Source source, model::NcclNetwork& network) {
  const bool is_socket = network.plugin == "Socket";
  while (!scan.done()) {
    scan.blanks();
    std::uint32_t index = 0;
    if (scan.eat("[RO]")) {
      network.relaxed_ordering = true;
    } else if (scan.eat("; OOB ") || scan.eat(";OOB ")) {
      network.oob_interface = name_text(scan.until(':'));
      (void)scan.eat(':');
      network.oob_address = name_text(scan.word());
    } else if (scan.eat('[') && scan.number(index) && scan.eat(']')) {
      // Sockets of old versions stand without a blank between them.
      auto text = scan.rest().substr(
          0, std::min(scan.rest().find_first_of(is_socket ? " [" : " ;"), scan.rest().size()));
      if (network.devices.size() < kMaxDevices) {
        model::NcclNetDevice device;
        device.index = index;
        device.source = source;
        read_device(text, is_socket, device);
        network.devices.push_back(std::move(device));
      }
      (void)scan.eat(text);
    } else {
      (void)scan.word();
    }
  }
  if (!is_socket && !network.relaxed_ordering) network.relaxed_ordering = false;
}

// What was announced before, device by device, belongs to the list.
void add_announced(Parser& parser, const Message& message, model::NcclNetwork& network, bool is_new) {
  auto& devices = parser.announced(message, false);
  auto& merged = parser.announced(message, true);
  if (is_new) {
    for (auto& device : network.devices) {
      const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& other) {
        return other.name == device.name && other.port == device.port;
      });
      if (found == devices.end()) continue;
      device.speed_mbps = found->speed_mbps;
      device.provider = found->provider;
      device.pci_path = found->pci_path;
      device.adaptive_routing = found->adaptive_routing;
      if (device.link.empty()) device.link = found->link;
    }
    if (network.devices.empty()) network.devices = devices;
    network.virtual_devices = merged;
  }
  devices.clear();
  merged.clear();
}

bool read_using(Parser& parser, const Message& message, std::string_view plugin, Scan scan) {
  // "NET/OFI Using aws-ofi-nccl 1.9.2": not a list.
  if (scan.peek() != '[' && !scan.rest().starts_with("; OOB")) return false;
  // "No device found." came before, or this list would not be empty.
  auto* network = scan.rest().starts_with("[RO]") ? find_network(parser, message, plugin) : nullptr;
  if (network == nullptr || !network->none_found)
    network = open_network(parser, message, plugin, scan.rest());
  if (network == nullptr) return true;
  const bool is_new =
      network->devices.empty() && !network->relaxed_ordering && network->oob_interface.empty();
  if (is_new) {
    read_list(scan, message.source, *network);
    network->none_found = network->devices.empty() && network->virtual_devices.empty();
  }
  add_announced(parser, message, *network, is_new);
  if (!network->devices.empty()) network->none_found = false;
  return true;
}

bool read_none(Parser& parser, const Message& message, std::string_view plugin) {
  if (auto* network = open_network(parser, message, plugin, "none")) network->none_found = true;
  return true;
}

template <typename Number>
std::optional<Number> field(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  Scan scan(text.substr(at + name.size()));
  Number value{};
  if (!scan.number(value)) return std::nullopt;
  return value;
}

std::string_view text_field(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return {};
  Scan scan(text.substr(at + name.size()));
  return scan.word();
}

// "[0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 context=0x.. pciPath=/sys/.. ar=0"
bool read_announced(Parser& parser, const Message& message, Scan scan) {
  model::NcclNetDevice device;
  if (!scan.number(device.index) || !scan.eat("] ")) return false;
  const auto rest = scan.rest();
  read_device(scan.word(), false, device);
  if (const auto speed = field<std::uint64_t>(rest, " speed="))
    device.speed_mbps = static_cast<double>(*speed);
  device.provider = name_text(text_field(rest, " provider="));
  device.pci_path = keep_text(text_field(rest, " pciPath="));
  if (const auto routing = field<std::uint32_t>(rest, " ar=")) device.adaptive_routing = *routing != 0;
  device.source = message.source;
  auto& devices = parser.announced(message, false);
  if (devices.size() < kMaxDevices) devices.push_back(std::move(device));
  return true;
}

// "Made virtual device [0] name=mlx5_0+mlx5_1 speed=400000 ndevs=2"
bool read_virtual(Parser& parser, const Message& message, Scan scan) {
  model::NcclNetDevice device;
  if (!scan.eat('[') || !scan.number(device.index)) return false;
  device.name = name_text(text_field(scan.rest(), " name="));
  if (const auto speed = field<std::uint64_t>(scan.rest(), " speed="))
    device.speed_mbps = static_cast<double>(*speed);
  device.merged = field<std::uint32_t>(scan.rest(), " ndevs=");
  device.source = message.source;
  auto& devices = parser.announced(message, true);
  if (devices.size() < kMaxDevices) devices.push_back(std::move(device));
  return true;
}

void set_gdr(model::NcclNetDevice& device, bool enabled, std::string_view reason, model::Source source) {
  device.gdr = enabled;
  device.gdr_reason = name_text(reason);
  device.gdr_source = source;
}

// "HCA 0 'mlx5_0'": of the adapter as a whole.
bool read_adapter_gdr(Parser& parser, const Message& message, std::string_view plugin, bool enabled,
                      Scan scan) {
  std::uint32_t index = 0;
  if (!scan.number(index)) return false;
  std::string_view name;
  if (scan.eat(" '")) {
    name = scan.until('\'');
    (void)scan.eat('\'');
  }
  std::string_view reason;
  if (scan.eat(" (")) reason = scan.until(')');
  auto* network = find_network(parser, message, plugin);
  if (network == nullptr) network = open_network(parser, message, plugin, "not listed");
  if (network == nullptr) return true;
  for (auto* devices : {&network->virtual_devices, &network->devices}) {
    for (auto& device : *devices) {
      if (device.name != name && !(name.empty() && device.index == index)) continue;
      set_gdr(device, enabled, reason, message.source);
      return true;
    }
  }
  if (network->devices.size() >= kMaxDevices) return true;
  model::NcclNetDevice device;  // a plugin that does not list its devices
  device.index = index;
  device.name = name_text(name);
  device.source = message.source;
  set_gdr(device, enabled, reason, message.source);
  network->devices.push_back(std::move(device));
  return true;
}

// "(distance 4 <= 5), read 0 mode Default", "(distance 6 > 4)", "(no module or not supported by GPU)"
void read_distance(Scan scan, model::NcclGdrPair& pair) {
  if (!scan.eat(" (")) return;
  int distance = 0;
  int threshold = 0;
  if (!scan.rest().starts_with("distance ")) {
    pair.reason = name_text(scan.until(')'));
    return;
  }
  (void)scan.eat("distance ");
  if (scan.number(distance)) pair.distance = distance;
  (void)scan.eat(' ');
  (void)scan.word();
  if (scan.eat(' ') && scan.number(threshold)) pair.threshold = threshold;
  std::uint32_t read = 0;
  if (scan.skip_past("read ") && scan.number(read)) pair.read = read != 0;
}

// "GPU 0 / HCA 1 (distance 4 <= 5), read 0", "GPU 0[0] / HCA 0 'mlx5_0' (no module or not supported by GPU)"
bool read_pair_gdr(Parser& parser, const Message& message, bool enabled, Scan scan) {
  const auto text = scan.rest();
  const auto key = hash_text(text, mix(kGdrKey + (enabled ? 1 : 0), hash_text(parser.host(message))));
  auto* pair = parser.once(key, parser.log().gdr, kMaxGdrPairs);
  if (pair == nullptr || pair->count++ > 0) return true;
  pair->host = parser.host(message);
  pair->enabled = enabled;
  pair->source = message.source;
  const auto gpu = scan.word();
  pair->gpu = name_text(gpu.substr(0, gpu.find('[')));
  if (!scan.eat(" / HCA ")) return true;
  pair->hca = name_text(scan.word());
  if (scan.eat(" '")) {
    pair->hca = name_text(scan.until('\''));
    (void)scan.eat('\'');
  }
  read_distance(scan, *pair);
  return true;
}

bool read_gdr_of(Parser& parser, const Message& message, std::string_view plugin, Scan scan) {
  bool enabled = false;
  if (scan.eat("Enabled for ")) {
    enabled = true;
  } else if (!scan.eat("Disabled for ")) {
    return false;
  }
  if (scan.eat("HCA ")) return read_adapter_gdr(parser, message, plugin, enabled, scan);
  if (scan.eat("GPU ")) return read_pair_gdr(parser, message, enabled, scan);
  return false;
}

bool read_gdr(Parser& parser, const Message& message, Scan scan) {
  return read_gdr_of(parser, message, {}, scan);
}

bool read_dma_buf(Parser& parser, const Message& message, Scan scan) {
  auto& process = parser.process(message);
  process.dma_buf = !scan.eat("not ");
  process.dma_buf_source = message.source;
  return true;
}

// Bytes of enum ibv_mtu (1 = 256 … 5 = 4096); infiniband/verbs.h.
std::optional<std::uint32_t> mtu_bytes(std::optional<std::uint32_t> code) {
  if (!code || *code < 1 || *code > 5) return std::nullopt;
  return 128U << *code;
}

// "NCCL Dev 0 IbDev 0 Port 1 qpn 33 mtu 3 GID 5 (0/0) fifoRkey=..", "Dev 6 Port 1 qpn 2510 mtu 5 LID 39"
bool read_queue_pair(Parser& parser, const Message& message, std::string_view plugin, Scan scan) {
  const auto text = scan.rest();
  const auto index = field<std::uint32_t>(text, "IbDev ") ? field<std::uint32_t>(text, "IbDev ")
                                                          : field<std::uint32_t>(text, "Dev ");
  auto* network = find_network(parser, message, plugin);
  if (!index || network == nullptr) return true;
  for (auto& device : network->devices) {
    if (device.index != *index || device.mtu_bytes) continue;
    device.mtu_bytes = mtu_bytes(field<std::uint32_t>(text, " mtu "));
    device.gid_index = field<std::uint32_t>(text, " GID ");
    const auto open = text.find('(');
    const auto close = text.find(')', open == std::string_view::npos ? 0 : open);
    if (device.gid_index && open != std::string_view::npos && close != std::string_view::npos)
      device.gid = name_text(text.substr(open + 1, close - open - 1));
  }
  return true;
}

// "NET/<plugin> : ..." and "NET/<plugin>: ...". The plugins' own chatter is plugin_rules'.
bool read_net(Parser& parser, const Message& message, Scan scan) {
  const auto plugin = scan.rest().substr(0, std::min(scan.rest().find_first_of(" :"), scan.rest().size()));
  if (plugin.empty() || plugin == "Plugin" || !scan.eat(plugin)) return false;
  scan.blanks();
  if (!scan.eat(": ") && !scan.eat(':')) {
    // "NET/0-0 :GPU/.." is a row of paths; "NET/OFI Using ..." is chatter.
    return false;
  }
  if (scan.eat("Using ")) return read_using(parser, message, plugin, scan);
  if (scan.eat("No device found")) return read_none(parser, message, plugin);
  if (scan.eat('[')) return read_announced(parser, message, scan);
  if (scan.eat("Made virtual device ")) return read_virtual(parser, message, scan);
  if (scan.eat("GPU Direct RDMA ")) return read_gdr_of(parser, message, plugin, scan);
  if (scan.rest().starts_with("NCCL Dev ") || scan.rest().starts_with("Dev ") ||
      scan.rest().starts_with("IbDev "))
    return read_queue_pair(parser, message, plugin, scan);
  if (scan.rest().find("async") != std::string_view::npos) {
    parser.event(message, classify(message.text), false);
    return true;
  }
  return false;
}

bool read_network(Parser& parser, const Message& message, Scan scan) {
  auto& process = parser.process(message);
  process.network = name_text(scan.rest());
  process.network_source = message.source;
  return true;
}

}  // namespace

std::span<const Rule> network_rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"GPU Direct RDMA ", read_gdr},
      {"NET/", read_net},
      {"Using network ", read_network},
      {"DMA-BUF is available",
       [](Parser& parser, const Message& message, Scan) { return read_dma_buf(parser, message, Scan("")); }},
      {"DMA-BUF is ", read_dma_buf},
  });
  return kRules;
}

}  // namespace angio::import::nccl_log
