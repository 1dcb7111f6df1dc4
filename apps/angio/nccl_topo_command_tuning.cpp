// `angio nccl-topo tuning`: what NCCL's tuner believes of a topology, without running NCCL.
#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "command.hpp"
#include "cost/nccl_model.hpp"
#include "dryrun/sizes.hpp"
#include "knowledge/nccl_topology.hpp"
#include "nccl_topo_command_run.hpp"
#include "nccl_topo_command_source.hpp"
#include "views/nccl_tuning_view.hpp"

namespace angio::app::nccl_topo {
namespace {

constexpr std::uint64_t kLeast = 8;
constexpr std::uint64_t kMost = std::uint64_t{1} << 34U;  // 16 GiB

// "NAME=VALUE" of NCCL's environment.
Result<cost::NcclSettings> settings_of(const Options& options) {
  cost::NcclSettings settings;
  for (const std::string& text : options.environment) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      return fail(ErrorCode::kInvalidInput, "--env \"" + printable(text) + "\" is no NAME=VALUE",
                  "Write it like --env NCCL_ALGO=Ring");
    settings.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return settings;
}

Result<std::vector<tuner::Collective>> collectives_of(const Options& options) {
  std::vector<tuner::Collective> collectives;
  if (options.collectives == "all") {
    for (std::size_t i = tuner::kCollectives; i-- > 0;)
      collectives.push_back(static_cast<tuner::Collective>(i));
    return collectives;
  }
  for (const std::string_view word : split(options.collectives, ',')) {
    const auto collective = tuner::parse_collective(word);
    if (!collective)
      return fail(ErrorCode::kInvalidInput, "--collectives: \"" + printable(word) + "\" is none NCCL tunes",
                  tuner::collective_hint(word));
    if (std::ranges::find(collectives, *collective) == collectives.end()) collectives.push_back(*collective);
  }
  return collectives;
}

// What of the command line is read before any file.
struct Asked {
  cost::NcclSettings settings;
  std::vector<tuner::Collective> collectives;
  std::vector<std::uint64_t> sizes;
};

Result<Asked> asked_of(const Options& options) {
  if (auto checked = check_release(options); !checked) return std::unexpected(std::move(checked.error()));
  auto settings = settings_of(options);
  if (!settings) return std::unexpected(std::move(settings.error()));
  auto collectives = collectives_of(options);
  if (!collectives) return std::unexpected(std::move(collectives.error()));
  Asked asked{std::move(*settings), std::move(*collectives), {}};
  if (options.sizes.empty()) return asked;
  auto sizes = dryrun::parse_sizes(options.sizes);
  if (!sizes) return std::unexpected(std::move(sizes.error()));
  asked.sizes = std::move(*sizes);
  return asked;
}

// What of the job's settings concerns the search.
int cross_nic_of(const Options& options, const Asked& asked) {
  int value = options.cross_nic;
  for (const auto& [name, text] : asked.settings)
    if (name == "NCCL_CROSS_NIC") value = parse_integer<int>(text).value_or(value);
  return std::clamp(value, 0, 2);
}

bool keeps_node_together(const Asked& asked) {
  return std::ranges::any_of(asked.settings, [](const auto& each) {
    return each.first == "NCCL_NET_DISABLE_INTRA" && each.second == "1";
  });
}

Result<cost::NcclTable> table_of(const Options& options, Source& source, const Asked& asked) {
  auto system = system_of(options, source);
  if (!system) return std::unexpected(std::move(system.error()));
  if (auto checked = check_searchable(options, source, *system); !checked)
    return std::unexpected(std::move(checked.error()));
  const auto nodes =
      keeps_node_together(asked) ? Result<int>(options.nodes) : searched_nodes(options, source, *system);
  if (!nodes) return std::unexpected(nodes.error());
  const nccl::SearchResult found = nccl::search_graphs(*system, cross_nic_of(options, asked));
  auto job = cost::nccl_job(*system, found, *nodes, asked.settings);
  if (!job) return std::unexpected(std::move(job.error()));
  if (options.nccl)
    job->version = *options.nccl;  // the tuner may be known of a newer release than the topology
  return cost::nccl_table(*job);
}

}  // namespace

int tuning(const Options& options) {
  const auto asked = asked_of(options);
  if (!asked) return usage(asked.error());
  auto input = read_if_named(options);
  if (!input) return report_error(input.error());
  auto source = source_of(options, *input);
  if (!source) return computed_nothing(source.error());
  auto table = table_of(options, *source, *asked);
  if (!table) return fail_with(table.error());
  if (options.format == "nccl") {
    say_beside(options, *source);
    std::string text;
    for (const std::string& line : cost::nccl_lines(*table))
      text += line + "\n";
    return write(options, text);
  }
  views::TuningReport report;
  report.subject = source->subject;
  report.version = table->job.version;
  report.without_nvlink = source->without_nvlink;
  report.notes = source->notes;
  const std::string newer = newer_note(options);
  std::erase(report.notes, newer);
  if (!newer.empty())
    report.notes.push_back("topology and search are those of NCCL " + release(options) +
                           ", the newest known; the tuner is that of " + printable(report.version));
  report.notes.insert(report.notes.end(), table->notes.begin(), table->notes.end());
  report.collectives = asked->collectives;
  report.sizes = asked->sizes;
  report.least = kLeast;
  report.most = kMost;
  report.table = std::move(*table);
  return show(options, views::nccl_tuning_document(report), views::nccl_tuning_json(report));
}

}  // namespace angio::app::nccl_topo
