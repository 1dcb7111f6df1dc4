#include "views/compat_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {

using compat::Constraint;
using compat::Feature;
using compat::Verdict;
using report::Document;
using report::Fields;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFails:
      return "fails";
    case Verdict::kUnknown:
      return "unknown";
    case Verdict::kRemark:
      return "remark";
    case Verdict::kHolds:
      break;
  }
  return "holds";
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

Tone tone_of(Verdict verdict) {
  return verdict == Verdict::kFails     ? Tone::kCritical
         : verdict == Verdict::kUnknown ? Tone::kUnknown
         : verdict == Verdict::kRemark  ? Tone::kQuiet
                                        : Tone::kGood;
}

std::string with_capital(const std::string& text) {
  return upper(text.substr(0, 1)) + (text.empty() ? "" : text.substr(1));
}

std::string missing_words(const Constraint& one) {
  std::vector<std::string> words;
  for (const compat::Part part : one.missing)
    words.push_back(part == compat::Part::kGpu
                        ? "model of the GPU (gpu=H100)"
                        : fmt::format("{} ({}=…)", compat::title_of(part), compat::word_of(part)));
  return join(words, ", ");
}

void add_constraint(const Constraint& one, Document& document) {
  document.blocks.emplace_back(
      Paragraph{{{fmt::format("{:<10}", upper(word(one.verdict))), tone_of(one.verdict)},
                 {with_capital(printable(one.title)), Tone::kStrong}}});
  Fields fields;
  if (!one.explain.empty()) fields.rows.emplace_back("why", plain(printable(one.explain)));
  const char* label = "seen";
  for (const std::string& value : one.seen) {
    fields.rows.emplace_back(label, plain(printable(value)));
    label = "";
  }
  if (!one.missing.empty()) fields.rows.emplace_back("missing", plain(missing_words(one)));
  if (!one.satisfy.empty()) fields.rows.emplace_back("fix", plain(printable(one.satisfy)));
  if (!one.source.empty()) fields.rows.emplace_back("source", plain(one.source));
  fields.rows.emplace_back("id", toned(one.id, Tone::kQuiet));
  document.blocks.emplace_back(std::move(fields));
}

// What holds needs no more than a line, unless it holds within limits.
void add_holding(const Constraint& one, Document& document) {
  document.blocks.emplace_back(Paragraph{
      {{fmt::format("{:<10}", "HOLDS"), Tone::kGood}, {with_capital(printable(one.title)), Tone::kPlain}}});
  if (one.explain.empty()) return;
  Fields fields;
  fields.rows.emplace_back("limits", plain(printable(one.explain)));
  fields.rows.emplace_back("source", plain(one.source));
  document.blocks.emplace_back(std::move(fields));
}

// What the verdicts stand on, and which of the parts that matter most are not known.
void add_found(const compat::Stack& stack, Document& document) {
  std::vector<std::string> found;
  for (const compat::PartName& name : compat::part_names()) {
    const std::string* value = stack.get(name.part);
    if (value != nullptr) found.push_back(fmt::format("{} {}", name.title, printable(*value)));
  }
  for (const compat::Firmware& one : stack.firmware) {
    const std::string text = "firmware " + printable(one.version);
    if (std::ranges::find(found, text) == found.end()) found.push_back(text);
  }
  std::vector<std::string> open;
  for (const compat::Part part : {compat::Part::kDriver, compat::Part::kCuda, compat::Part::kNccl}) {
    const bool installed = part == compat::Part::kDriver && stack.get(compat::Part::kDiskDriver) != nullptr;
    if (stack.get(part) == nullptr && !installed) open.emplace_back(compat::title_of(part));
  }
  Fields fields;
  fields.indent = 0;
  fields.rows.emplace_back("found", plain(join(found, ", ")));
  if (!open.empty()) fields.rows.emplace_back("not known", toned(join(open, ", "), Tone::kUnknown));
  document.blocks.emplace_back(std::move(fields));
}

std::size_t count(const compat::Report& report, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(report.constraints, verdict, &Constraint::verdict));
}

