// What NCCL's own log tells, for the terminal and the page: the run, its network, the ways between ranks,
// what was chosen for each size.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/nccl_log_view.hpp"
#include "views/nccl_log_words.hpp"

namespace angio::views {
namespace {

using model::NcclChoice;
using model::NcclCommunicator;
using model::NcclLog;
using model::NcclNetDevice;
using model::NcclNetwork;
using model::NcclProcess;
using model::NcclRank;
using model::NcclTransportCount;
using report::Align;
using report::Document;
using report::Fields;
using report::Line;
using report::plain;
using report::Tone;
using report::toned;

constexpr std::size_t kMostRows = 12;
constexpr std::size_t kMostSettings = 10;
constexpr std::size_t kMostEvents = 8;

void add(Fields& fields, const std::string& label, const std::string& text) {
  if (!text.empty()) fields.rows.emplace_back(label, plain(printable(text)));
}

std::string versions(const NcclLog& log) {
  std::map<std::string, std::size_t> count;
  for (const NcclProcess& process : log.processes)
    if (!process.version.empty())
      ++count[(process.is_rccl ? "RCCL " : "NCCL ") + process.version +
              (process.built_for.empty() ? "" : "+" + process.built_for)];
  // A bare line of a version names no process, but it tells what ran.
  for (const model::NcclVersion& said : log.versions)
    if (count.empty() || (count.size() == 1 && count.begin()->second == 0))
      count.emplace((said.is_rccl ? "RCCL " : "NCCL ") + said.version +
                        (said.built_for.empty() ? "" : "+" + said.built_for),
                    0);
  std::vector<std::string> parts;
  for (const auto& [version, processes] : count)
    parts.push_back(count.size() == 1 ? version : fmt::format("{} in {} processes", version, processes));
  return join(parts, "; ");
}

std::string driver(const NcclLog& log) {
  std::set<std::uint32_t> versions;
  for (const NcclProcess& process : log.processes)
    if (process.cuda_driver) versions.insert(*process.cuda_driver);
  std::vector<std::string> parts;
  for (const std::uint32_t version : versions)  // 13020 is 13.2: cuDriverGetVersion
    parts.push_back(version < 1'000'000 ? fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)
                                        : std::to_string(version));
  return parts.empty() ? "" : "for " + join(parts, ", ");
}

std::string run_line(const NcclLog& log) {
  const NcclCommunicator* world = world_of(log);
  const std::set<std::string> hosts = hosts_of(log);
  std::vector<std::string> parts;
  if (const std::string version = versions(log); !version.empty()) parts.push_back(version);
  if (world != nullptr) {
    parts.push_back(count_of(world->nranks, "rank"));
    if (world->nodes) {
      parts.push_back("on " + count_of(*world->nodes, "node"));
    } else if (!hosts.empty()) {
      parts.push_back("from " + count_of(hosts.size(), "host"));
    }
  }
  if (!hosts.empty())
    parts.push_back("(" + short_list({hosts.begin(), hosts.end()}) +
                    (world != nullptr && world->nodes > hosts.size() ? "; others not in these files)" : ")"));
  return join(parts, " ");
}

// Ranks of which no line is there, where most are.
std::string absent_words(const NcclLog& log) {
  const NcclCommunicator* world = world_of(log);
  constexpr std::uint32_t kMostRanks = 65536;
  if (world == nullptr || world->guessed || world->nranks > kMostRanks) return "";
  std::set<std::uint32_t> absent;
  for (std::uint32_t rank = 0; rank < world->nranks; ++rank)
    absent.insert(rank);
  for (const NcclRank& rank : world->ranks)
    if (rank.rank) absent.erase(*rank.rank);
  if (absent.empty() || 2 * absent.size() >= world->nranks) return "";
  return fmt::format("no line of {} {}", absent.size() == 1 ? "rank" : "ranks", rank_list(absent));
}

// The networks in use first, then what else was looked at.
void add_networks(const NcclLog& log, Fields& fields) {
  std::map<std::string, std::size_t> used;
  for (const NcclProcess& process : log.processes)
    if (!process.network.empty()) ++used[process.network];
  std::vector<std::string> parts;
  for (const auto& [name, processes] : used)
    parts.push_back(used.size() == 1 ? name : fmt::format("{} in {} processes", name, processes));
  add(fields, "network", join(parts, "; "));
  bool first = true;
  for (const std::string& words : device_words(log)) {
    add(fields, first ? "devices" : "", words);
    first = false;
  }
}

std::string init_words(const NcclLog& log) {
  const NcclRank* slowest = nullptr;
  double least = 0;
  for (const NcclCommunicator& communicator : log.communicators) {
    for (const NcclRank& rank : communicator.ranks) {
      if (!rank.init_seconds) continue;
      least = slowest == nullptr ? *rank.init_seconds : std::min(least, *rank.init_seconds);
      if (slowest == nullptr || *rank.init_seconds > *slowest->init_seconds) slowest = &rank;
    }
  }
  if (slowest == nullptr) return "";
  std::string text = fmt::format("{:.2f} to {:.2f} s", least, *slowest->init_seconds);
  const auto part = std::ranges::max_element(slowest->init_parts, {}, &model::NcclTiming::seconds);
  if (part != slowest->init_parts.end())
    text += fmt::format(", longest part {} {:.2f} s", part->name, part->seconds);
  return text;
}

void add_settings(const NcclLog& log, Fields& fields) {
  std::size_t shown = 0;
  for (const model::NcclSetting& setting : log.settings) {
    if (shown++ >= kMostSettings) continue;
    std::string text = setting.name + "=" + setting.value;
    if (setting.processes.size() < log.processes.size() && log.processes.size() > 1)
      text += fmt::format("  ({} of {} processes say so)", setting.processes.size(), log.processes.size());
    fields.rows.emplace_back(shown == 1 ? "settings" : "", plain(printable(text)));
  }
  if (shown > kMostSettings)
    add(fields, "", fmt::format("and {} more, see --format json", shown - kMostSettings));
}

void add_plugins(const NcclLog& log, Fields& fields) {
  std::set<std::string> parts;
  for (const model::NcclPlugin& plugin : log.plugins) {
    using enum model::NcclPluginOutcome;
    if (plugin.outcome != kLoaded && plugin.outcome != kAssigned && plugin.outcome != kFailed) continue;
    parts.insert(plugin.name + (plugin.version.empty() ? "" : " " + plugin.version) +
                 (plugin.outcome == kFailed ? " (failed)" : ""));
  }
  add(fields, "plugins", short_list({parts.begin(), parts.end()}, 5));
}

// A row for each way, over all ranks.
void add_transports(const NcclLog& log, Document& document) {
  struct Way {
    std::uint64_t count = 0;
    std::set<std::uint32_t> ranks;
    std::set<std::uint32_t> adapters;
    std::string first;
  };
  std::map<std::string, Way> ways;
  for (const NcclCommunicator& communicator : log.communicators) {
    for (const NcclRank& rank : communicator.ranks) {
      for (const NcclTransportCount& count : rank.transports) {
        Way& way = ways[way_of(count)];
        if (way.count == 0) way.first = log.places.text(count.source);
        way.count += count.count;
        if (rank.rank) way.ranks.insert(*rank.rank);
        if (count.net_device) way.adapters.insert(*count.net_device);
      }
    }
  }
  if (ways.empty()) return;
  report::Table table{{{"way"}, {"lines", Align::kRight}, {"ranks"}, {"adapters"}, {"first"}}, {}};
  for (const auto& [name, way] : ways) {
    const bool slow = contains(name, "SHM") || contains(name, "Socket");
    table.rows.push_back({toned(name, slow ? Tone::kWarning : Tone::kPlain), plain(std::to_string(way.count)),
                          plain(rank_list(way.ranks)), plain(rank_list(way.adapters)),
                          toned(short_place(way.first), Tone::kQuiet)});
  }
  document.blocks.emplace_back(std::move(table));
}

void add_choices(const NcclLog& log, Document& document) {
  report::Table table{{{"size", Align::kRight},
                       {"collective"},
                       {"algorithm"},
                       {"protocol"},
                       {"channels"},
                       {"times", Align::kRight}},
                      {}};
  std::vector<const NcclChoice*> choices;
  for (const NcclCommunicator& communicator : log.communicators)
    for (const NcclChoice& choice : communicator.choices)
      choices.push_back(&choice);
  if (choices.empty()) return;
  std::ranges::stable_sort(choices, [](const NcclChoice* a, const NcclChoice* b) {
    return a->function != b->function ? a->function < b->function : a->bytes < b->bytes;
  });
  // Sizes in a row with the same choice are one row.
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < choices.size();) {
    std::size_t end = i + 1;
    std::uint64_t times = choices[i]->count;
    const auto alike = [&](const NcclChoice& other) {
      const NcclChoice& one = *choices[i];
      return one.function == other.function && one.algorithm == other.algorithm &&
             one.protocol == other.protocol && one.kernel == other.kernel &&
             one.channel_high == other.channel_high;
    };
    while (end < choices.size() && alike(*choices[end]))
      times += choices[end++]->count;
    const NcclChoice& first = *choices[i];
    const std::string size =
        in_words(Bytes{first.bytes}) +
        (first.bytes == choices[end - 1]->bytes ? "" : " to " + in_words(Bytes{choices[end - 1]->bytes}));
    i = end;
    if (table.rows.size() >= kMostRows) {
      ++left_out;
      continue;
    }
    const std::string algorithm = first.symmetric     ? "symmetric"
                                  : first.copy_engine ? "copy engine"
                                                      : first.algorithm;
    table.rows.push_back({plain(size), plain(first.function.empty() ? "-" : first.function), plain(algorithm),
                          plain(first.symmetric ? first.kernel : first.protocol),
                          plain(first.channel_low && first.channel_high
                                    ? fmt::format("{}-{}", *first.channel_low, *first.channel_high)
                                    : "-"),
                          plain(std::to_string(times))});
  }
  document.blocks.emplace_back(std::move(table));
  if (left_out != 0)
    document.blocks.emplace_back(
        report::Paragraph{toned(fmt::format("and {} rows more, see --format json", left_out), Tone::kQuiet)});
}

