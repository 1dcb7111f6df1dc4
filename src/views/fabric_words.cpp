#include "views/fabric_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::views {
namespace {

std::optional<BitsPerSecond> rate(std::uint8_t lanes, model::LaneSpeedName speed) {
  const auto lane = knowledge::lane_rate(model::name_of(speed));
  if (!lane || lanes == 0) return std::nullopt;
  return BitsPerSecond{lane->value * lanes};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Of a model behind the name: "MQM9700/U1".
bool is_model(char c) {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '/' || c == '-' || c == '_';
}

// The digits from `at` on without zeros in front; `at` is behind them then.
std::string_view take_number(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == '0')
    ++at;
  const std::size_t start = at;
  while (at < text.size() && is_digit(text[at]))
    ++at;
  return text.substr(start, at - start);
}

}  // namespace

std::optional<BitsPerSecond> rate_of(const model::FabricPort& port) {
  return port.stated_rate ? port.stated_rate : rate(port.lanes, port.speed);
}

std::optional<BitsPerSecond> most_rate_of(const model::FabricPort& port) {
  const auto allowed = rate(port.enabled_lanes, port.enabled_speed);
  const auto most = rate(port.most_lanes, port.most_speed);
  return allowed && (!most || *allowed < *most) ? allowed : most;
}

std::string rate_words(const model::FabricPort& port) {
  const auto rate = rate_of(port);
  if (port.lanes == 0 || port.speed == model::LaneSpeedName::kUnknown)
    return rate ? in_words(*rate) : std::string();
  const std::string link = fmt::format("{}x {}", port.lanes, model::name_of(port.speed));
  return rate ? fmt::format("{} ({})", link, in_words(*rate)) : link;
}

std::string short_name(const model::FabricNode& node) {
  const std::string_view whole = trim(node.description);
  if (whole.empty()) return to_string(node.guid);
  if (node.kind == model::FabricNodeKind::kAdapter) return printable(whole);
  return printable(with_short_names(whole));
}

// Switches with MLNX-OS call themselves "MF0;<name>:<model>/U1", chips of a director "/L01/U1" or "/S01/U1".
std::string with_short_names(std::string_view text) {
  constexpr std::string_view kStart = "MF0;";
  std::string result;
  for (;;) {
    const std::size_t start = text.find(kStart);
    const std::size_t name = start + kStart.size();
    const std::size_t colon = start == std::string_view::npos ? start : text.find(':', name);
    if (colon == std::string_view::npos || colon == name) return result.append(text);
    std::size_t end = colon + 1;
    while (end < text.size() && is_model(text[end]))
      ++end;
    result.append(text.substr(0, start)).append(text.substr(name, colon - name));
    const std::vector<std::string_view> parts = split(text.substr(colon + 1, end - colon - 1), '/');
    if (parts.size() == 3) result.append("/").append(parts[1]);
    text.remove_prefix(end);
  }
}

model::Finding with_short_names(model::Finding finding) {
  const auto mend = [](std::string& text) {
    if (contains(text, "MF0;")) text = with_short_names(text);
  };
  mend(finding.title);
  mend(finding.cost.text);
  mend(finding.disprove);
  for (model::Evidence& seen : finding.evidence)
    mend(seen.text);
  for (model::Fix& fix : finding.fixes)
    mend(fix.text);
  return finding;
}

std::string short_port(const model::Fabric& fabric, model::PortRef ref) {
  if (ref.node >= fabric.nodes.size() || ref.port >= fabric.nodes[ref.node].ports.size())
    return model::describe(fabric, ref);
  const model::FabricNode& node = fabric.nodes[ref.node];
  const model::FabricPort& port = node.ports[ref.port];
  if (!port.name.empty()) return short_name(node) + " " + printable(port.name);
  return fmt::format("{} port {}", short_name(node), port.number);
}

std::string adapter_name(const model::FabricNode& node, std::string_view host) {
  const std::string_view whole = trim(node.description);
  if (whole.starts_with(host) && whole.size() > host.size() + 1 && whole[host.size()] == ' ')
    return printable(trim(whole.substr(host.size() + 1)));
  return short_name(node);
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const std::string_view first = take_number(a, i);
    const std::string_view second = take_number(b, j);
    if (first.size() != second.size()) return first.size() < second.size();
    if (first != second) return first < second;
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;
}

std::string some_names(const std::vector<std::string>& names, std::size_t most) {
  std::vector<std::string> shown;
  const std::size_t count = names.size() <= most ? names.size() : most - 1;
  for (std::size_t i = 0; i < count; ++i)
    shown.push_back(printable(names[i]));
  const std::string text = join(shown, " ");
  return count == names.size() ? text : fmt::format("{} and {} more", text, names.size() - count);
}

std::string count_switches(std::size_t count) {
  return fmt::format("{} switch{}", count, count == 1 ? "" : "es");
}

report::Tone tone_of(model::Severity severity) {
  if (severity == model::Severity::kCritical) return report::Tone::kCritical;
  return severity == model::Severity::kWarning ? report::Tone::kWarning : report::Tone::kQuiet;
}

}  // namespace angio::views
