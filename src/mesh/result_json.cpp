#include "mesh/result_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "mesh/json_fields.hpp"
#include "mesh/messages.hpp"

namespace angio::mesh {
namespace {

using model::MeshMeasure;
using model::MeshResult;

// More hosts than launch::kMaxHosts no mesh has.
constexpr std::size_t kMostHosts = 65536;
constexpr std::uint32_t kMostNics = 1024;

void read_plan(const Json& json, model::MeshPlan& plan) {
  plan.tcp = truth_of(json, "tcp");
  plan.rdma = truth_of(json, "rdma");
  const std::string level = text_of(json, "level");
  plan.level = level == "bw"    ? model::MeshLevel::kBandwidth
               : level == "lat" ? model::MeshLevel::kLatency
                                : model::MeshLevel::kBoth;
  plan.seconds = std::clamp(whole_of<std::uint32_t>(json, "seconds").value_or(2), 1U, 3600U);
  plan.streams = std::clamp(whole_of<std::uint32_t>(json, "streams").value_or(4), 1U, 256U);
  const auto size = [&](const char* key, Bytes& bytes) {
    const auto value = whole_of<std::uint64_t>(json, key);
    if (value && *value > 0) bytes = Bytes{*value};
  };
  size("tcp_size_bytes", plan.tcp_size);
  size("rdma_size_bytes", plan.rdma_size);
  size("latency_size_bytes", plan.latency_size);
  plan.rounds = whole_of<std::uint32_t>(json, "rounds").value_or(0);
  plan.partners = whole_of<std::uint32_t>(json, "partners").value_or(0);
  plan.all_nics = truth_of(json, "all_nics");
  plan.queue_pairs = std::clamp(whole_of<std::uint32_t>(json, "queue_pairs").value_or(1), 1U, 16384U);
  plan.gid_index = whole_of<std::uint32_t>(json, "gid_index");
  plan.cuda = whole_of<std::uint32_t>(json, "cuda");
}

model::MeshHost read_host(const Json& json) {
  model::MeshHost host;
  host.name = text_of(json, "name");
  host.host_name = text_of(json, "host_name");
  host.facts = text_of(json, "facts");
  host.tested = truth_of(json, "tested");
  host.trouble = text_of(json, "trouble");
  for (const Json& nic : list_of(json, "tcp"))
    host.tcp.push_back(parse_nic(nic));
  for (const Json& nic : list_of(json, "rdma"))
    host.rdma.push_back(parse_nic(nic));
  if (host.tcp.size() > kMostNics) host.tcp.resize(kMostNics);
  if (host.rdma.size() > kMostNics) host.rdma.resize(kMostNics);
  return host;
}

template <typename Number>
std::optional<double> positive(const Json& json, const Number& key) {
  const auto value = real_of(json, key);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<MeshMeasure> read_measure(const Json& json, const std::map<std::string, std::uint32_t>& hosts) {
  const auto from = hosts.find(text_of(json, "from"));
  const auto to = hosts.find(text_of(json, "to"));
  const std::string transport = text_of(json, "transport");
  const std::string state = text_of(json, "state");
  if (from == hosts.end() || to == hosts.end() || from == to) return std::nullopt;
  if ((transport != "TCP" && transport != "RDMA") ||
      (state != "done" && state != "failed" && state != "missing"))
    return std::nullopt;
  MeshMeasure measure;
  measure.transport = transport == "TCP" ? model::MeshTransport::kTcp : model::MeshTransport::kRdma;
  measure.state = state == "done"     ? model::MeshState::kDone
                  : state == "failed" ? model::MeshState::kFailed
                                      : model::MeshState::kMissing;
  measure.from = from->second;
  measure.to = to->second;
  measure.from_nic = whole_of<std::uint32_t>(json, "from_rail").value_or(0);
  measure.to_nic = whole_of<std::uint32_t>(json, "to_rail").value_or(0);
  if (measure.from_nic >= kMostNics || measure.to_nic >= kMostNics) return std::nullopt;
  measure.round = whole_of<std::uint32_t>(json, "round").value_or(0);
  measure.trouble = text_of(json, "trouble");
  if (const auto rate = positive(json, "bits_per_second")) measure.bandwidth = BitsPerSecond{*rate};
  if (const auto size = whole_of<std::uint64_t>(json, "message_bytes")) measure.message = Bytes{*size};
  measure.messages_per_second = positive(json, "messages_per_second");
  measure.latency_us = positive(json, "latency_us");
  measure.latency_99_us = positive(json, "latency_99_us");
  measure.from_cpu = positive(json, "from_cpu");
  measure.to_cpu = positive(json, "to_cpu");
  return measure;
}

void read_measures(const Json& json, MeshResult& result) {
  std::map<std::string, std::uint32_t> hosts;
  for (std::uint32_t i = 0; i < result.hosts.size(); ++i)
    hosts.emplace(result.hosts[i].name, i);
  using Key = std::tuple<model::MeshTransport, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::set<Key> seen;
  std::size_t damaged = 0;
  for (const Json& one : list_of(json, "measures")) {
    auto measure = read_measure(one, hosts);
    if (measure &&
        seen.emplace(measure->transport, measure->from, measure->from_nic, measure->to, measure->to_nic)
            .second) {
      result.measures.push_back(*std::move(measure));
    } else {
      ++damaged;
    }
  }
  if (damaged > 0)
    result.notes.push_back(fmt::format("{} of {} measures were damaged or twice there and are left out",
                                       damaged, damaged + result.measures.size()));
}

}  // namespace

Result<MeshResult> parse_mesh_result(std::string_view bytes, const std::string& name) {
  const auto json = parse_json(bytes);
  if (!json)
    return fail(ErrorCode::kInvalidInput, name + ": " + json.error().message,
                "expected the file that angio mesh --out wrote");
  const std::string schema = text_of(*json, "schema");
  if (schema != kMeshSchema)
    return fail(ErrorCode::kInvalidInput,
                schema.empty()
                    ? name + ": no result of angio mesh: it names no schema"
                    : fmt::format("{}: no result of angio mesh: its schema is \"{}\", expected \"{}\"", name,
                                  printable(schema.substr(0, 60)), kMeshSchema),
                "give the file that angio mesh --out wrote");
  MeshResult result;
  result.name = text_of(*json, "subject");
  result.tool = text_of(*json, "tool");
  result.captured = text_of(*json, "captured");
  result.launcher = text_of(*json, "launcher");
  result.seconds = positive(*json, "seconds").value_or(0);
  result.rounds_planned = whole_of<std::uint32_t>(*json, "rounds_planned").value_or(0);
  result.rounds_done = whole_of<std::uint32_t>(*json, "rounds_done").value_or(0);
  if (const Json* plan = json->find("plan")) read_plan(*plan, result.plan);
  std::set<std::string> names;
  for (const Json& host : list_of(*json, "hosts")) {
    model::MeshHost read = read_host(host);
    if (!read.name.empty() && result.hosts.size() < kMostHosts && names.insert(read.name).second)
      result.hosts.push_back(std::move(read));
  }
  for (const Json& note : list_of(*json, "notes")) {
    if (const auto* text = note.as_string()) result.notes.push_back(*text);
  }
  read_measures(*json, result);
  if (result.hosts.empty())
    return fail(ErrorCode::kInvalidInput, name + ": names no hosts", "the file may be cut off or edited");
  return result;
}

}  // namespace angio::mesh
