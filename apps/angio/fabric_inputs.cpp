#include "fabric_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "import/fabric/fabric_import.hpp"
#include "launch/remote.hpp"
#include "load_machine.hpp"

namespace angio::app {
namespace {

constexpr const char* kStandardInput = "standard input";

std::string name_of(const std::string& path) {
  return path == "-" ? kStandardInput : std::filesystem::path(path).filename().string();
}

bool has_cables(const model::Fabric& fabric) {
  return std::ranges::any_of(fabric.nodes, [](const model::FabricNode& node) {
    return std::ranges::any_of(node.ports,
                               [](const model::FabricPort& port) { return port.peer.has_value(); });
  });
}

// Two scans of one subnet have nodes in common; two planes of a cluster have none.
bool shares_nodes(const model::Fabric& a, const model::Fabric& b) {
  std::unordered_set<std::uint64_t> guids;
  for (const model::FabricNode& node : a.nodes)
    guids.insert(node.guid.value);
  return std::ranges::any_of(b.nodes,
                             [&](const model::FabricNode& node) { return guids.contains(node.guid.value); });
}

struct Text {
  std::string name;
  std::string bytes;
  model::Fabric fabric;
  bool has_cables = false;
};

Result<Text> read_text(const std::string& path) {
  Text text{name_of(path), {}, {}, false};
  auto bytes = read_input(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  text.bytes = *std::move(bytes);
  auto fabric = import::import_fabric(text.bytes, text.name);
  if (fabric) {
    text.fabric = *std::move(fabric);
    text.has_cables = has_cables(text.fabric);
    return text;
  }
  // No port above the thresholds is an answer, too, beside another file.
  if (import::recognise_fabric(text.bytes) == import::FabricText::kIbqueryerrors) return text;
  return std::unexpected(std::move(fabric.error()));
}

std::unexpected<Error> no_cables(const std::vector<Text>& texts) {
  std::vector<std::string> kinds;
  bool counters = true;
  for (const Text& text : texts) {
    const import::FabricText kind = import::recognise_fabric(text.bytes);
    counters =
        counters && (kind == import::FabricText::kIbqueryerrors || kind == import::FabricText::kPerfquery);
    kinds.push_back(fmt::format("{} ({})", printable(text.name), import::name_of(kind)));
  }
  return fail(
      ErrorCode::kInvalidInput, "no cable in " + join(kinds, ", "),
      counters
          ? "Counters need the cables they belong to: give the output of ibnetdiscover or iblinkinfo with "
            "it, or run angio fabric scan"
          : "The text may be cut off, or the port that it was made from leads nowhere");
}

// A host's own neighbours are a part of one Ethernet fabric, whose switches other hosts name, too: all are
// read as one text, each below the name of its file, which is its host's where nothing better says whose it
// is.
Result<void> join_lldp(std::vector<Text>& texts) {
  const auto is_lldp = [](const Text& text) {
    return import::recognise_fabric(text.bytes) == import::FabricText::kLldpctl;
  };
  if (std::ranges::count_if(texts, is_lldp) < 2) return {};
  Text all;
  std::size_t count = 0;
  for (const Text& text : texts) {
    if (!is_lldp(text)) continue;
    if (count++ == 0) all.name = text.name;
    const std::string stem = text.name.substr(0, text.name.find('.'));
    const bool names_host = text.name != kStandardInput && !contains(to_lower(stem), "lldp");
    all.bytes += fmt::format("\n==> {} <==\n{}\n", names_host ? stem : std::string(), text.bytes);
  }
  all.name += fmt::format(" and {} more", count - 1);
  auto fabric = import::import_fabric(all.bytes, all.name);
  if (!fabric) return std::unexpected(std::move(fabric.error()));
  all.fabric = *std::move(fabric);
  all.has_cables = has_cables(all.fabric);
  std::erase_if(texts, is_lldp);
  texts.insert(texts.begin(), std::move(all));
  return {};
}

Result<model::Fabric> host_fabric(const std::vector<std::string>& files) {
  const auto machines = load_hosts(files);
  if (!machines) return std::unexpected(machines.error());
  return fabric::make_host_fabric(*machines);
}

Result<void> add_text(model::Fabric& all, Text& text, std::vector<std::string>& remarks) {
  if (text.has_cables && text.fabric.kind == all.kind && !shares_nodes(all, text.fabric)) {
    remarks.push_back(text.name + " has no node in common with the files before it: taken as another plane");
    std::vector<model::Fabric> planes;
    planes.push_back(std::move(all));
    planes.push_back(std::move(text.fabric));
    all = fabric::merge(std::move(planes));
    return {};
  }
  return import::add_to_fabric(all, text.bytes, text.name);
}

}  // namespace

Result<model::Fabric> load_fabric(const std::vector<std::string>& files, std::vector<std::string>& remarks) {
  const auto snapshot = std::ranges::find_if(files, is_snapshot_file);
  if (snapshot != files.end() && std::ranges::all_of(files, is_snapshot_file)) return host_fabric(files);
  if (snapshot != files.end())
    return fail(ErrorCode::kInvalidInput, printable(*snapshot) + " is a snapshot beside texts of a fabric",
                "Give it by --hosts " + printable(*snapshot));
  std::vector<Text> texts;
  for (const std::string& file : files) {
    auto text = read_text(file);
    if (!text) return std::unexpected(std::move(text.error()));
    texts.push_back(*std::move(text));
  }
  if (auto joined = join_lldp(texts); !joined) return std::unexpected(std::move(joined.error()));
  const auto base = std::ranges::find_if(texts, &Text::has_cables);
  if (base == texts.end()) return no_cables(texts);
  model::Fabric all = std::move(base->fabric);
  for (auto text = texts.begin(); text != texts.end(); ++text) {
    if (text == base) continue;
    if (auto added = add_text(all, *text, remarks); !added) return std::unexpected(std::move(added.error()));
  }
  return all;
}

namespace {

// Of host names: what stands elsewhere in a text is none.
bool is_host(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

// Reads one line: a job and its hosts, as lists or one by one. False: no line of that kind.
bool add_job(std::string_view line, JobsByHost& jobs) {
  const std::vector<std::string_view> words = split_words(line.substr(0, line.find('#')));
  if (words.size() < 2)
    return words.size() == 1 || trim(line).starts_with('#');  // a job that waits has no hosts
  std::set<std::string> hosts;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with('(')) return true;  // "(Resources)", "(null)": it waits
    const auto list = launch::expand_hostlist(words[i]);
    if (!list || !std::ranges::all_of(*list, is_host)) return false;
    hosts.insert(list->begin(), list->end());
  }
  for (const std::string& host : hosts)
    jobs[host].emplace_back(words[0]);
  return true;
}

}  // namespace

Result<JobsByHost> load_jobs(const std::string& path, std::vector<std::string>& remarks) {
  auto bytes = read_input(path);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  JobsByHost jobs;
  std::size_t number = 0;
  std::size_t wrong = 0;
  std::string first;
  for (const std::string_view line : split_lines(*bytes)) {
    ++number;
    if (trim(line).empty() || add_job(line, jobs)) continue;
    constexpr std::size_t kShown = 60;
    if (wrong++ == 0) first = fmt::format("{}:{}: \"{}\"", name_of(path), number, line.substr(0, kShown));
  }
  if (jobs.empty() && wrong > 0)
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} is no list of a job and its hosts", printable(first)),
                "Write it by squeue -h -o \"%i %N\", or as lines: JOB HOST");
  if (wrong > 0)
    remarks.push_back(fmt::format("{} is no job and list of hosts{}", first,
                                  wrong > 1 ? fmt::format(", {} times", wrong) : ""));
  if (jobs.empty()) remarks.push_back(name_of(path) + " names no job that has hosts");
  return jobs;
}

Result<std::vector<model::Machine>> load_hosts(const std::vector<std::string>& files) {
  std::vector<model::Machine> machines;
  for (const std::string& file : files) {
    auto machine = load_machine(file);
    if (!machine) return std::unexpected(std::move(machine.error()));
    machines.push_back(*std::move(machine));
  }
  return machines;
}

}  // namespace angio::app
