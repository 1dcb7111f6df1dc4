#include "mesh/messages.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "mesh/json_fields.hpp"

namespace angio::mesh {
namespace {

struct ToolWord {
  Tool tool;
  std::string_view word;
  std::string_view program;
};
constexpr std::array kTools{ToolWord{Tool::kTcpBandwidth, "tcp bandwidth", ""},
                            ToolWord{Tool::kTcpLatency, "tcp latency", ""},
                            ToolWord{Tool::kWriteBandwidth, "ib_write_bw", "ib_write_bw"},
                            ToolWord{Tool::kWriteLatency, "ib_write_lat", "ib_write_lat"}};

std::string_view word_of(Tool tool) {
  return std::ranges::find(kTools, tool, &ToolWord::tool)->word;
}

Json start(const char* kind) {
  return Json::object({{"say", kind}});
}

Json json_of(const Challenge& message) {
  Json json = start("challenge");
  json.set("random", message.random);
  return json;
}

Json json_of(const Welcome& message) {
  Json json = start("welcome");
  json.set("proof", message.proof);
  return json;
}

Json nics_json(const std::vector<model::MeshNic>& nics) {
  Json list = Json::array();
  for (const model::MeshNic& nic : nics)
    list.push_back(nic_json(nic));
  return list;
}

Json json_of(const Hello& message) {
  Json json = start("hello");
  json.set("random", message.random);
  json.set("proof", message.proof);
  json.set("name", message.name);
  json.set("host_name", message.host_name);
  set_known(json, "rank", message.rank);
  json.set("version", message.version);
  Json programs = Json::array();
  for (const std::string& program : message.programs)
    programs.push_back(program);
  json.set("programs", std::move(programs));
  json.set("tcp", nics_json(message.host.tcp));
  json.set("rdma", nics_json(message.host.rdma));
  return json;
}

Json json_of(const Order& order) {
  Json json = start("test");
  json.set("test", order.test);
  json.set("tool", word_of(order.tool));
  json.set("listens", order.listens);
  json.set("own_address", order.own_address);
  json.set("address", order.address);
  json.set("tcp_port", std::uint32_t{order.tcp_port});
  json.set("ticket", order.ticket);
  json.set("seconds", order.seconds);
  json.set("limit", order.limit);
  json.set("streams", order.streams);
  json.set("size", order.size);
  json.set("device", order.device);
  json.set("device_port", order.device_port);
  json.set("queue_pairs", order.queue_pairs);
  set_known(json, "gid_index", order.gid_index);
  set_known(json, "cuda", order.cuda);
  return json;
}

Json json_of(const Ready& ready) {
  Json json = start("ready");
  json.set("test", ready.test);
  json.set("tcp_port", std::uint32_t{ready.tcp_port});
  return json;
}

Json json_of(const Outcome& outcome) {
  Json json = start("done");
  json.set("test", outcome.test);
  json.set("trouble", outcome.trouble);
  set_known(json, "bytes_per_second", outcome.bytes_per_second);
  set_known(json, "latency_us", outcome.latency_us);
  set_known(json, "latency_99_us", outcome.latency_99_us);
  set_known(json, "cpu", outcome.cpu);
  json.set("text", outcome.text);
  return json;
}

Json json_of(const Cancel& cancel) {
  Json json = start("cancel");
  json.set("test", cancel.test);
  return json;
}

Json json_of(const Farewell& /*message*/) {
  return start("end");
}

std::unexpected<Error> bad(std::string_view what) {
  return fail(ErrorCode::kInvalidInput, "no message of angio mesh: " + std::string(what));
}

bool is_hex(std::string_view text) {
  return text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Numeric addresses only: whoever connects asks no name server.
bool is_address(std::string_view text) {
  return text.size() <= 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                  c == ':' || c == '%' || c == '-' || c == '_';
         });
}

Result<Message> parse_order(const Json& json) {
  Order order;
  const std::string word = text_of(json, "tool");
  const auto* const tool = std::ranges::find(kTools, word, &ToolWord::word);
  if (tool == kTools.end()) return bad("no such test");
  order.tool = tool->tool;
  order.test = whole_of<std::uint64_t>(json, "test").value_or(0);
  order.listens = truth_of(json, "listens");
  order.own_address = text_of(json, "own_address");
  order.address = text_of(json, "address");
  order.tcp_port = whole_of<std::uint16_t>(json, "tcp_port").value_or(0);
  order.ticket = text_of(json, "ticket");
  order.seconds = whole_of<std::uint32_t>(json, "seconds").value_or(0);
  order.limit = whole_of<std::uint32_t>(json, "limit").value_or(0);
  order.streams = whole_of<std::uint32_t>(json, "streams").value_or(0);
  order.size = whole_of<std::uint64_t>(json, "size").value_or(0);
  order.device = text_of(json, "device");
  order.device_port = whole_of<std::uint32_t>(json, "device_port").value_or(0);
  order.queue_pairs = whole_of<std::uint32_t>(json, "queue_pairs").value_or(0);
  order.gid_index = whole_of<std::uint32_t>(json, "gid_index");
  order.cuda = whole_of<std::uint32_t>(json, "cuda");
  constexpr std::uint32_t kMostSeconds = 3600;
  constexpr std::uint32_t kMostStreams = 256;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;
  const bool numbers = order.seconds >= 1 && order.seconds <= kMostSeconds && order.limit >= order.seconds &&
                       order.limit <= 2 * kMostSeconds && order.streams >= 1 &&
                       order.streams <= kMostStreams && order.size >= 1 && order.size <= kMostBytes &&
                       order.queue_pairs >= 1 && order.queue_pairs <= 16384 && order.device_port >= 1;
  if (!numbers) return bad("a number beyond what a test takes");
  const bool names = is_hex(order.ticket) && is_address(order.own_address) && is_address(order.address) &&
                     (program_of(order.tool).empty() || is_device_name(order.device));
  if (!names) return bad("a name that is none");
  return order;
}

Hello parse_hello(const Json& json) {
  Hello hello;
  hello.random = text_of(json, "random");
  hello.proof = text_of(json, "proof");
  hello.name = text_of(json, "name");
  hello.host_name = text_of(json, "host_name");
  hello.rank = whole_of<std::uint32_t>(json, "rank");
  hello.version = text_of(json, "version");
  for (const Json& program : list_of(json, "programs")) {
    if (const auto* text = program.as_string()) hello.programs.push_back(*text);
  }
  for (const Json& nic : list_of(json, "tcp"))
    hello.host.tcp.push_back(parse_nic(nic));
  for (const Json& nic : list_of(json, "rdma"))
    hello.host.rdma.push_back(parse_nic(nic));
  return hello;
}

Outcome parse_outcome(const Json& json) {
  return {whole_of<std::uint64_t>(json, "test").value_or(0),
          text_of(json, "trouble"),
          real_of(json, "bytes_per_second"),
          real_of(json, "latency_us"),
          real_of(json, "latency_99_us"),
          real_of(json, "cpu"),
          text_of(json, "text")};
}

}  // namespace

