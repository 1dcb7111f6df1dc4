// NVLink: links that are down, links that count errors.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/format.hpp"
#include "diagnose/rules/gpu.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"
#include "model/path.hpp"

namespace angio::diagnose::gpu {

using model::Gpu;
using model::LinkState;
using model::Machine;

namespace {

std::uint32_t count_links(const Gpu& gpu, LinkState state) {
  return static_cast<std::uint32_t>(std::ranges::count(gpu.links, state, &model::GpuLink::state));
}

const knowledge::GpuModel* model_of(const Gpu& gpu) {
  const std::string* name = gpu.name.get();
  return name != nullptr ? knowledge::find_gpu(*name) : nullptr;
}

// How many links should be active; none when nothing says.
std::optional<std::uint32_t> expected_links(const Machine& machine, const Gpu& gpu,
                                            std::uint32_t best_sibling) {
  const knowledge::GpuModel* built = model_of(gpu);
  // No link at all: no bridge there. Fewer than the siblings: a bridge is missing or badly seated.
  if (built != nullptr && built->nvlink_optional) {
    if (count_links(gpu, LinkState::kActive) == 0 || best_sibling == 0) return std::nullopt;
    return best_sibling;
  }
  if (built != nullptr && built->nvlinks > 0 && is_bare_metal(machine)) return built->nvlinks;
  if (best_sibling > 0) return best_sibling;
  return std::nullopt;
}

model::Cost link_cost(const Gpu& gpu, std::uint32_t active, std::uint32_t expected) {
  std::uint32_t version = 0;
  for (const model::GpuLink& link : gpu.links)
    version = std::max(version, link.version.value_or(0));
  const auto rate = knowledge::nvlink_rate(version);
  if (!rate) return {};
  return {in_words(*rate * active) + " of " + in_words(*rate * expected) + " between " + gpu_label(gpu) +
              " and the others, each direction",
          "nvlink-sum"};
}

// The most active links of GPUs of the same name.
std::uint32_t best_sibling(const Machine& machine, const Gpu& gpu) {
  std::uint32_t best = 0;
  for (const Gpu& other : machine.gpus) {
    if (other.name.value_or("") == gpu.name.value_or(""))
      best = std::max(best, count_links(other, LinkState::kActive));
  }
  return best;
}

// The fabric manager is restarted only where it runs on this machine.
void name_fix(const Machine& machine, const Gpu& gpu, Draft& draft) {
  const knowledge::GpuModel* built = model_of(gpu);
  const bool optional = built != nullptr && built->nvlink_optional;
  const bool on_board = (built != nullptr && built->nvswitch) || has_own_nvswitch(machine);
  draft.words.emplace(on_board && !optional && !is_c2c(gpu) ? "nvswitch" : "no_nvswitch", "yes");
}

std::optional<Trouble> judge_links(const Machine& machine, const Gpu& gpu) {
  const auto expected = expected_links(machine, gpu, best_sibling(machine, gpu));
  const std::uint32_t active = count_links(gpu, LinkState::kActive);
  if (!expected || active >= *expected) return std::nullopt;
  const std::string share = std::to_string(active) + " of " + std::to_string(*expected);
  Trouble trouble{&gpu, " has " + share + " NVLinks active", " have " + share + " NVLinks active each"};
  Draft& draft = trouble.draft;
  std::vector<std::string> down;
  for (const model::GpuLink& link : gpu.links) {
    if (link.state == LinkState::kInactive) down.push_back(std::to_string(link.index));
  }
  draft.evidence.push_back(
      {down.empty() ? std::string("inactive: links (not listed)")
                    : "inactive: " + std::string(down.size() == 1 ? "link " : "links ") + list_of(down),
       place_of(machine, "nvmlDeviceGetNvLinkState, " + gpu_label(gpu))});
  const knowledge::GpuModel* built = model_of(gpu);
  if (built != nullptr && built->nvlinks == *expected) {
    draft.evidence.push_back({*gpu.name.get() + " has " + std::to_string(built->nvlinks) + " links by design",
                              std::string(built->source)});
  } else {
    draft.evidence.push_back({"a sibling GPU has " + std::to_string(*expected) + " active",
                              place_of(machine, "nvmlDeviceGetNvLinkState")});
  }
  if (built != nullptr && built->nvlink_optional) draft.severity = model::Severity::kWarning;
  draft.cost = link_cost(gpu, active, *expected);
  draft.rank = static_cast<double>(*expected - active) / *expected;
  name_fix(machine, gpu, draft);
  return trouble;
}

// ---- the same from somebody's matrix

struct MatrixView {
  std::vector<std::uint32_t> gpus;              // indices of GPUs in the matrix
  std::vector<std::vector<model::Path>> cells;  // GPU by GPU
};

MatrixView gpu_cells(const Machine& machine) {
  MatrixView view;
  const model::StatedPaths& stated = *machine.stated_paths;
  const std::size_t size = stated.devices.size();
  if (stated.cells.size() != size * size) return view;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < size; ++i) {
    if (stated.devices[i].kind != model::DeviceKind::kGpu) continue;
    rows.push_back(i);
    view.gpus.push_back(stated.devices[i].index);
  }
  for (const std::size_t row : rows) {
    auto& line = view.cells.emplace_back();
    for (const std::size_t column : rows)
      line.push_back(stated.cells[row * size + column]);
  }
  return view;
}

// The link count that more than half of all pairs share: only switch machines have such a matrix.
std::optional<std::uint32_t> common_links(const MatrixView& view) {
  std::map<std::uint32_t, std::size_t> counts;
  for (std::size_t i = 0; i < view.gpus.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (view.cells[i][j].kind == model::PathClass::kNvLink) ++counts[view.cells[i][j].links];
    }
  }
  const std::size_t pairs = view.gpus.size() * (view.gpus.size() - 1) / 2;
  for (const auto& [links, count] : counts) {
    if (count * 2 > pairs) return links;
  }
  return std::nullopt;
}

