// The plot of a sweep: for each collective a row for each variant, in it a segment for each choice over the
// sizes. A segment holds its words, or where it is too narrow a letter that the key below explains.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_plot.hpp"
#include "views/dryrun_view.hpp"
#include "views/topology_canvas.hpp"

namespace angio::views {
namespace {

using dryrun::ChoiceRange;
using dryrun::SweepRow;
using report::Align;
using report::Box;
using report::Drawing;
using report::Label;
using report::Tone;

constexpr double kRow = 24;
constexpr double kBox = 20;
constexpr double kHeadRoom = 26;
constexpr double kAxisRoom = 34;
constexpr double kText = 11;
constexpr double kKeyWidth = 240;

// a, b … z, aa, ab …
std::string letter(std::size_t index) {
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('a' + index % 26));
    index /= 26;
  } while (index-- != 0);
  return text;
}

// Without "NCCL_" where it would not fit: the names are told apart behind it.
std::string variant_words(const std::string& variant) {
  std::string words = printable(variant);
  if (text_width(words, kText) <= plot::kLabels - 24) return words;
  constexpr std::string_view kPrefix = "NCCL_";
  for (std::size_t at = words.find(kPrefix); at != std::string::npos; at = words.find(kPrefix, at))
    words.erase(at, kPrefix.size());
  return words;
}

class SweepPainter {
 public:
  SweepPainter(const SizeAxis& axis, std::set<std::uint64_t> sizes) : axis_(axis), sizes_(std::move(sizes)) {}

  double collective(const std::string& name, const std::vector<const SweepRow*>& rows, double top) {
    front_.emplace_back(Label{plot::kMargin, top + 14, printable(name), Tone::kStrong, Align::kLeft, 13});
    double y = top + kHeadRoom;
    for (const SweepRow* row : rows) {
      front_.emplace_back(Label{plot::kMargin, y + 14,
                                fit(variant_words(row->variant), plot::kLabels - 24, kText), Tone::kPlain,
                                Align::kLeft, kText});
      for (std::size_t i = 0; i < row->ranges.size(); ++i)
        segment(*row, i, y);
      y += kRow;
    }
    axis_.draw(top + kHeadRoom, y, back_, front_);
    return y + kAxisRoom;
  }

  Drawing finish(double y) {
    y = key(y);
    front_.emplace_back(
        Label{plot::kMargin, y + 14,
              "a choice changes somewhere between two sizes that were tried; it is drawn half way",
              Tone::kQuiet, Align::kLeft, kText});
    Drawing drawing;
    drawing.width = plot::kRight + plot::kMargin;
    drawing.height = y + 14 + plot::kMargin;
    drawing.title = "Choices by size and variant";
    drawing.description = "For each collective a row for each variant; segments are sizes with one choice.";
    for (auto* layer : {&back_, &front_})
      std::ranges::move(*layer, std::back_inserter(drawing.shapes));
    return drawing;
  }

 private:
  void segment(const SweepRow& row, std::size_t index, double y) {
    const ChoiceRange& range = row.ranges[index];
    const auto before = sizes_.lower_bound(range.from);
    const auto after = sizes_.upper_bound(range.to);
    const double left = before == sizes_.begin() ? axis_.x(range.from) - plot::kEdge
                                                 : axis_.middle(*std::prev(before), range.from);
    const double right =
        after == sizes_.end() ? axis_.x(range.to) + plot::kEdge : axis_.middle(range.to, *after);
    const bool reached = range.choice != "not reached";
    front_.emplace_back(Box{left,
                            y,
                            std::max(2.0, right - left),
                            kBox,
                            {},
                            printable(fmt::format("{}, {}: {}, {}", row.variant, row.collective,
                                                  size_words(range.from, range.to), range.choice)),
                            reached ? Tone::kPlain : Tone::kUnknown,
                            reached ? box_kind(range.choice) : ""});
    const std::string text = text_for(brief_choice(row.collective, range.choice), right - left);
    if (!text.empty())
      front_.emplace_back(Label{(left + right) / 2, y + 14, text, reached ? Tone::kPlain : Tone::kUnknown,
                                Align::kCentre, kText});
  }

  // The longest words that fit; the letter is the last resort and the only one in the key.
  std::string text_for(const std::string& choice, double width) {
    const double room = width - 6;
    std::string whole = printable(choice);
    if (text_width(whole, kText) <= room) return whole;
    const std::string_view brief = without_channels(choice);
    const auto words = split_words(std::string_view(choice).substr(brief.size()));  // ",", "16", "ch"
    if (words.size() == 3) {
      const std::string shorter = printable(fmt::format("{} ×{}", brief, words[1]));
      if (text_width(shorter, kText) <= room) return shorter;
    }
    const auto [place, fresh] = letters_.emplace(choice, letters_.size());
    return letter(place->second);
  }

  double key(double y) {
    if (letters_.empty()) return y;
    std::vector<std::string> texts(letters_.size());
    for (const auto& [choice, index] : letters_)
      texts[index] = choice;
    double x = plot::kMargin;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (x + kKeyWidth > plot::kRight) {
        x = plot::kMargin;
        y += kRow;
      }
      front_.emplace_back(Box{x, y, 26, kBox, {}, printable(texts[i]), Tone::kPlain, box_kind(texts[i])});
      front_.emplace_back(Label{x + 13, y + 14, letter(i), Tone::kPlain, Align::kCentre, kText});
      front_.emplace_back(Label{x + 32, y + 14, fit(printable(texts[i]), kKeyWidth - 40, kText), Tone::kPlain,
                                Align::kLeft, kText});
      x += kKeyWidth;
    }
    return y + kRow + 6;
  }

  const SizeAxis& axis_;
  std::set<std::uint64_t> sizes_;
  std::map<std::string, std::size_t> letters_;
  std::vector<report::Shape> back_, front_;
};

}  // namespace

std::optional<Drawing> dryrun_sweep_drawing(const std::vector<SweepRow>& rows) {
  std::vector<std::pair<std::string, std::vector<const SweepRow*>>> groups;
  std::map<std::string, std::size_t> known;
  std::set<std::uint64_t> sizes;
  for (const SweepRow& row : rows) {
    if (row.ranges.empty()) continue;
    const auto [place, fresh] = known.emplace(row.collective, groups.size());
    if (fresh) groups.push_back({row.collective, {}});
    groups[place->second].second.push_back(&row);
    for (const ChoiceRange& range : row.ranges) {
      sizes.insert(range.from);
      sizes.insert(range.to);
    }
  }
  if (groups.empty()) return std::nullopt;
  const SizeAxis axis({sizes.begin(), sizes.end()});
  SweepPainter painter(axis, std::move(sizes));
  double y = plot::kMargin;
  for (const auto& [name, all] : groups)
    y = painter.collective(name, all, y);
  return painter.finish(y);
}

}  // namespace angio::views
