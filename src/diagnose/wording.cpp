#include "diagnose/wording.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.hpp"

namespace angio::diagnose {

using model::Finding;

namespace {

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// {name} becomes its word; a name nobody filled becomes <name>, for the reader to fill. Other braces stay.
std::string fill(std::string_view text, const std::map<std::string, std::string>& words) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return out += text.substr(open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    if (!is_word(name)) {
      out += '{';
      text.remove_prefix(open + 1);
      continue;
    }
    const auto word = words.find(std::string(name));
    out += word != words.end() ? word->second : "<" + std::string(name) + ">";
    text.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace

Finding make_finding(const knowledge::RuleText& text, const std::string& node, Draft draft) {
  draft.words.emplace("node", node);
  if (!draft.devices.empty()) draft.words.emplace("device", draft.devices.front());
  draft.words.emplace("devices", join(draft.devices, ", "));

  Finding finding;
  finding.rule = text.id;
  finding.severity = draft.severity.value_or(text.severity);
  finding.confidence = text.confidence;
  finding.layer = text.layer;
  finding.node = node;
  finding.title = std::move(draft.title);
  finding.devices = std::move(draft.devices);
  finding.evidence = std::move(draft.evidence);
  finding.cost = std::move(draft.cost);
  finding.rank = draft.rank;
  for (const knowledge::FixText& fix : text.fixes) {
    if (!fix.when.empty() && !draft.words.contains(std::string(fix.when))) continue;
    finding.fixes.push_back({fill(fix.text, draft.words), fill(fix.command, draft.words),
                             fill(fix.risk, draft.words), fix.needs_root, fix.needs_reboot});
  }
  finding.disprove = fill(text.disprove, draft.words);
  finding.sources.assign(text.sources.begin(), text.sources.end());
  return finding;
}

}  // namespace angio::diagnose