std::string closing_line(const compat::Report& report, bool with_features) {
  const std::size_t there =
      static_cast<std::size_t>(std::ranges::count(report.features, Verdict::kHolds, &Feature::verdict));
  const std::size_t fails = count(report, Verdict::kFails);
  const std::size_t holds = count(report, Verdict::kHolds);
  std::string line =
      report.constraints.empty()
          ? "Nothing is known of how these fit each other: no document that angio has speaks of them."
          : fmt::format("{} {}, {} unknown, {} {}, {}.", fails, fails == 1 ? "fails" : "fail",
                        count(report, Verdict::kUnknown), holds, holds == 1 ? "holds" : "hold",
                        count_of(count(report, Verdict::kRemark), "remark"));
  if (!report.features.empty() && !with_features)
    line += fmt::format(" {} of {} known features of NCCL are there (--features).", there,
                        report.features.size());
  return line;
}

void add_features(const compat::Report& report, Document& document) {
  report::Table table;
  table.columns = {{"NCCL"}, {"here"}, {"feature"}};
  for (const Feature& one : report.features) {
    Line text = plain(one.title);
    if (!one.why.empty()) text.push_back({"; " + one.why, Tone::kQuiet});
    const std::string_view here = one.verdict == Verdict::kHolds   ? "yes"
                                  : one.verdict == Verdict::kFails ? "no"
                                                                   : "unknown";
    table.rows.push_back({plain(one.since), toned(std::string(here), tone_of(one.verdict)), std::move(text)});
  }
  document.blocks.emplace_back(Heading{"What this NCCL brings", 2});
  document.blocks.emplace_back(std::move(table));
}

Json texts(const std::vector<std::string>& values) {
  Json list = Json::array();
  for (const std::string& value : values)
    list.push_back(value);
  return list;
}

Json constraint_json(const Constraint& one) {
  Json missing = Json::array();
  for (const compat::Part part : one.missing)
    missing.push_back(compat::word_of(part));
  return Json::object({{"id", one.id},
                       {"verdict", word(one.verdict)},
                       {"title", one.title},
                       {"explanation", one.explain},
                       {"seen", texts(one.seen)},
                       {"missing", std::move(missing)},
                       {"fix", one.satisfy},
                       {"source", one.source}});
}

Json stack_json(const compat::Stack& stack) {
  Json parts = Json::array();
  for (const compat::PartName& name : compat::part_names()) {
    const auto found = stack.values.find(name.part);
    if (found == stack.values.end()) continue;
    parts.push_back(
        Json::object({{"part", name.word}, {"value", found->second.text}, {"seen_at", found->second.where}}));
  }
  Json gpus = Json::array();
  for (const compat::StackGpu& gpu : stack.gpus)
    gpus.push_back(Json::object({{"name", gpu.name}, {"compute_capability", gpu.capability}}));
  Json firmware = Json::array();
  for (const compat::Firmware& one : stack.firmware)
    firmware.push_back(
        Json::object({{"device", one.device}, {"version", one.version}, {"seen_at", one.where}}));
  return Json::object(
      {{"parts", std::move(parts)}, {"gpus", std::move(gpus)}, {"firmware", std::move(firmware)}});
}

Json stack_report_json(const CompatStack& one) {
  Json constraints = Json::array();
  for (const Constraint& constraint : one.report.constraints)
    constraints.push_back(constraint_json(constraint));
  Json features = Json::array();
  for (const Feature& feature : one.report.features)
    features.push_back(Json::object({{"id", feature.id},
                                     {"since", feature.since},
                                     {"verdict", word(feature.verdict)},
                                     {"title", feature.title},
                                     {"why", feature.why},
                                     {"source", feature.source}}));
  return Json::object({{"schema", "angio.compat/1"},
                       {"subject", one.subject},
                       {"stack", stack_json(one.stack)},
                       {"constraints", std::move(constraints)},
                       {"features", std::move(features)}});
}

