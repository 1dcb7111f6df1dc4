// A dry run as versioned JSON: all that the terminal shows, unfolded, and NCCL's log as `angio log` has it.
#include <algorithm>

#include "base/text.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_parts.hpp"
#include "views/dryrun_view.hpp"
#include "views/nccl_log_view.hpp"
#include "views/nccl_log_words.hpp"

namespace angio::views {
namespace {

using model::DryRun;
using model::DryRunOperation;

template <typename T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <typename Range>
Json list_of(const Range& values) {
  Json list = Json::array();
  for (const auto& value : values)
    list.push_back(Json(value));
  return list;
}

// Null rather than an empty text: the two do not mean the same.
Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json operation_json(const DryRunOperation& operation, std::uint32_t ranks) {
  const auto bus = operation.estimate_us
                       ? bus_gigabytes(operation.collective, operation.bytes, *operation.estimate_us, ranks)
                       : std::nullopt;
  return Json::object({{"collective", operation.collective},
                       {"size_bytes", operation.bytes},
                       {"reached", operation.reached},
                       {"algorithm", text_or_null(operation.algorithm)},
                       {"protocol", text_or_null(operation.protocol)},
                       {"channels", optional(operation.channels)},
                       {"estimated_us", optional(operation.estimate_us)},
                       {"estimated_bus_gigabytes_per_second", optional(bus)},
                       {"kernel", text_or_null(operation.kernel)},
                       {"grid_blocks", operation.grid},
                       {"block_threads", operation.block},
                       {"enqueue_ms", operation.enqueue_ms}});
}

Json operations_json(const DryRun& run) {
  Json list = Json::array();
  for (const DryRunOperation& operation : run.operations)
    list.push_back(operation_json(operation, ranks_of(run)));
  return list;
}

Json memory_json(const DryRun& run) {
  Json list = Json::array();
  for (const model::DryRunMemory& memory : run.memory)
    list.push_back(Json::object({{"rank", memory.rank},
                                 {"after_init_bytes", memory.after_init},
                                 {"peak_bytes", memory.peak},
                                 {"pinned_host_bytes", memory.host}}));
  return list;
}

Json settings_json(const DryRun& run) {
  Json list = Json::array();
  for (const auto& [name, value] : run.settings)
    list.push_back(Json::object({{"name", name}, {"value", value}}));
  return list;
}

Json ways_json(const model::NcclLog& log, const NodeOfRank& nodes) {
  Json list = Json::array();
  for (const DryRunWay& way : ways_of(log, nodes)) {
    Json channels = Json::array();
    for (std::uint32_t channel = 0; channel < 64; ++channel)
      if ((way.channels >> channel & 1U) != 0) channels.push_back(channel);
    list.push_back(Json::object({{"pairs", way.pairs},
                                 {"way", way.way},
                                 {"pair_count", std::uint64_t{way.ranks.size()}},
                                 {"channels", std::move(channels)},
                                 {"adapters", list_of(way.adapters)}}));
  }
  return list;
}

Json adapters_json(const model::NcclLog& log, const NodeOfRank& nodes, DryRunGraph graph) {
  Json list = Json::array();
  for (const auto& [node, adapters] : adapters_of(log, nodes, graph))
    for (const auto& [channel, each] : adapters)
      list.push_back(Json::object({{"node", node},
                                   {"channel", channel},
                                   {"send", list_of(each.out)},
                                   {"receive", list_of(each.in)}}));
  return list;
}

// Null: the log does not tell; -1: a root.
Json parents_json(const DistinctTree& tree) {
  Json list = Json::array();
  for (const int parent : tree.up)
    list.push_back(parent == kNotInLog ? Json() : Json(parent));
  return list;
}

// Equal rings and trees once, with their channels.
Json graphs_json(const model::NcclLog& log) {
  Json rings = Json::array();
  Json trees = Json::array();
  if (const model::NcclCommunicator* world = communicator_with_rings(log))
    for (const DistinctRing& ring : distinct_rings(*world))
      rings.push_back(Json::object({{"channels", list_of(ring.channels)}, {"ranks", list_of(ring.order)}}));
  if (const model::NcclCommunicator* world = world_of(log))
    for (const DistinctTree& tree : distinct_trees(*world))
      trees.push_back(Json::object({{"channels", list_of(tree.channels)}, {"parents", parents_json(tree)}}));
  return Json::object({{"rings", std::move(rings)}, {"trees", std::move(trees)}});
}

Json kernels_json(const DryRun& run) {
  Json list = Json::array();
  for (const DryRunKernel& kernel : kernels_of(run))
    list.push_back(Json::object({{"name", kernel.name},
                                 {"grid_blocks", list_of(kernel.grids)},
                                 {"block_threads", list_of(kernel.blocks)},
                                 {"operations", std::uint64_t{kernel.operations}}}));
  return list;
}

Json end_json(const DryRun& run) {
  const bool complete = run.end == model::DryRunEnd::kComplete;
  Json lines = Json::array();
  for (const std::string_view line : split_lines(run.last_lines))
    if (!line.empty()) lines.push_back(line);
  return Json::object({{"state", key_of(run.end)},
                       {"problem", text_or_null(run.problem)},
                       {"failed_call", text_or_null(run.failed_call)},
                       {"nccl_result", optional(run.result)},
                       {"node", complete ? Json() : Json(run.culprit)},
                       {"last_lines", std::move(lines)}});
}

}  // namespace

Json dryrun_run_json(const DryRun& run) {
  const NodeOfRank nodes(run.ranks_per_node);
  const model::NcclLog* log = run.evidence.log ? &*run.evidence.log : nullptr;
  return Json::object(
      {{"label", text_or_null(run.label)},
       {"nccl_version", text_or_null(run.nccl)},
       {"library", run.library},
       {"way", run.way},
       {"topology", run.topology},
       {"nodes", run.nodes},
       {"ranks_per_node", list_of(run.ranks_per_node)},
       {"ranks_total", ranks_of(run)},
       {"network", run.net},
       {"settings", settings_json(run)},
       {"end", end_json(run)},
       {"init_seconds", run.init_seconds},
       {"seconds", run.seconds},
       {"redirect_ms", run.redirect_ms},
       {"resident_peak_bytes", run.peak_memory},
       {"operations", operations_json(run)},
       {"kernels", kernels_json(run)},
       {"memory", memory_json(run)},
       {"graphs", log != nullptr ? graphs_json(*log) : Json()},
       {"ways", log != nullptr ? ways_json(*log, nodes) : Json()},
       {"ways_left_out", log != nullptr ? ways_left_out(*log) : std::uint64_t{0}},
       {"ring_adapters", log != nullptr ? adapters_json(*log, nodes, DryRunGraph::kRing) : Json()},
       {"tree_adapters", log != nullptr ? adapters_json(*log, nodes, DryRunGraph::kTree) : Json()},
       {"notes", list_of(run.notes)},
       {"log", log != nullptr ? log_facts_json(*log) : Json()}});
}

Json dryrun_json(const DryRunReport& report) {
  Json json = Json::object({{"schema", "angio.dryrun/1"}});
  if (report.run == nullptr) return json;
  const Json run = dryrun_run_json(*report.run);
  for (const auto& [key, value] : *run.as_object())
    json.set(key, value);
  if (report.reasons) json.set("reasons", dryrun_reasons_json(*report.reasons));
  return json;
}

Json dryrun_reasons_json(const std::vector<dryrun::Reason>& reasons) {
  Json list = Json::array();
  for (const dryrun::Reason& reason : reasons)
    list.push_back(Json::object(
        {{"question", reason.question}, {"answer", reason.answer}, {"evidence", list_of(reason.evidence)}}));
  return list;
}

}  // namespace angio::views
