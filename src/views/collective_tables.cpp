#include "views/collective_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {

using model::CollectivePair;
using model::CollectiveRow;
using model::CollectiveRun;
using model::NcclCollective;
using report::Align;
using report::Document;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

constexpr double kGigabyte = 1e9;
constexpr std::size_t kMatrixOnTerminal = 12;  // ranks; more do not fit 80 columns
constexpr std::size_t kSlowShown = 10;
constexpr double kSlowPair = 0.8;  // of the median: beyond what pairs of one kind differ by

// Both halves of a size.
struct Halves {
  const CollectiveRow* out = nullptr;
  const CollectiveRow* in = nullptr;
  [[nodiscard]] const CollectiveRow& any() const { return out != nullptr ? *out : *in; }
};

std::vector<Halves> halves_of(const CollectiveRun& run, NcclCollective collective) {
  std::vector<Halves> all;
  std::map<std::uint64_t, std::size_t> places;
  for (const CollectiveRow& row : run.rows) {
    if (row.collective != collective) continue;
    const auto [place, fresh] = places.try_emplace(row.size.value, all.size());
    if (fresh) all.emplace_back();
    (row.in_place ? all[place->second].in : all[place->second].out) = &row;
  }
  return all;
}

std::string heading_of(const CollectiveRow& row) {
  std::string words = fmt::format("{}, {}", model::name_of(row.collective), printable(row.type));
  if (!row.reduction.empty()) words += ", " + printable(row.reduction);
  return words + fmt::format(", {} after {} to warm up", count_of(row.iterations, "iteration"), row.warm_up);
}

Line wrong_line(const CollectiveRow& row) {
  if (!row.wrong) return toned("N/A", Tone::kUnknown);
  return toned(std::to_string(*row.wrong), *row.wrong > 0 ? Tone::kCritical : Tone::kPlain);
}

void add_half(const CollectiveRow* row, std::vector<Line>& cells) {
  if (row == nullptr) {
    cells.insert(cells.end(), 4, plain(""));
    return;
  }
  cells.push_back(plain(time_text(row->time_us)));
  cells.push_back(plain(rate_text(row->algorithm)));
  cells.push_back(plain(rate_text(row->bus)));
  cells.push_back(wrong_line(*row));
}

Line band_line(const judge::JudgedRow* judged) {
  if (judged == nullptr || judged->expected <= 0) return toned("?", Tone::kUnknown);
  const auto text = [](double value) { return rate_text({value * kGigabyte}); };
  std::string words = judged->low > 0 && judged->high > 0 ? text(judged->low) + "-" + text(judged->high)
                                                          : "<= " + text(judged->expected);
  if (judged->verdict == judge::Verdict::kNormal || judged->verdict == judge::Verdict::kUndecided)
    return plain(std::move(words));
  const bool low = judged->verdict == judge::Verdict::kLow;
  return toned(fmt::format("{} {}", words, judge::name_of(judged->verdict)),
               low ? Tone::kWarning : Tone::kCritical);
}

std::string outliers_text(const CollectiveRow& row) {
  constexpr std::size_t kShown = 2;
  std::string words;
  for (std::size_t i = 0; i < std::min(row.outliers.size(), kShown); ++i) {
    const model::CollectiveOutlier& one = row.outliers[i];
    words += fmt::format("{}{} on rank {}: {}", i == 0 ? "" : ", ", one.iteration, one.rank,
                         time_text(one.time_us));
  }
  if (row.outliers.size() > kShown) words += fmt::format(", {} more", row.outliers.size() - kShown);
  return words;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void add_matrix(const CollectiveRun& run, bool latency, Document& document) {
  document.blocks.emplace_back(Heading{
      latency ? "Pairs, us for 8 B, from the row to the column" : "Pairs, GB/s, from the row to the column",
      2});
  Table table;
  table.columns.push_back({"rank", Align::kRight});
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank)
    table.columns.push_back({std::to_string(rank), Align::kRight});
  std::map<std::pair<std::uint32_t, std::uint32_t>, const CollectivePair*> places;
  std::vector<double> rates;
  for (const CollectivePair& pair : run.pairs) {
    places[{pair.from, pair.to}] = &pair;
    rates.push_back(pair.rate.value);
  }
  const double slow = kSlowPair * median_of(rates);
  for (std::uint32_t from = 0; from < run.ranks; ++from) {
    std::vector<Line> cells{plain(std::to_string(from))};
    for (std::uint32_t to = 0; to < run.ranks; ++to) {
      const auto found = places.find({from, to});
      if (found == places.end()) {
        cells.push_back(toned(from == to ? "" : "-", Tone::kUnknown));
        continue;
      }
      const CollectivePair& pair = *found->second;
      const std::string text = latency ? time_text(pair.latency_us) : rate_text(pair.rate);
      cells.push_back(toned(text, !latency && pair.rate.value < slow ? Tone::kWarning : Tone::kPlain));
    }
    table.rows.push_back(std::move(cells));
  }
  document.blocks.emplace_back(std::move(table));
}