void add_stack(const CompatStack& one, bool with_features, Document& document) {
  if (!one.remark.empty())
    document.blocks.emplace_back(
        Paragraph{{{"NOTE      ", Tone::kUnknown}, {printable(one.remark), Tone::kPlain}}});
  if (one.stack.empty()) {
    document.blocks.emplace_back(Paragraph{plain("No version was found in " + printable(one.subject) + ".")});
    return;
  }
  add_found(one.stack, document);
  for (const Constraint& constraint : one.report.constraints) {
    if (constraint.verdict == Verdict::kHolds) {
      add_holding(constraint, document);
    } else {
      add_constraint(constraint, document);
    }
  }
  if (with_features) add_features(one.report, document);
  document.blocks.emplace_back(Paragraph{plain(closing_line(one.report, with_features))});
}

// Machines whose versions are equal are shown once.
struct Group {
  const CompatStack* first = nullptr;
  std::vector<std::string> subjects;
};

std::string key_of(const CompatStack& one) {
  std::string key;
  for (const auto& [part, value] : one.stack.values)
    key += fmt::format("{}={};", compat::word_of(part), value.text);
  for (const compat::StackGpu& gpu : one.stack.gpus)
    key += gpu.name + ";";
  std::vector<std::string> firmware;
  for (const compat::Firmware& each : one.stack.firmware)
    firmware.push_back(each.device + each.version);
  return key + join(firmware, ";") + (one.stack.mismatch ? "!" : "");
}

std::vector<Group> grouped(const std::vector<CompatStack>& stacks) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  for (const CompatStack& one : stacks) {
    const auto [place, fresh] = places.try_emplace(key_of(one), groups.size());
    if (fresh) groups.push_back({&one, {}});
    groups[place->second].subjects.push_back(printable(one.subject));
  }
  return groups;
}

// "NVIDIA driver: 570.86.15 on 3, 550.54.15 on gpu-c.snap"
void add_differences(const std::vector<CompatStack>& stacks, Document& document) {
  Fields fields;
  fields.indent = 0;
  for (const compat::PartName& name : compat::part_names()) {
    std::map<std::string, std::vector<std::string>> holders;
    for (const CompatStack& one : stacks) {
      const std::string* value = one.stack.get(name.part);
      holders[value == nullptr ? "not known" : printable(*value)].push_back(printable(one.subject));
    }
    if (holders.size() < 2) continue;
    constexpr std::size_t kNamed = 3;  // more are counted
    std::vector<std::string> words;
    for (const auto& [value, names] : holders)
      words.push_back(fmt::format(
          "{} on {}", value, names.size() <= kNamed ? join(names, " ") : count_of(names.size(), "machine")));
    fields.rows.emplace_back(std::string(name.title), plain(join(words, ", ")));
  }
  document.blocks.emplace_back(Paragraph{
      toned(fields.rows.empty() ? "All have the same versions." : "They differ in:", Tone::kStrong)});
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

}  // namespace

Document compat_document(const std::vector<CompatStack>& stacks, bool with_features) {
  Document document;
  document.title = stacks.size() == 1 ? "How the versions fit: " + stacks.front().subject
                                      : "How the versions fit on " + count_of(stacks.size(), "machine");
  if (stacks.size() > 1) add_differences(stacks, document);
  for (const Group& group : grouped(stacks)) {
    if (stacks.size() > 1) document.blocks.emplace_back(Heading{join(group.subjects, ", "), 2});
    add_stack(*group.first, with_features, document);
  }
  return document;
}

Json compat_json(const std::vector<CompatStack>& stacks) {
  if (stacks.size() == 1) return stack_report_json(stacks.front());
  Json list = Json::array();
  for (const CompatStack& one : stacks)
    list.push_back(stack_report_json(one));
  return Json::object({{"schema", "angio.compat-list/1"}, {"stacks", std::move(list)}});
}

Document compat_parts_document() {
  Document document;
  document.title = "Parts of a stack";
  report::Table table;
  table.columns = {{"part"}, {"what it is"}};
  for (const compat::PartName& name : compat::part_names())
    table.rows.push_back({plain(std::string(name.word)), plain(std::string(name.title))});
  table.rows.push_back({plain("firmware"), plain("firmware of an adapter; may be given several times")});
  document.blocks.emplace_back(std::move(table));
  return document;
}

}  // namespace angio::views