std::string_view program_of(Tool tool) {
  return std::ranges::find(kTools, tool, &ToolWord::tool)->program;
}

std::string to_line(const Message& message) {
  return std::visit([](const auto& one) { return to_text(json_of(one), -1); }, message) + "\n";
}

Result<Message> parse_message(std::string_view line) {
  const auto json = parse_json(line);
  if (!json) return bad(json.error().message);
  const std::string say = text_of(*json, "say");
  const std::uint64_t test = whole_of<std::uint64_t>(*json, "test").value_or(0);
  if (say == "challenge") return Challenge{text_of(*json, "random")};
  if (say == "welcome") return Welcome{text_of(*json, "proof")};
  if (say == "hello") return parse_hello(*json);
  if (say == "test") return parse_order(*json);
  if (say == "ready") return Ready{test, whole_of<std::uint16_t>(*json, "tcp_port").value_or(0)};
  if (say == "done") return parse_outcome(*json);
  if (say == "cancel") return Cancel{test};
  if (say == "end") return Farewell{};
  return bad("\"" + printable(say.substr(0, 40)) + "\"");
}

bool is_device_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name[0] != '-' && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '-';
  });
}

Json nic_json(const model::MeshNic& nic) {
  Json json = Json::object({{"name", nic.name}});
  if (!nic.address.empty()) json.set("address", nic.address);
  json.set("port", nic.port);
  if (!nic.link_layer.empty()) json.set("link_layer", nic.link_layer);
  if (nic.rate) json.set("bits_per_second", nic.rate->value);
  if (!nic.rate_name.empty()) json.set("rate", nic.rate_name);
  if (nic.pcie) json.set("pcie_bytes_per_second", nic.pcie->value);
  if (!nic.pcie_words.empty()) json.set("pcie", nic.pcie_words);
  if (nic.path_mtu) json.set("path_mtu_bytes", nic.path_mtu->value);
  if (nic.netdev_mtu) json.set("netdev_mtu_bytes", nic.netdev_mtu->value);
  if (nic.numa) json.set("numa_node", *nic.numa);
  return json;
}

model::MeshNic parse_nic(const Json& value) {
  model::MeshNic nic;
  nic.name = text_of(value, "name");
  nic.address = text_of(value, "address");
  nic.port = whole_of<std::uint32_t>(value, "port").value_or(1);
  nic.link_layer = text_of(value, "link_layer");
  const auto rate = real_of(value, "bits_per_second");
  if (rate && *rate > 0) nic.rate = BitsPerSecond{*rate};
  nic.rate_name = text_of(value, "rate");
  const auto pcie = real_of(value, "pcie_bytes_per_second");
  if (pcie && *pcie > 0) nic.pcie = BytesPerSecond{*pcie};
  nic.pcie_words = text_of(value, "pcie");
  if (const auto mtu = whole_of<std::uint64_t>(value, "path_mtu_bytes")) nic.path_mtu = Bytes{*mtu};
  if (const auto mtu = whole_of<std::uint64_t>(value, "netdev_mtu_bytes")) nic.netdev_mtu = Bytes{*mtu};
  nic.numa = whole_of<std::int32_t>(value, "numa_node");
  return nic;
}

}  // namespace angio::mesh