void add_slow_pairs(const CollectiveRun& run, Document& document) {
  std::vector<double> rates;
  for (const CollectivePair& pair : run.pairs)
    rates.push_back(pair.rate.value);
  const double median = median_of(rates);
  std::vector<const CollectivePair*> slow;
  for (const CollectivePair& pair : run.pairs) {
    if (pair.rate.value < kSlowPair * median) slow.push_back(&pair);
  }
  std::ranges::sort(slow, {}, [](const CollectivePair* pair) { return pair->rate.value; });
  document.blocks.emplace_back(
      Paragraph{plain(fmt::format("{}, median {} GB/s{}", count_of(run.pairs.size(), "pair"),
                                  rate_text({median}), slow.empty() ? "; none below 80 % of it" : ""))});
  report::Preformatted lines;
  for (std::size_t i = 0; i < std::min(slow.size(), kSlowShown); ++i) {
    lines.lines.push_back(
        toned(fmt::format("slow: rank {} to rank {}, {} GB/s, {:.0f} % of the median", slow[i]->from,
                          slow[i]->to, rate_text(slow[i]->rate), 100 * slow[i]->rate.value / median),
              Tone::kWarning));
  }
  if (slow.size() > kSlowShown)
    lines.lines.push_back(plain(fmt::format("and {} more", slow.size() - kSlowShown)));
  if (!lines.lines.empty()) document.blocks.emplace_back(std::move(lines));
}

// ------------------------------------------------------------------ side by side

const CollectiveRow* find_row(const CollectiveRun& run, const CollectiveRow& like) {
  const auto found = std::ranges::find_if(run.rows, [&](const CollectiveRow& row) {
    return row.collective == like.collective && row.size == like.size && row.in_place == like.in_place;
  });
  return found == run.rows.end() ? nullptr : &*found;
}

void add_starts(const CollectiveReport& report, Document& document) {
  document.blocks.emplace_back(Heading{"Start, seconds (the slowest rank each)", 2});
  Table table{{{"back end"},
               {"version"},
               {"launch", Align::kRight},
               {"communicator", Align::kRight},
               {"first collective", Align::kRight},
               {"together", Align::kRight}},
              {}};
  for (const CollectiveRun& run : report.runs) {
    const auto text = [](double seconds) { return plain(fmt::format("{:.3f}", seconds)); };
    table.rows.push_back({plain(printable(run.backend)), plain(printable(run.version)),
                          text(run.launch_seconds), text(run.init_seconds), text(run.first_seconds),
                          text(run.launch_seconds + run.init_seconds + run.first_seconds)});
  }
  document.blocks.emplace_back(std::move(table));
}

}  // namespace

std::string time_text(double microseconds) {
  if (microseconds >= 1e6) return fmt::format("{:.4g}e3", microseconds / 1e3);
  return fmt::format("{:.{}f}", microseconds, microseconds >= 1000 ? 0 : microseconds >= 100 ? 1 : 2);
}

std::string rate_text(BytesPerSecond rate) {
  const double value = rate.value / kGigabyte;
  if (value < 0.00005) return "0.00";
  return fmt::format("{:.{}f}", value,
                     value >= 100                 ? 1
                     : value >= 0.1 || value <= 0 ? 2
                     : value >= 0.01              ? 3
                                                  : 4);
}

std::vector<NcclCollective> collectives_of(const CollectiveRun& run) {
  std::vector<NcclCollective> all;
  for (const CollectiveRow& row : run.rows) {
    if (std::ranges::find(all, row.collective) == all.end()) all.push_back(row.collective);
  }
  return all;
}

const judge::JudgedRow* judged_row(const judge::Judgement* judgement, const CollectiveRow& row) {
  if (judgement == nullptr) return nullptr;
  const auto found = std::ranges::find_if(judgement->rows, [&](const judge::JudgedRow& judged) {
    return judged.question && judged.question->collective == row.collective && judged.size == row.size &&
           judged.in_place.value_or(false) == row.in_place;
  });
  return found == judgement->rows.end() ? nullptr : &*found;
}