void judge_matrix(const Machine& machine, Outcome& outcome) {
  constexpr std::size_t kSmallest = 4;  // below, a bridged pair looks the same as a fault
  const MatrixView view = gpu_cells(machine);
  if (view.gpus.size() < kSmallest) return;
  const auto expected = common_links(view);
  if (!expected) return;
  for (std::size_t i = 0; i < view.gpus.size(); ++i) {
    std::size_t good = 0;
    model::Path worst{.kind = model::PathClass::kNvLink, .links = *expected, .why = {}};
    for (std::size_t j = 0; j < view.gpus.size(); ++j) {
      if (i == j) continue;
      const model::Path& cell = view.cells[i][j];
      const bool full = cell.kind == model::PathClass::kNvLink && cell.links >= *expected;
      if (full) ++good;
      if (!full && (cell.kind > worst.kind || (cell.kind == worst.kind && cell.links < worst.links)))
        worst = cell;
    }
    if (good * 2 >= view.gpus.size() - 1 || view.gpus[i] >= machine.gpus.size())
      continue;  // the others' fault
    const Gpu& gpu = machine.gpus[view.gpus[i]];
    const std::uint32_t links = worst.kind == model::PathClass::kNvLink ? worst.links : 0;
    Draft draft = draft_for(gpu, gpu_label(gpu) + " reaches the others by " + label(worst) +
                                     ", they each other by NV" + std::to_string(*expected));
    draft.evidence.push_back(seen(machine, machine.stated_paths->source, "row of " + gpu_label(gpu)));
    draft.words.emplace(is_c2c(gpu) ? "no_nvswitch" : "nvswitch", "yes");  // see common_links
    draft.rank = static_cast<double>(*expected - links) / *expected;
    outcome.fire(std::move(draft));
  }
}

}  // namespace

void nvlink_inactive(const Machine& machine, Outcome& outcome) {
  const bool has_links = std::ranges::any_of(machine.gpus, [](const Gpu& gpu) { return !gpu.links.empty(); });
  if (machine.gpus.size() < 2) return outcome.not_applicable();
  if (!has_links && machine.stated_paths) return judge_matrix(machine, outcome);
  Gaps gaps("NVLink states", Asked::kNvml);
  std::vector<Trouble> troubles;
  for (const Gpu& gpu : machine.gpus) {
    if (!is_nvidia(gpu) || is_unlisted(machine, gpu)) continue;
    const knowledge::GpuModel* built = model_of(gpu);
    if (gpu.mig.is(true)) continue;  // switched off by MIG, which has its own rule
    if (gpu.links.empty() || count_links(gpu, LinkState::kUnknown) > 0) {
      if (gpu.links.empty() ? built != nullptr && built->nvlinks > 0 && !built->nvlink_optional : true) {
        gaps.note(gpu_label(gpu), model::Reason::kNotCollected, 0);
      }
      continue;
    }
    if (auto trouble = judge_links(machine, gpu)) troubles.push_back(std::move(*trouble));
  }
  for (Draft& draft : group(std::move(troubles)))
    outcome.fire(std::move(draft));
  if (!has_links && gaps.empty()) return outcome.not_applicable();
  gaps.report(outcome);
}

void nvlink_errors(const Machine& machine, Outcome& outcome) {
  const double limit = knowledge::threshold("nvlink.errors");
  Gaps gaps("NVLink error counters", Asked::kNvml);
  bool any = false;
  for (const Gpu& gpu : machine.gpus) {
    bool unread = false;
    std::vector<model::Evidence> evidence;
    for (const model::GpuLink& link : gpu.links) {
      if (link.state != LinkState::kActive) continue;
      any = true;
      for (const auto& [name, counter] :
           {std::pair{"CRC errors", &link.crc_errors}, std::pair{"replays", &link.replays},
            std::pair{"recoveries", &link.recoveries}}) {
        unread = unread || counter->is_unreadable();
        if (static_cast<double>(counter->value_or(0)) > limit) {
          evidence.push_back(seen(
              machine, counter->source(),
              "link " + std::to_string(link.index) + ": " + std::to_string(*counter->get()) + " " + name));
        }
      }
    }
    if (unread) gaps.note(gpu_label(gpu), model::Reason::kNotCollected, 0);
    if (evidence.empty()) continue;
    Draft draft = draft_for(gpu, "NVLinks of " + gpu_label(gpu) + " count errors");
    draft.evidence = std::move(evidence);
    outcome.fire(std::move(draft));
  }
  if (!any) return outcome.not_applicable();
  gaps.report(outcome);
}

}  // namespace angio::diagnose::gpu
