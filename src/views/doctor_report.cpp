#include "views/doctor_report.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {

void add_node(DoctorReport& report, DoctorReport::Node node, model::Diagnosis diagnosis) {
  for (const std::string& rule : diagnosis.held)
    report.held[rule].push_back(node.name);
  std::ranges::move(diagnosis.findings, std::back_inserter(report.findings));
  std::ranges::move(diagnosis.undecided, std::back_inserter(report.undecided));
  report.nodes.push_back(std::move(node));
}

namespace {

std::string gpus_in_words(const model::Machine& machine) {
  std::map<std::string, std::size_t> models;
  for (const model::Gpu& gpu : machine.gpus)
    ++models[gpu.name.value_or("GPU of unknown model")];
  std::vector<std::string> parts;
  for (const auto& [name, count] : models)
    parts.push_back(std::to_string(count) + " x " + printable(name));
  return join(parts, ", ");
}

}  // namespace

std::string describe(const model::Machine& machine) {
  std::vector<std::string> parts;
  if (!machine.gpus.empty()) parts.push_back(gpus_in_words(machine));
  if (!machine.rdma.empty()) parts.push_back(count_of(machine.rdma.size(), "RDMA device"));
  if (!machine.numa.nodes.empty()) parts.push_back(count_of(machine.numa.nodes.size(), "NUMA node"));
  if (!machine.cpus.online.empty()) parts.push_back(count_of(machine.cpus.online.size(), "CPU"));
  return join(parts, ", ");
}

std::size_t rules_held(const DoctorReport& report) {
  std::set<std::string_view> troubled;
  for (const model::Finding& finding : report.findings)
    troubled.insert(finding.rule);
  for (const model::Undecided& gap : report.undecided)
    troubled.insert(gap.rule);
  return static_cast<std::size_t>(
      std::ranges::count_if(report.held, [&](const auto& entry) { return !troubled.contains(entry.first); }));
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

std::string in_words(model::Severity severity) {
  switch (severity) {
    case model::Severity::kInfo:
      return "info";
    case model::Severity::kWarning:
      return "warning";
    case model::Severity::kCritical:
      return "critical";
  }
  return "unknown";
}

std::string in_words(model::Confidence confidence) {
  switch (confidence) {
    case model::Confidence::kMeasured:
      return "measured";
    case model::Confidence::kDocumented:
      return "documented";
    case model::Confidence::kHeuristic:
      return "heuristic";
  }
  return "unknown";
}

std::string in_words(model::Layer layer) {
  switch (layer) {
    case model::Layer::kApplication:
      return "application";
    case model::Layer::kFramework:
      return "framework";
    case model::Layer::kNccl:
      return "nccl";
    case model::Layer::kLibrary:
      return "library";
    case model::Layer::kDriver:
      return "driver";
    case model::Layer::kFirmware:
      return "firmware";
    case model::Layer::kHardware:
      return "hardware";
    case model::Layer::kSystem:
      return "system";
  }
  return "unknown";
}

}  // namespace angio::views