void add_sizes(const CollectiveRun& run, NcclCollective collective, const judge::Judgement* judgement,
               Document& document) {
  const std::vector<Halves> sizes = halves_of(run, collective);
  if (sizes.empty()) return;
  const bool out = std::ranges::any_of(sizes, [](const Halves& one) { return one.out != nullptr; });
  const bool in = std::ranges::any_of(sizes, [](const Halves& one) { return one.in != nullptr; });
  document.blocks.emplace_back(Heading{heading_of(sizes.front().any()), 2});
  std::string halves = out ? "out of place" : "in place";
  if (out && in) halves += ", then in place";
  document.blocks.emplace_back(
      Paragraph{toned(halves + "; time in us, algbw and busbw in GB/s", Tone::kQuiet)});
  Table table{{{"size", Align::kRight}}, {}};
  if (judgement == nullptr) table.columns.push_back({"count", Align::kRight});
  for (int half = 0; half < (out ? 1 : 0) + (in ? 1 : 0); ++half) {
    for (const char* title : {"time", "algbw", "busbw", "#wrong"})
      table.columns.push_back({title, Align::kRight});
  }
  if (judgement != nullptr) table.columns.push_back({"expected", Align::kRight});
  for (const Halves& one : sizes) {
    std::vector<Line> cells{plain(in_words(one.any().size))};
    if (judgement == nullptr) cells.push_back(plain(std::to_string(one.any().count)));
    if (out) add_half(one.out, cells);
    if (in) add_half(one.in, cells);
    if (judgement != nullptr) cells.push_back(band_line(judged_row(judgement, one.any())));
    table.rows.push_back(std::move(cells));
  }
  document.blocks.emplace_back(std::move(table));
}

void add_iterations(const CollectiveRun& run, NcclCollective collective, Document& document) {
  Table table{{{"size", Align::kRight},
               {"place"},
               {"least", Align::kRight},
               {"median", Align::kRight},
               {"p95", Align::kRight},
               {"p99", Align::kRight},
               {"most", Align::kRight},
               {"iterations that stand out"}},
              {}};
  for (const CollectiveRow& row : run.rows) {
    if (row.collective != collective || row.maximum_us <= 0) continue;
    table.rows.push_back({plain(in_words(row.size)), plain(row.in_place ? "in" : "out"),
                          plain(time_text(row.minimum_us)), plain(time_text(row.median_us)),
                          plain(time_text(row.p95_us)), plain(time_text(row.p99_us)),
                          plain(time_text(row.maximum_us)), toned(outliers_text(row), Tone::kWarning)});
  }
  if (table.rows.empty()) return;
  document.blocks.emplace_back(Heading{"Single iterations on the slowest rank, us", 3});
  document.blocks.emplace_back(std::move(table));
}

void add_pairs(const CollectiveRun& run, bool whole, Document& document) {
  if (run.pairs.empty()) return;
  if (whole || run.ranks <= kMatrixOnTerminal) {
    add_matrix(run, false, document);
    add_matrix(run, true, document);
  } else {
    document.blocks.emplace_back(Heading{"Pairs", 2});
  }
  add_slow_pairs(run, document);
}

void add_comparison(const CollectiveReport& report, std::span<const NcclCollective> collectives,
                    Document& document) {
  const CollectiveRun& first = report.runs.front();
  document.blocks.emplace_back(
      Paragraph{plain(fmt::format("{} on {}, the same work by each back end", count_of(first.ranks, "rank"),
                                  count_of(first.nodes, "node")))});
  for (const NcclCollective collective : collectives) {
    Table table{{{"size", Align::kRight}, {"place"}}, {}};
    for (const CollectiveRun& run : report.runs) {
      table.columns.push_back({run.backend + " us", Align::kRight});
      table.columns.push_back({"busbw", Align::kRight});
      table.columns.push_back({"#wrong", Align::kRight});
    }
    std::optional<std::string> heading;
    std::set<std::pair<std::uint64_t, bool>> seen;
    for (const CollectiveRun& leading : report.runs) {
      for (const CollectiveRow& row : leading.rows) {
        if (row.collective != collective || !seen.emplace(row.size.value, row.in_place).second) continue;
        if (!heading) heading = heading_of(row);
        std::vector<Line> cells{plain(in_words(row.size)), plain(row.in_place ? "in" : "out")};
        for (const CollectiveRun& run : report.runs) {
          const CollectiveRow* one = find_row(run, row);
          cells.push_back(one == nullptr ? toned("-", Tone::kUnknown) : plain(time_text(one->time_us)));
          cells.push_back(one == nullptr ? toned("-", Tone::kUnknown) : plain(rate_text(one->bus)));
          cells.push_back(one == nullptr ? toned("-", Tone::kUnknown) : wrong_line(*one));
        }
        table.rows.push_back(std::move(cells));
      }
    }
    document.blocks.emplace_back(
        Heading{heading.value_or(model::name_of(collective)) + "; busbw in GB/s", 2});
    document.blocks.emplace_back(std::move(table));
  }
  add_starts(report, document);
}

}  // namespace angio::views