void add_communicators(const NcclLog& log, Document& document) {
  if (log.communicators.size() < 2) return;
  report::Table table{{{"communicator"},
                       {"ranks", Align::kRight},
                       {"nodes", Align::kRight},
                       {"in the log", Align::kRight},
                       {"complete", Align::kRight},
                       {"first"}},
                      {}};
  for (const NcclCommunicator& communicator : log.communicators) {
    if (table.rows.size() >= kMostRows) break;
    const auto complete = std::ranges::count_if(communicator.ranks, [](const NcclRank& rank) {
      return rank.completed.line != 0 || rank.state == model::NcclRankState::kComplete ||
             rank.state == model::NcclRankState::kDestroyed;
    });
    table.rows.push_back({plain(communicator.id.empty() ? "-" : communicator.id),
                          plain(std::to_string(communicator.nranks)),
                          plain(communicator.nodes ? std::to_string(*communicator.nodes) : "-"),
                          plain(std::to_string(communicator.ranks.size())), plain(std::to_string(complete)),
                          toned(short_place(log.places.text(communicator.first)), Tone::kQuiet)});
  }
  document.blocks.emplace_back(std::move(table));
  if (log.communicators.size() > kMostRows)
    document.blocks.emplace_back(report::Paragraph{toned(
        fmt::format("and {} communicators more, see --format json", log.communicators.size() - kMostRows),
        Tone::kQuiet)});
}

}  // namespace

