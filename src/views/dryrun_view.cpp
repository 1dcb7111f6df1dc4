#include "views/dryrun_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/glossary.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_parts.hpp"
#include "views/nccl_log_view.hpp"
#include "views/nccl_log_words.hpp"
#include "views/nccl_rings_picture.hpp"

namespace angio::views {
namespace {

using model::DryRun;
using model::DryRunEnd;
using report::Document;
using report::Fields;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

constexpr std::size_t kMostRings = 8;     // different ones, in words
constexpr std::size_t kMostAdapters = 4;  // different sets of nodes
constexpr std::size_t kMostLastLines = 15;
constexpr std::size_t kMostNotes = 24;
constexpr std::uint32_t kMostDrawnRanks = 128;  // a picture of more is longer than anyone reads

enum class Medium : std::uint8_t { kTerminal, kPage };

void add(Fields& fields, const std::string& label, const std::string& text, Tone tone = Tone::kPlain) {
  if (!text.empty()) fields.rows.emplace_back(label, toned(printable(text), tone));
}

void add_list(Fields& fields, const char* label, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    add(fields, i == 0 ? label : "", texts[i]);
}

Fields flush() {
  Fields fields;
  fields.indent = 0;
  return fields;
}

void put(Document& document, Fields fields) {
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

// ---------------------------------------------------------------- how it ended

// " (ncclInvalidUsage)" of 5: the glossary has NCCL's results under their names and numbers.
std::string result_name(int result) {
  const std::string number = std::to_string(result);
  for (const knowledge::GlossaryTerm& term : knowledge::glossary())
    if (term.kind == "result" && term.names.front().starts_with("nccl") &&
        std::ranges::find(term.names, number) != term.names.end())
      return fmt::format(" ({})", term.names.front());
  return "";
}

std::string call_words(const DryRun& run) {
  if (run.failed_call.empty()) return "";
  return run.failed_call +
         (run.result ? fmt::format(" returned {}{}", *run.result, result_name(*run.result)) : std::string()) +
         (run.nodes > 1 ? fmt::format(" on node {}", run.culprit) : std::string());
}

void add_last_lines(const DryRun& run, Medium medium, Document& document) {
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(run.last_lines))
    if (!trim(line).empty()) lines.push_back(printable(line));
  if (lines.empty()) return;
  const std::size_t first = lines.size() > kMostLastLines ? lines.size() - kMostLastLines : 0;
  document.blocks.emplace_back(Heading{fmt::format("The last lines of node {}", run.culprit), 2});
  if (medium == Medium::kPage) {
    report::Preformatted block;
    for (std::size_t i = first; i < lines.size(); ++i)
      block.lines.push_back(plain(lines[i]));
    document.blocks.emplace_back(std::move(block));
    return;
  }
  // Wrapped: lines of NCCL's are wider than a terminal.
  Fields fields;
  fields.indent = 2;
  for (std::size_t i = first; i < lines.size(); ++i)
    fields.rows.emplace_back("|", plain(lines[i]));
  put(document, std::move(fields));
}

void add_trouble(const DryRun& run, Medium medium, Document& document) {
  if (run.end == DryRunEnd::kComplete) return;
  Fields fields = flush();
  add(fields, "why", run.problem);
  add(fields, "call", call_words(run));
  if (run.evidence.log) {
    if (const model::NcclEvent* event = find_earliest_failure(*run.evidence.log))
      if (!contains(run.problem, event->text)) add(fields, "first", event->text);
  }
  put(document, std::move(fields));
  add_last_lines(run, medium, document);
  document.blocks.emplace_back(Heading{"What was known until then", 2});
}

// ---------------------------------------------------------------- what ran, and what NCCL made of it

std::string way_words(const DryRun& run) {
  return run.library + (run.way.empty() ? "" : run.library.empty() ? run.way : " (" + run.way + ")");
}

// What NCCL says it uses, and what that is here.
std::string network_words(const DryRun& run) {
  std::set<std::string> used;
  if (run.evidence.log)
    for (const model::NcclProcess& process : run.evidence.log->processes)
      if (!process.network.empty()) used.insert(process.network);
  const std::string names = join(std::vector<std::string>(used.begin(), used.end()), ", ");
  if (to_lower(names) == "phantom") return "phantom NICs, as the topology names them";
  if (run.net == "ib") return names + (names.empty() ? "" : ", ") + "over this machine's RDMA devices";
  return names == "Socket" ? "TCP sockets of this machine" : names;
}

std::string memory_words(const DryRun& run) {
  if (run.memory.empty()) return "";
  const auto range = [&](std::uint64_t model::DryRunMemory::* member) {
    const auto [least, most] = std::ranges::minmax_element(run.memory, {}, member);
    return range_words(in_words(Bytes{(*least).*member}), in_words(Bytes{(*most).*member}));
  };
  return fmt::format("{} a GPU after init, {} at most; {} pinned host memory a rank",
                     range(&model::DryRunMemory::after_init), range(&model::DryRunMemory::peak),
                     range(&model::DryRunMemory::host));
}

std::string init_words(const DryRun& run) {
  if (!(run.init_seconds > 0)) return "";
  std::string words = fmt::format("{:.2f} s on this machine with phantom GPUs", run.init_seconds);
  if (run.peak_memory != 0) words += "; all processes took " + in_words(Bytes{run.peak_memory});
  return words;
}

void add_graphs(const model::NcclLog& log, const NodeOfRank& nodes, Fields& fields) {
  if (const model::NcclCommunicator* world = communicator_with_rings(log)) {
    const std::vector<DistinctRing> rings = distinct_rings(*world);
    for (std::size_t i = 0; i < std::min(rings.size(), kMostRings); ++i)
      add(fields, i == 0 ? "rings" : "",
          fmt::format("{}: {}", channel_list(rings[i].channels), ring_words(rings[i], nodes, world->nranks)));
    if (rings.size() > kMostRings)
      add(fields, "", fmt::format("and {} others, see --format json", rings.size() - kMostRings));
  }
  if (const model::NcclCommunicator* world = world_of(log))
    add_list(fields, "trees", tree_lines(distinct_trees(*world), nodes));
}

void add_adapters(const model::NcclLog& log, const NodeOfRank& nodes, DryRunGraph graph, Fields& fields) {
  std::vector<std::pair<std::string, std::set<std::uint32_t>>> sets;
  for (const auto& [node, adapters] : adapters_of(log, nodes, graph)) {
    const std::string words = adapter_words(adapters);
    auto known = std::ranges::find(sets, words, [](const auto& each) { return each.first; });
    if (known == sets.end()) known = sets.insert(sets.end(), {words, {}});
    known->second.insert(node);
  }
  const char* label = graph == DryRunGraph::kRing ? "ring NICs" : "tree NICs";
  const model::NcclCommunicator* world = world_of(log);
  if (sets.empty() && nodes.nodes() > 1 && world != nullptr && !world->rings.empty())
    add(fields, label, "not connected as a whole: no operation took them, or the log does not tell",
        Tone::kUnknown);
  for (std::size_t i = 0; i < std::min(sets.size(), kMostAdapters); ++i) {
    const auto& [words, on] = sets[i];
    const std::string where =
        sets.size() == 1 ? "" : fmt::format("{} {}: ", on.size() == 1 ? "node" : "nodes", stride_words(on));
    add(fields, i == 0 ? label : "", where + "channels " + words);
  }
  if (sets.size() > kMostAdapters)
    add(fields, "",
        fmt::format("and other NICs on {}, see --format json",
                    count_of(sets.size() - kMostAdapters, "node")));
}

void add_facts(const DryRun& run, Document& document) {
  const NodeOfRank nodes(run.ranks_per_node);
  const model::NcclLog* log = run.evidence.log ? &*run.evidence.log : nullptr;
  Fields fields = flush();
  add(fields, "library", way_words(run));
  add(fields, "topology", run.topology);
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    add(fields, i == 0 ? "settings" : "", run.settings[i].first + "=" + run.settings[i].second);
  if (log == nullptr) {
    add(fields, "log", "nothing that NCCL printed was understood", Tone::kUnknown);
  } else {
    add(fields, "channels", channel_words(*log));
    add_list(fields, "graphs", graph_words(*log));
    add_graphs(*log, nodes, fields);
    add(fields, "network", network_words(run));
    add_list(fields, "devices", device_words(*log));
    add(fields, "GPUDirect", gdr_words(*log));
    add_adapters(*log, nodes, DryRunGraph::kRing, fields);
    add_adapters(*log, nodes, DryRunGraph::kTree, fields);
  }
  add(fields, "memory", memory_words(run));
  add(fields, "init", init_words(run));
  put(document, std::move(fields));
}

void add_warnings(const DryRun& run, Document& document) {
  if (!run.evidence.log) return;
  const std::size_t before = document.blocks.size();
  add_log_events(*run.evidence.log, document);
  for (std::size_t i = before; i < document.blocks.size(); ++i)
    if (auto* fields = std::get_if<Fields>(&document.blocks[i])) fields->indent = 0;
}

void add_notes(const DryRun& run, Document& document) {
  Fields fields = flush();
  for (const std::string& note : run.notes) {
    if (fields.rows.size() >= kMostNotes) {
      add(fields, "", fmt::format("and {} more, see --format json", run.notes.size() - kMostNotes));
      break;
    }
    add(fields, "note", note, Tone::kQuiet);
  }
  put(document, std::move(fields));
}

// ---------------------------------------------------------------- the whole

void add_heading_line(const DryRun& run, Document& document) {
  const bool complete = run.end == DryRunEnd::kComplete;
  document.blocks.emplace_back(Paragraph{{{run_words(run) + ": ", Tone::kStrong},
                                          {end_words(run), complete ? Tone::kStrong : Tone::kCritical}}});
}

void add_drawings(const DryRunReport& report, const DryRun& run, Document& document) {
  if (!run.evidence.log) return;
  const model::NcclLog& log = *run.evidence.log;
  std::vector<report::Drawing> machine;
  if (report.machine != nullptr) machine = dryrun_machine_drawings(run, *report.machine);
  const bool drawn = ranks_of(run) <= kMostDrawnRanks;
  auto rings = drawn ? rings_drawing(log) : std::nullopt;
  auto tree = drawn ? tree_drawing(log) : std::nullopt;
  if (machine.empty() && !rings && !tree && drawn) return;
  document.blocks.emplace_back(Heading{"Rings and trees", 2});
  for (report::Drawing& drawing : machine)
    document.blocks.emplace_back(std::move(drawing));
  if (rings) document.blocks.emplace_back(std::move(*rings));
  if (tree) document.blocks.emplace_back(std::move(*tree));
  if (!drawn)
    document.blocks.emplace_back(
        Paragraph{toned(fmt::format("Rings and trees over all {} ranks are not drawn: up to {} are.",
                                    ranks_of(run), kMostDrawnRanks),
                        Tone::kQuiet)});
}

Document show(const DryRunReport& report, Medium medium) {
  Document document;
  if (report.run == nullptr) return document;
  const DryRun& run = *report.run;
  add_heading_line(run, document);
  add_trouble(run, medium, document);
  add_facts(run, document);
  add_dryrun_choices(run, document);
  if (medium == Medium::kPage)
    if (auto steps = dryrun_choices_drawing(run)) document.blocks.emplace_back(std::move(*steps));
  if (report.reasons) add_dryrun_reasons(*report.reasons, document);
  add_dryrun_ways(run, document);
  if (medium == Medium::kPage) add_drawings(report, run, document);
  add_dryrun_kernels(run, document);
  add_dryrun_tuning(run, document);
  add_warnings(run, document);
  add_notes(run, document);
  return document;
}

}  // namespace

std::string run_words(const DryRun& run) {
  return fmt::format("{}{}, {} on phantom GPUs", run.nccl.empty() ? "" : "NCCL ",
                     run.nccl.empty() ? "an NCCL that did not say its version" : printable(run.nccl),
                     shape_words(run));
}

std::string end_words(const DryRun& run) {
  std::string words(words_of(run.end));
  if (run.seconds > 0)
    words += fmt::format(" {} {:.1f} s", run.end == DryRunEnd::kComplete ? "in" : "after", run.seconds);
  return words;
}

Document dryrun_document(const DryRunReport& report) {
  return show(report, Medium::kTerminal);
}

Document dryrun_page(const DryRunReport& report) {
  Document document = show(report, Medium::kPage);
  document.title = "angio dryrun";
  if (report.run != nullptr && !report.run->topology.empty())
    document.title += ": " + printable(report.run->topology);
  return document;
}

void add_dryrun_reasons(const std::vector<dryrun::Reason>& reasons, Document& document) {
  document.blocks.emplace_back(Heading{"Why", 2});
  if (reasons.empty())
    document.blocks.emplace_back(
        Paragraph{toned("Nothing that topology, settings and log show needs a reason.", Tone::kQuiet)});
  for (const dryrun::Reason& reason : reasons) {
    document.blocks.emplace_back(Paragraph{toned(printable(reason.question), Tone::kStrong)});
    Fields fields;
    fields.indent = 2;
    add(fields, "because", reason.answer);
    for (std::size_t i = 0; i < reason.evidence.size(); ++i)
      add(fields, i == 0 ? "seen" : "", reason.evidence[i], Tone::kQuiet);
    put(document, std::move(fields));
  }
}

}  // namespace angio::views
