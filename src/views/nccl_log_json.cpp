// The facts of NCCL's own log as JSON: the words of the terminal in snake_case, units in the keys.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "views/findings_json.hpp"
#include "views/nccl_log_view.hpp"
#include "views/nccl_log_words.hpp"
#include "views/nccl_tests_view.hpp"

namespace angio::views {
namespace {

using model::NcclCommunicator;
using model::NcclLog;
using model::NcclRank;

template <typename T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
Json optional(const std::optional<int>& value) {
  return value ? Json(*value) : Json();
}

Json count(std::size_t value) {
  return Json(static_cast<std::uint64_t>(value));
}

Json processes_json(const NcclLog& log) {
  Json list = Json::array();
  for (const model::NcclProcess& process : log.processes)
    list.push_back(Json::object({{"host", process.host},
                                 {"pid", process.pid},
                                 {"nccl_version", process.version},
                                 {"built_for", process.built_for},
                                 {"rccl", process.is_rccl},
                                 {"cuda_driver", optional(process.cuda_driver)},
                                 {"network", process.network},
                                 {"bootstrap_interface", process.bootstrap_interface},
                                 {"dma_buf", optional(process.dma_buf)},
                                 {"lines", process.lines},
                                 {"warnings", process.warn_lines},
                                 {"first", log.places.text(process.first)}}));
  return list;
}

Json settings_json(const NcclLog& log) {
  Json list = Json::array();
  for (const model::NcclSetting& setting : log.settings)
    list.push_back(Json::object({{"name", setting.name},
                                 {"value", setting.value},
                                 {"origin", setting.origin},
                                 {"processes", count(setting.processes.size())},
                                 {"source", log.places.text(setting.source)}}));
  return list;
}

Json device_json(const model::NcclNetDevice& device) {
  return Json::object({{"index", device.index},
                       {"name", device.name},
                       {"port", optional(device.port)},
                       {"link", device.link},
                       {"address", device.address},
                       {"speed_bits_per_second", device.speed_mbps ? Json(*device.speed_mbps * 1e6) : Json()},
                       {"gpu_direct", optional(device.gdr)}});
}

Json networks_json(const NcclLog& log) {
  Json list = Json::array();
  for (const model::NcclNetwork& network : log.networks) {
    Json devices = Json::array();
    for (const model::NcclNetDevice& device : network.devices)
      devices.push_back(device_json(device));
    Json merged = Json::array();
    for (const model::NcclNetDevice& device : network.virtual_devices)
      merged.push_back(device_json(device));
    list.push_back(Json::object({{"host", network.host},
                                 {"plugin", network.plugin},
                                 {"none_found", network.none_found},
                                 {"devices", std::move(devices)},
                                 {"merged_devices", std::move(merged)},
                                 {"source", log.places.text(network.source)}}));
  }
  return list;
}

Json transports_json(const NcclLog& log, const NcclRank& rank) {
  Json list = Json::array();
  for (const model::NcclTransportCount& way : rank.transports)
    list.push_back(Json::object({{"way", model::name_of(way.transport)},
                                 {"network", way.net},
                                 {"adapter", optional(way.net_device)},
                                 {"gpu_direct", way.gdr},
                                 {"pxn", way.proxied},
                                 {"lines", way.count},
                                 {"first", log.places.text(way.source)}}));
  return list;
}

Json rank_json(const NcclLog& log, const NcclRank& rank) {
  Json parts = Json::object();
  for (const model::NcclTiming& part : rank.init_parts)
    parts.set(part.name, part.seconds);
  static constexpr const char* kStates[] = {"unknown", "started", "complete", "destroyed", "aborted"};
  return Json::object({{"rank", optional(rank.rank)},
                       {"host", host_of(log, rank)},
                       {"cuda_device", optional(rank.cuda_device)},
                       {"nvml_device", optional(rank.nvml_device)},
                       {"bus_id", rank.bus_id},
                       {"gpu", rank.gpu ? Json(to_string(*rank.gpu)) : Json()},
                       {"state", kStates[static_cast<std::size_t>(rank.state)]},
                       {"init_seconds", optional(rank.init_seconds)},
                       {"init_parts_seconds", std::move(parts)},
                       {"affinity", rank.affinity},
                       {"collective_channels", optional(rank.coll_channels)},
                       {"nvls_channels", optional(rank.nvls_channels)},
                       {"point_to_point_channels", optional(rank.p2p_channels)},
                       {"nvls", optional(rank.nvls)},
                       {"collective_calls", rank.calls.collectives},
                       {"point_to_point_calls", rank.calls.point_to_point},
                       {"ways", transports_json(log, rank)}});
}

Json rings_json(const NcclCommunicator& communicator) {
  Json rings = Json::array();
  for (const model::NcclRing& ring : communicator.rings) {
    Json order = Json::array();
    for (const std::uint32_t rank : ring.order)
      order.push_back(rank);
    rings.push_back(Json::object({{"channel", ring.channel}, {"ranks", std::move(order)}}));
  }
  return rings;
}

Json patterns_json(const NcclCommunicator& communicator) {
  Json list = Json::array();
  for (const model::NcclPattern& pattern : communicator.patterns)
    list.push_back(Json::object({{"pattern", pattern.pattern},
                                 {"cross_nic", pattern.cross_nic},
                                 {"channels", pattern.channels},
                                 {"intra_gigabytes_per_second", pattern.bw_intra},
                                 {"inter_gigabytes_per_second", pattern.bw_inter},
                                 {"intra_type", pattern.type_intra},
                                 {"inter_type", pattern.type_inter}}));
  return list;
}

Json choices_json(const NcclLog& log, const NcclCommunicator& communicator) {
  Json list = Json::array();
  for (const model::NcclChoice& choice : communicator.choices)
    list.push_back(Json::object({{"collective", choice.function},
                                 {"size_bytes", choice.bytes},
                                 {"algorithm", choice.algorithm},
                                 {"protocol", choice.protocol},
                                 {"kernel", choice.kernel},
                                 {"channel_low", optional(choice.channel_low)},
                                 {"channel_high", optional(choice.channel_high)},
                                 {"times", choice.count},
                                 {"source", log.places.text(choice.source)}}));
  return list;
}

Json tuning_json(const NcclCommunicator& communicator) {
  Json list = Json::array();
  for (const model::NcclTuningCell& cell : communicator.tuning)
    list.push_back(Json::object({{"collective", cell.function},
                                 {"algorithm", cell.algorithm},
                                 {"protocol", cell.protocol},
                                 {"latency_us", cell.latency_us},
                                 {"algorithm_gigabytes_per_second", cell.bandwidth}}));
  return list;
}

Json communicators_json(const NcclLog& log) {
  Json list = Json::array();
  for (const NcclCommunicator& communicator : log.communicators) {
    Json ranks = Json::array();
    for (const NcclRank& rank : communicator.ranks)
      ranks.push_back(rank_json(log, rank));
    list.push_back(Json::object({{"id", communicator.id},
                                 {"ranks_total", communicator.nranks},
                                 {"nodes", optional(communicator.nodes)},
                                 {"first", log.places.text(communicator.first)},
                                 {"ranks", std::move(ranks)},
                                 {"graphs", patterns_json(communicator)},
                                 {"rings", rings_json(communicator)},
                                 {"tuning", tuning_json(communicator)},
                                 {"choices", choices_json(log, communicator)}}));
  }
  return list;
}

Json gdr_json(const NcclLog& log) {
  Json list = Json::array();
  for (const model::NcclGdrPair& pair : log.gdr)
    list.push_back(Json::object({{"host", pair.host},
                                 {"gpu", pair.gpu},
                                 {"adapter", pair.hca},
                                 {"enabled", pair.enabled},
                                 {"distance", optional(pair.distance)},
                                 {"threshold", optional(pair.threshold)},
                                 {"source", log.places.text(pair.source)}}));
  return list;
}

Json events_json(const NcclLog& log) {
  Json list = Json::array();
  for (const model::NcclEvent& event : log.events) {
    Json json = Json::object({{"kind", model::name_of(event.kind)},
                              {"text", event.text},
                              {"warning", event.is_warning},
                              {"echo", model::is_echo(event)},
                              {"times", event.count},
                              {"source", log.places.text(event.source)}});
    if (event.process < log.processes.size()) json.set("host", log.processes[event.process].host);
    if (event.number) json.set("number", *event.number);
    if (event.status) json.set("status", *event.status);
    if (event.vendor_error) json.set("vendor_error", *event.vendor_error);
    if (!event.peer.empty()) json.set("peer", event.peer);
    if (!event.device.empty()) json.set("device", event.device);
    list.push_back(std::move(json));
  }
  return list;
}

Json plugins_json(const NcclLog& log) {
  static constexpr const char* kOutcomes[] = {"not_found", "symbol_missing", "loaded",   "initialized",
                                              "failed",    "assigned",       "mentioned"};
  Json list = Json::array();
  for (const model::NcclPlugin& plugin : log.plugins)
    list.push_back(Json::object({{"name", plugin.name},
                                 {"version", plugin.version},
                                 {"outcome", kOutcomes[static_cast<std::size_t>(plugin.outcome)]},
                                 {"text", plugin.text},
                                 {"source", log.places.text(plugin.source)}}));
  return list;
}

}  // namespace

Json log_facts_json(const NcclLog& log) {
  return Json::object(
      {{"lines",
        Json::object({{"info", log.info_lines}, {"warning", log.warn_lines}, {"trace", log.trace_lines}})},
       {"processes", processes_json(log)},
       {"settings", settings_json(log)},
       {"networks", networks_json(log)},
       {"plugins", plugins_json(log)},
       {"gpu_direct", gdr_json(log)},
       {"communicators", communicators_json(log)},
       {"events", events_json(log)},
       {"left_out", log.left_out + log.events_left_out}});
}

Json log_json(const LogReport& report) {
  Json files = Json::array();
  for (const LogReport::File& file : report.files) {
    Json holds = Json::array();
    for (const std::string& what : file.holds)
      holds.push_back(what);
    files.push_back(Json::object({{"name", file.name},
                                  {"holds", std::move(holds)},
                                  {"trouble", file.trouble.empty() ? Json() : Json(file.trouble)}}));
  }
  Json json = Json::object({{"schema", "angio.log/1"}, {"files", std::move(files)}});
  if (report.show_facts && report.evidence != nullptr) {
    json.set("nccl", report.evidence->log ? log_facts_json(*report.evidence->log) : Json());
    json.set("nccl_tests", nccl_tests_json(*report.evidence));
    json.set("ras", ras_json(*report.evidence));
    json.set("watchdog", watchdog_json(*report.evidence));
    json.set("inspector", inspector_json(*report.evidence));
    Json missing = Json::array();
    for (const LogReport::Missing& gap : report.missing)
      missing.push_back(Json::object({{"what", gap.what}, {"remedy", gap.remedy}}));
    json.set("missing", std::move(missing));
  }
  if (report.show_findings) json.set("findings", findings_json(report.findings));
  return json;
}

}  // namespace angio::views