// Lines of failure as they stand, causes before echoes; findings below say what they mean.
void add_log_events(const NcclLog& log, Document& document) {
  Fields fields;
  std::size_t shown = 0;
  std::size_t all = 0;
  for (const bool echo : {false, true}) {
    for (const model::NcclEvent& event : log.events) {
      if (!event.is_warning || model::is_echo(event) != echo) continue;
      if (event.kind == model::NcclEventKind::kErrorChain) continue;
      ++all;
      if (shown >= kMostEvents) continue;
      Line line = plain(printable(event.text));
      if (event.count > 1) line.push_back({fmt::format("  {} times", event.count), Tone::kQuiet});
      line.push_back({"  " + log.places.text(event.source), Tone::kQuiet});
      fields.rows.emplace_back(shown++ == 0 ? "warnings" : "", std::move(line));
    }
  }
  if (all > shown) fields.rows.emplace_back("", toned(fmt::format("and {} more", all - shown), Tone::kQuiet));
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

void add_log_facts(const NcclLog& log, Document& document) {
  if (const std::string run = run_line(log); !run.empty())
    document.blocks.emplace_back(report::Paragraph{toned(printable(run), Tone::kStrong)});
  Fields fields;
  add(fields, "absent", absent_words(log));
  add(fields, "driver", driver(log));
  add_networks(log, fields);
  add(fields, "GPUDirect", gdr_words(log));
  std::set<std::string> interfaces;
  for (const NcclProcess& process : log.processes)
    if (!process.bootstrap_interface.empty()) interfaces.insert(process.bootstrap_interface);
  add(fields, "bootstrap", short_list({interfaces.begin(), interfaces.end()}));
  add(fields, "channels", channel_words(log));
  bool first = true;
  for (const std::string& graph : graph_words(log)) {
    add(fields, first ? "graphs" : "", graph);
    first = false;
  }
  add(fields, "init", init_words(log));
  for (const model::NcclTopologyFile& file : log.topology_files) {
    if (file.path.empty()) continue;
    add(fields, "topology", file.path + (file.error.empty() ? "" : ": " + file.error));
    break;
  }
  add_plugins(log, fields);
  add_settings(log, fields);
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
  add_communicators(log, document);
  add_transports(log, document);
  add_choices(log, document);
  add_log_events(log, document);
}

void add_rank_facts(const NcclLog& log, std::uint32_t number, Document& document) {
  for (const NcclCommunicator& communicator : log.communicators) {
    for (const NcclRank& rank : communicator.ranks) {
      if (rank.rank != number) continue;
      const std::string& host = host_of(log, rank);
      document.blocks.emplace_back(report::Paragraph{
          toned(printable(fmt::format("rank {} of {}{}{}", number, communicator.nranks,
                                      host.empty() ? "" : " on " + host,
                                      communicator.id.empty() ? "" : ", communicator " + communicator.id)),
                Tone::kStrong)});
      Fields fields;
      if (rank.cuda_device)
        add(fields, "GPU",
            fmt::format("{}{}", *rank.cuda_device, rank.bus_id.empty() ? "" : ", bus id " + rank.bus_id));
      add(fields, "affinity", rank.affinity);
      if (rank.init_seconds) add(fields, "init", fmt::format("{:.2f} s", *rank.init_seconds));
      for (const model::NcclTree& tree : rank.trees) {
        if (tree.channel != 0) continue;
        add(fields, "tree 0",
            fmt::format("up {}, down {} {} {}", tree.up, tree.down[0], tree.down[1], tree.down[2]));
      }
      document.blocks.emplace_back(std::move(fields));
      report::Table table{{{"to or from"}, {"way"}, {"channels", Align::kRight}, {"first"}}, {}};
      for (const model::NcclConnection& connection : rank.connections) {
        if (table.rows.size() >= 4 * kMostRows) break;
        const bool outward = connection.from == number;
        table.rows.push_back(
            {plain(fmt::format("{} {}", outward ? "to" : "from", outward ? connection.to : connection.from)),
             plain(way_of(connection)), plain(std::to_string(connection.count)),
             toned(short_place(log.places.text(connection.source)), Tone::kQuiet)});
      }
      if (!table.rows.empty()) document.blocks.emplace_back(std::move(table));
    }
  }
}

}  // namespace angio::views
