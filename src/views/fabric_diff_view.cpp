// Two scans of a fabric beside each other: what changed, worst first, and how much is alike.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/doctor_report.hpp"
#include "views/fabric_view.hpp"
#include "views/fabric_words.hpp"

namespace angio::views {

using model::FabricChange;
using model::FabricChangeKind;
using report::Document;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

constexpr std::size_t kRowsShown = 24;

std::string scan_words(const std::string& name, const std::optional<std::string>& captured) {
  const std::string words = name.empty() ? "a scan" : printable(name);
  return captured ? words + " (" + printable(*captured) + ")" : words;
}

// One decimal, and no ".0".
std::string number_words(double value) {
  std::string number = fmt::format("{:.1f}", value);
  if (number.ends_with(".0")) number.erase(number.size() - 2);
  return number;
}

std::string time_words(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 86400;
  const double size = std::abs(seconds);
  if (size < 2 * kMinute) return fmt::format("{:.0f} s", size);
  if (size < 2 * kHour) return fmt::format("{:.0f} min", size / kMinute);
  return size < 2 * kDay ? number_words(size / kHour) + " h" : number_words(size / kDay) + " days";
}

Line head(const model::FabricDiff& diff) {
  std::string words = scan_words(diff.before_name, diff.before_captured) + " to " +
                      scan_words(diff.after_name, diff.after_captured);
  if (diff.seconds_between)
    words += fmt::format(", {} {}", time_words(*diff.seconds_between),
                         *diff.seconds_between < 0 ? "earlier" : "later");
  return plain(words);
}

std::string count_words(const model::FabricDiff& diff) {
  const std::string alike =
      count_of(diff.nodes_alike, "node") + " and " + count_of(diff.links_alike, "link") + " alike";
  if (diff.changes.empty()) return "no changes; " + alike;
  return count_of(diff.changes.size(), "change") + "; " + alike;
}

Line change_line(const FabricChange& change) {
  const std::string before = printable(with_short_names(change.before));
  const std::string after = printable(with_short_names(change.after));
  std::string words(name_of(change.kind));
  if (!before.empty() && !after.empty()) {
    words += ": was " + before + ", is " + after;
  } else if (!before.empty()) {
    words += ": was " + before;
  } else if (!after.empty()) {
    words += ": is " + after;
  }
  Line line = plain(words);
  if (!change.meaning.empty())
    line.push_back({"; " + printable(with_short_names(change.meaning)), Tone::kQuiet});
  return line;
}

std::string rest_words(const std::map<FabricChangeKind, std::size_t>& rest) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : rest)
    parts.push_back(fmt::format("{} {}", count, name_of(kind)));
  return join(parts, ", ");
}

}  // namespace

Document fabric_diff_document(const FabricDiffShow& show) {
  const model::FabricDiff& diff = *show.diff;
  Document document;
  document.blocks.emplace_back(Paragraph{head(diff)});
  document.blocks.emplace_back(Paragraph{toned(count_words(diff), Tone::kStrong)});
  Table table{{{}, {}, {}}, {}};
  std::map<FabricChangeKind, std::size_t> rest;
  std::size_t below = 0;
  for (const FabricChange& change : diff.changes) {
    if (change.severity < show.least) {
      ++below;
    } else if (!show.all && table.rows.size() == kRowsShown) {
      ++rest[change.kind];
    } else {
      table.rows.push_back({toned(upper(in_words(change.severity)), tone_of(change.severity)),
                            toned(printable(with_short_names(change.where)), Tone::kStrong),
                            change_line(change)});
    }
  }
  if (!table.rows.empty()) document.blocks.emplace_back(std::move(table));
  if (!rest.empty())
    document.blocks.emplace_back(Paragraph{toned("more (--all): " + rest_words(rest), Tone::kQuiet)});
  if (below > 0)
    document.blocks.emplace_back(
        Paragraph{toned(count_of(below, "change") + " below the level asked for", Tone::kQuiet)});
  return document;
}

Document fabric_diff_page(const FabricDiffShow& show) {
  Document document = fabric_diff_document(show);
  document.title = "What changed in the fabric";
  return document;
}

}  // namespace angio::views
