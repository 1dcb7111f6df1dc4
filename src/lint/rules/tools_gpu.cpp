// nvidia-smi and dcgmi: counters read as rates, columns read as other links, field numbers read as other
// fields.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lint/rules/tools_rules.hpp"

namespace angio::lint {
namespace {

// Profiling fields of DCGM (dcgmlib/dcgm_fields.h, DCGM 4.6; the numbers are part of its interface).
struct Field {
  std::uint32_t id;
  std::string_view kind;
  std::string_view name;
};
constexpr std::array<Field, 12> kFields{{{1001, "engine", "graphics and compute engine active"},
                                         {1002, "sm", "SM active"},
                                         {1003, "occupancy", "SM occupancy"},
                                         {1004, "tensor", "tensor pipe active"},
                                         {1005, "dram", "memory interface active"},
                                         {1006, "fp64", "FP64 pipe active"},
                                         {1007, "fp32", "FP32 pipe active"},
                                         {1008, "fp16", "FP16 pipe active"},
                                         {1009, "pcie", "PCIe bytes sent"},
                                         {1010, "pcie", "PCIe bytes received"},
                                         {1011, "nvlink", "NVLink bytes sent"},
                                         {1012, "nvlink", "NVLink bytes received"}}};

const Field* find_field(std::uint32_t id) {
  const auto found = std::ranges::find(kFields, id, &Field::id);
  return found == kFields.end() ? nullptr : &*found;
}

// What a label in a comment means; empty when it says none of the kinds.
std::string_view kind_of(std::string_view label) {
  const auto lower = to_lower(label);
  for (const std::string_view kind :
       {"nvlink", "pcie", "tensor", "occupancy", "fp64", "fp32", "fp16", "dram"})
    if (contains(lower, kind)) return kind;
  if (contains(lower, "hbm")) return "dram";
  if (lower.starts_with("sm ") || contains(lower, " sm ") || contains(lower, "sm util") ||
      contains(lower, "sm act") || trim(lower) == "sm")
    return "sm";
  if (contains(lower, "engine") || contains(lower, "graphics")) return "engine";
  return {};
}

struct Label {
  std::uint32_t id;
  std::string text;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "1001=PCIe Rx/Tx, 1002 = NVLink": the numbers of a comment with the words behind them.
std::vector<Label> numbered_labels(std::string_view comment) {
  std::vector<Label> labels;
  for (std::size_t i = 0; i < comment.size();) {
    if (!is_digit(comment[i]) || (i > 0 && is_digit(comment[i - 1]))) {
      ++i;
      continue;
    }
    auto end = i;
    while (end < comment.size() && is_digit(comment[end]))
      ++end;
    const auto id = parse_integer<std::uint32_t>(comment.substr(i, end - i));
    auto text = comment.substr(end);
    auto stop = text.find_first_of(",;|");
    for (std::size_t k = 1; k + 3 < text.size() && k < stop; ++k)
      if (text.substr(k, 2) == "10" && is_digit(text[k + 2]) && is_digit(text[k + 3]) &&
          !is_digit(text[k - 1]))
        stop = k;
    text = text.substr(0, stop);
    while (!text.empty() && std::string_view(" =:->()").find(text.front()) != std::string_view::npos)
      text.remove_prefix(1);
    if (id && find_field(*id) != nullptr) labels.push_back({*id, std::string(trim(text))});
    i = end;
  }
  return labels;
}

// "PCIe, NVLink, SM" above -e 1001,1002,1003: one label for each field, in their order.
std::vector<Label> labels_in_order(std::string_view comment, const std::vector<std::uint32_t>& ids) {
  std::vector<Label> labels;
  while (comment.starts_with('#') || comment.starts_with(' '))
    comment.remove_prefix(1);
  const auto parts = split(comment, ',');
  if (parts.size() != ids.size() || ids.size() < 2) return labels;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (kind_of(parts[i]).empty()) return {};
    labels.push_back({ids[i], std::string(trim(parts[i]))});
  }
  return labels;
}

void dcgm_fields(const Job& job, const Line& line, const Stage& stage, Complaints& out) {
  const auto list = find_option(stage, {"-e", "--field-id"});
  if (!list || list->dynamic || !has_word(stage, "dmon")) return;
  std::vector<std::uint32_t> ids;
  for (const auto part : split(list->value, ','))
    if (const auto id = parse_integer<std::uint32_t>(trim(part))) ids.push_back(*id);
  const auto comment = comment_near(*job.script, line.command->place);
  auto labels = numbered_labels(comment);
  if (labels.empty()) labels = labels_in_order(comment, ids);
  std::string wrong;
  for (const auto& label : labels) {
    const auto kind = kind_of(label.text);
    const auto* field = find_field(label.id);
    if (field == nullptr || kind.empty() || kind == field->kind ||
        std::ranges::find(ids, label.id) == ids.end())
      continue;
    wrong += (wrong.empty() ? "" : ", ") + std::to_string(label.id) + " is " + std::string(field->name) +
             " (not " + std::string(trim(label.text.substr(0, 24))) + ")";
  }
  if (wrong.empty()) return;
  out.push_back(complain("tools.dcgm.wrong-field", *job.script, list->word->place, "DCGM field " + wrong,
                         "PCIe 1009 sent, 1010 received; NVLink 1011, 1012; SM active 1002"));
}

void nvlink_throughput(const Job& job, const Line& line, const Stage& stage, Complaints& out) {
  if (!has_word(stage, "nvlink")) return;
  const auto option = find_option(stage, {"-gt", "--getthroughput"});
  if (!option) return;
  constexpr std::string_view kAdvice =
      "two readings and the time between them make a rate; or DCGM fields 1011 and 1012";
  if (option->value_word == nullptr) {
    auto complaint = complain("tools.nvidia-smi.nvlink-counters", *job.script, option->word->place,
                              "nvidia-smi nvlink -gt needs d (payload) or r (raw), and then prints KiB since "
                              "the driver's start, no rate",
                              std::string(kAdvice));
    complaint.severity = model::Severity::kCritical;
    out.push_back(std::move(complaint));
    return;
  }
  const auto comment = to_lower(comment_near(*job.script, line.command->place));
  const bool rate = contains(comment, "gb/s") || contains(comment, "bandwidth") ||
                    contains(comment, "gbps") || contains(comment, "带宽");
  if (!rate) return;
  out.push_back(complain("tools.nvidia-smi.nvlink-counters", *job.script, option->word->place,
                         "nvidia-smi nvlink -gt prints KiB counted since the driver's start, not GB/s",
                         std::string(kAdvice)));
}

void dmon_columns(const Job& job, const Line& line, const Stage& stage, Complaints& out) {
  if (!has_word(stage, "dmon") || find_option(stage, {"--gpm-metrics", "--gpm-options"})) return;
  const auto comment = to_lower(comment_near(*job.script, line.command->place));
  const bool claimed = contains(comment, "nvlink") && !contains(comment, "not nvlink") &&
                       !contains(comment, "pcie") && !contains(comment, "no nvlink");
  if (!claimed && grepped(job, line, {"nvlink"}) == nullptr) return;
  out.push_back(
      complain("tools.nvidia-smi.dmon-pcie", *job.script, stage.place(),
               "rxpci and txpci of nvidia-smi dmon are PCIe; no column without --gpm-metrics is NVLink",
               "nvidia-smi dmon --gpm-metrics=60,61, or dcgmi dmon -e 1011,1012"));
}

}  // namespace

void check_gpu_tools(const Job& job, Complaints& out) {
  for (const auto& line : job.lines) {
    for (auto i = line.own; i < line.stages.size(); ++i) {
      const auto& stage = line.stages[i];
      if (stage.program == "dcgmi") dcgm_fields(job, line, stage, out);
      if (stage.program != "nvidia-smi") continue;
      nvlink_throughput(job, line, stage, out);
      dmon_columns(job, line, stage, out);
    }
  }
}

}  // namespace angio::lint
