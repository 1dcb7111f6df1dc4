#include "views/placement_view.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "views/notes.hpp"

namespace angio::views {
namespace {

using model::Machine;
using model::MemoryPolicy;
using model::RankPlacement;
using report::Line;
using report::Tone;

std::string short_address(const model::Gpu& gpu) {
  const PciAddress* address = gpu.address.get();
  if (address == nullptr) return "";
  const std::string text = to_string(*address);
  return address->domain == 0 ? text.substr(5) : text;
}

std::string gpu_words(const Machine& machine, const RankPlacement& rank) {
  if (!rank.gpu || *rank.gpu >= machine.gpus.size()) return "-";
  const std::string address = short_address(machine.gpus[*rank.gpu]);
  return address.empty() ? fmt::format("{}", *rank.gpu) : fmt::format("{} ({})", *rank.gpu, address);
}

std::string nic_words(const Machine& machine, const RankPlacement& rank) {
  std::vector<std::string> names;
  for (const std::uint32_t index : rank.rdma)
    if (index < machine.rdma.size()) names.push_back(machine.rdma[index].name);
  if (names.empty()) return "-";
  return fmt::format("{} {}", join(names, ","), model::label(rank.rdma_path));
}

std::string thread_words(const RankPlacement& rank) {
  if (rank.threads == 0) return "-";
  return rank.kept_cores == 0 ? fmt::format("{}", rank.threads)
                              : fmt::format("{} + {} kept", rank.threads, rank.kept_cores);
}

Line cpu_line(const RankPlacement& rank) {
  if (rank.cpus.empty()) return report::toned("not bound", Tone::kUnknown);
  return report::plain(to_list(rank.cpus));
}

report::Table rank_table(const Machine& machine, const model::Placement& placement) {
  report::Table table;
  table.columns = {{"rank", report::Align::kRight}, {"gpu"}, {"cpus"}, {"memory"}, {"nic"}, {"threads"}};
  for (const RankPlacement& rank : placement.ranks) {
    table.rows.push_back({report::plain(fmt::format("{}", rank.local_rank)),
                          report::plain(gpu_words(machine, rank)), cpu_line(rank),
                          report::plain(memory_words(rank)), report::plain(nic_words(machine, rank)),
                          report::plain(thread_words(rank))});
  }
  return table;
}

void add_why(report::Document& document, const std::string& heading, const std::vector<model::Why>& reasons) {
  if (reasons.empty()) return;
  report::Fields fields;
  for (const model::Why& why : reasons)
    fields.rows.emplace_back(why.what, report::plain(why.text));
  document.blocks.emplace_back(report::Heading{heading, 2});
  document.blocks.emplace_back(std::move(fields));
}

std::string_view memory_word(MemoryPolicy policy) {
  switch (policy) {
    case MemoryPolicy::kPreferred:
      return "preferred";
    case MemoryPolicy::kBind:
      return "bind";
    case MemoryPolicy::kInterleave:
      return "interleave";
    case MemoryPolicy::kLocal:
      return "local";
    case MemoryPolicy::kNone:
      break;
  }
  return "none";
}

Json gpu_json(const Machine& machine, const RankPlacement& rank) {
  if (!rank.gpu || *rank.gpu >= machine.gpus.size()) return {};
  const model::Gpu& gpu = machine.gpus[*rank.gpu];
  Json json = Json::object({{"index", *rank.gpu}});
  if (const PciAddress* address = gpu.address.get()) json.set("address", to_string(*address));
  if (const std::string* uuid = gpu.uuid.get()) json.set("uuid", *uuid);
  if (!rank.device.empty()) json.set("device", rank.device);
  return json;
}

Json why_json(const std::vector<model::Why>& reasons) {
  Json list = Json::array();
  for (const model::Why& why : reasons)
    list.push_back(Json::object({{"what", why.what}, {"why", why.text}}));
  return list;
}

Json rank_json(const Machine& machine, const RankPlacement& rank) {
  Json nics = Json::array();
  for (const std::uint32_t index : rank.rdma)
    if (index < machine.rdma.size()) nics.push_back(machine.rdma[index].name);
  return Json::object({{"local_rank", rank.local_rank},
                       {"gpu", gpu_json(machine, rank)},
                       {"node", rank.node ? Json(rank.node->value) : Json()},
                       {"cpus", to_list(rank.cpus)},
                       {"cores", rank.cores},
                       {"kept_cores", rank.kept_cores},
                       {"memory", memory_word(rank.memory)},
                       {"memory_nodes", to_list(rank.memory_nodes)},
                       {"rdma", std::move(nics)},
                       {"rdma_path", rank.rdma.empty() ? Json() : Json(model::label(rank.rdma_path))},
                       {"threads", rank.threads},
                       {"loader_workers", rank.loader_workers},
                       {"why", why_json(rank.why)}});
}

// memory_words() as a sentence's verb.
std::string memory_clause(const RankPlacement& rank) {
  const std::string words = memory_words(rank);
  return rank.memory == MemoryPolicy::kPreferred ? "prefers" + words.substr(std::string_view("prefer").size())
                                                 : words;
}

}  // namespace

std::string memory_words(const RankPlacement& rank) {
  const std::string nodes =
      fmt::format("node{} {}", rank.memory_nodes.size() == 1 ? "" : "s", to_list(rank.memory_nodes));
  switch (rank.memory) {
    case MemoryPolicy::kPreferred:
      return "prefer " + nodes;
    case MemoryPolicy::kBind:
      return "only " + nodes;
    case MemoryPolicy::kInterleave:
      return "interleave " + nodes;
    case MemoryPolicy::kLocal:
      return "local";
    case MemoryPolicy::kNone:
      break;
  }
  return "-";
}

std::string rank_sentence(const Machine& machine, const RankPlacement& rank) {
  std::vector<std::string> parts;
  if (rank.gpu) parts.push_back("GPU " + gpu_words(machine, rank));
  parts.push_back(rank.cpus.empty() ? "CPUs not bound" : "CPUs " + to_list(rank.cpus));
  if (rank.memory != MemoryPolicy::kNone) parts.push_back("memory " + memory_clause(rank));
  return fmt::format("rank {}: {}", rank.local_rank, join(parts, ", "));
}

report::Document placement_document(const Machine& machine, const model::Placement& placement,
                                    bool with_why) {
  report::Document document;
  document.title = "Placement on " + (machine.name.empty() ? "this host" : machine.name);
  document.blocks.emplace_back(rank_table(machine, placement));
  for (const model::Note& note : placement.notes) {
    document.blocks.emplace_back(
        report::Paragraph{{{"note ", Tone::kWarning}, {note_text(note), Tone::kPlain}}});
  }
  if (!with_why) return document;
  for (const RankPlacement& rank : placement.ranks)
    add_why(document, fmt::format("why rank {}", rank.local_rank), rank.why);
  return document;
}

Json placement_json(const Machine& machine, const model::Placement& placement) {
  Json ranks = Json::array();
  for (const RankPlacement& rank : placement.ranks)
    ranks.push_back(rank_json(machine, rank));
  return Json::object({{"schema", "angio.placement/1"},
                       {"machine", machine.name},
                       {"ranks", std::move(ranks)},
                       {"system_cpus", to_list(placement.system_cpus)},
                       {"notes", notes_json(placement.notes)}});
}

}  // namespace angio::views
