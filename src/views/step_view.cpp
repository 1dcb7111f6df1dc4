#include "views/step_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/step_words.hpp"

namespace angio::views {
namespace {

using model::StepRun;
using model::StepSplit;
using report::Align;
using report::Document;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

constexpr std::size_t kRowsShown = 16;  // HTML and JSON have all

void say(Document& document, Line line) {
  document.blocks.emplace_back(Paragraph{std::move(line)});
}

std::string title_line(const StepRun& run) {
  return fmt::format("{}: {}; {}, {}", printable(run.subject.empty() ? "no host" : run.subject),
                     step_shape_words(run.shape), count_of(run.ranks, "rank"), step_layout_words(run.layout));
}

std::string what_ran(const StepRun& run) {
  return printable(
      fmt::format("{}, {}; {}; started by {}; {} warm-up",
                  run.framework == "torch" ? run.version : "traffic without a framework, " + run.version,
                  run.backend, run.implementation, run.launcher, count_of(run.warm_up, "step")));
}

void add_step(const StepRun& run, Document& document) {
  if (run.step.count == 0) return say(document, toned("no step was finished by all ranks", Tone::kWarning));
  Line line = toned("step " + step_time(run.step.median), Tone::kStrong);
  line.push_back({fmt::format(" median of {} (p95 {}, p99 {}, most {}); {:.4g} samples/s", run.step.count,
                              step_time(run.step.p95), step_time(run.step.p99), step_time(run.step.maximum),
                              run.samples_per_second),
                  Tone::kPlain});
  say(document, std::move(line));
  if (run.exposed_ms)
    say(document, plain(fmt::format("exposed communication {} a step, {:.0f} %, by waits",
                                    step_time(*run.exposed_ms), 100 * run.exposed_share.value_or(0))));
  if (run.without_ms)
    say(document, plain(fmt::format("without communication {}: it costs {} a step",
                                    step_time(*run.without_ms), step_time(*run.difference_ms))));
  if (run.bubble_share)
    say(document,
        plain(fmt::format(
            "pipeline: {:.0f} % of a stage's time is empty by its shape ({} stages, {} micro-batch{}); not "
            "measured",
            100 * *run.bubble_share, run.layout.pipeline, run.layout.micro_batches,
            run.layout.micro_batches == 1 ? "" : "es")));
}

// The slowest first where not all fit.
std::vector<std::size_t> rows_of(const StepRun& run, std::size_t most) {
  std::vector<std::size_t> rows(std::min(run.splits.size(), run.members.size()));
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (rows.size() <= most) return rows;
  std::ranges::stable_sort(rows, std::greater{}, [&run](std::size_t i) { return run.splits[i].busy(); });
  rows.resize(most);
  return rows;
}

std::string ms(double value) {
  return fmt::format("{:.{}f}", value, value < 100 ? 1 : 0);
}

void add_table(const StepRun& run, std::size_t most, Document& document) {
  Table table{{{"rank"},
               {"step", Align::kRight},
               {"forward", Align::kRight},
               {"backward", Align::kRight},
               {"optimizer", Align::kRight},
               {"exposed", Align::kRight},
               {"input", Align::kRight},
               {"other", Align::kRight},
               {"memory", Align::kRight}},
              {}};
  const auto rows = rows_of(run, most);
  for (const std::size_t i : rows) {
    const StepSplit& split = run.splits[i];
    const bool slow = run.slow && run.slow->rank == split.rank;
    const bool by_input = slow && run.slow->culprit == model::StepCulprit::kInput;
    const Tone compute = slow && !by_input ? Tone::kWarning : Tone::kPlain;
    table.rows.push_back(
        {toned(fmt::format("{}{}", split.rank, slow ? " slow" : ""), Tone::kStrong), plain(ms(split.step)),
         toned(ms(split.forward), compute), toned(ms(split.backward), compute), plain(ms(split.optimizer)),
         split.exposed ? plain(ms(*split.exposed)) : toned("?", Tone::kUnknown),
         toned(ms(split.input), by_input ? Tone::kWarning : Tone::kPlain), plain(ms(split.other)),
         run.members[i].memory ? plain(in_words(*run.members[i].memory)) : toned("?", Tone::kUnknown)});
  }
  document.blocks.emplace_back(std::move(table));
  std::string words =
      "milliseconds, medians; forward, backward and optimizer without the waits for communication in them";
  if (rows.size() < run.splits.size())
    words += fmt::format("; the {} busiest of {} ranks", rows.size(), run.splits.size());
  say(document, toned(words, Tone::kQuiet));
}

void add_scale(const StepRun& run, const scaling::Scaling* scaling, Document& document) {
  if (run.scale.empty()) return;
  say(document, toned(run.scaling == "strong" ? "strong scaling: the batch of all ranks together stays"
                                              : "weak scaling: the batch of a replica stays",
                      Tone::kStrong));
  Table table{{{"ranks", Align::kRight},
               {"batch", Align::kRight},
               {"step", Align::kRight},
               {"samples/s", Align::kRight},
               {"exposed", Align::kRight},
               {"speed-up", Align::kRight},
               {"efficiency", Align::kRight}},
              {}};
  for (const model::StepScale& row : run.scale) {
    const scaling::ScaledPoint* point = nullptr;
    for (std::size_t i = 0; scaling != nullptr && i < scaling->points.size(); ++i) {
      if (scaling->points[i].count == row.ranks) point = &scaling->points[i];
    }
    table.rows.push_back({plain(std::to_string(row.ranks)), plain(std::to_string(row.batch)),
                          plain(step_time(row.step_ms)), plain(fmt::format("{:.4g}", row.samples_per_second)),
                          plain(row.exposed_ms ? step_time(*row.exposed_ms) : "?"),
                          plain(point != nullptr ? fmt::format("{:.2f}", point->speedup) : "?"),
                          plain(point != nullptr ? fmt::format("{:.0f} %", 100 * point->efficiency) : "?")});
  }
  document.blocks.emplace_back(std::move(table));
  if (scaling == nullptr) return;
  if (!scaling->answer.empty()) say(document, plain(scaling->answer));
  if (scaling->split)
    say(document,
        plain(fmt::format("share of the work that more ranks do not speed up: {:.0f} %, by {}",
                          100 * scaling->split->serial,
                          scaling->mode == scaling::Mode::kStrong ? "Amdahl's law" : "Gustafson's law")));
  for (const scaling::Remark& remark : scaling->remarks)
    say(document, toned(remark.words, Tone::kQuiet));
}

void add_notes(const StepRun& run, Document& document) {
  if (run.phantom)
    say(document, toned("phantom GPUs: no data moved, and no time here means anything", Tone::kWarning));
  for (const std::string& note : run.notes)
    say(document, toned("- " + printable(note), Tone::kQuiet));
  if (run.interrupted)
    say(document, toned("interrupted: these are the steps that were finished", Tone::kWarning));
}

Document document_of(const StepRun& run, const scaling::Scaling* scaling, std::size_t rows, bool picture) {
  Document document;
  document.title = "Training step of " + printable(run.subject);
  say(document, toned(title_line(run), Tone::kStrong));
  say(document, toned(what_ran(run), Tone::kQuiet));
  add_step(run, document);
  if (run.slow) say(document, toned(slow_rank_words(run), Tone::kWarning));
  if (run.slow)
    say(document, toned("that is no fault of the network: their waits for it count as exposed communication",
                        Tone::kQuiet));
  if (run.step.count > 0) {
    if (picture) document.blocks.emplace_back(step_drawing(run));
    add_table(run, rows, document);
  }
  add_scale(run, scaling, document);
  add_notes(run, document);
  return document;
}

// ------------------------------------------------------------------ bars

struct Part {
  const char* name;
  const char* kind;  // the style class
  double (*of)(const StepSplit& split);
};
constexpr Part kParts[] = {
    {"input wait", "storage", [](const StepSplit& split) { return split.input; }},
    {"forward", "gpu", [](const StepSplit& split) { return split.forward; }},
    {"backward", "nvlink", [](const StepSplit& split) { return split.backward; }},
    {"optimizer", "nic", [](const StepSplit& split) { return split.optimizer; }},
    {"exposed communication", "h3", [](const StepSplit& split) { return split.exposed.value_or(0); }},
    {"other", "switch", [](const StepSplit& split) { return split.other; }},
};

void add_legend(report::Drawing& drawing, double y) {
  double x = 70;
  for (const Part& part : kParts) {
    drawing.shapes.emplace_back(report::Box{x, y, 14, 14, "", part.name, Tone::kPlain, part.kind});
    drawing.shapes.emplace_back(report::Label{x + 20, y + 12, part.name});
    x += 34 + 7.0 * static_cast<double>(std::string_view(part.name).size());
  }
}

}  // namespace

Document step_document(const StepRun& run, const scaling::Scaling* scaling) {
  return document_of(run, scaling, kRowsShown, false);
}

Document step_page(const StepRun& run, const scaling::Scaling* scaling) {
  return document_of(run, scaling, run.splits.size(), true);
}

report::Drawing step_drawing(const StepRun& run) {
  constexpr double kLeft = 70;
  constexpr double kWidth = 640;
  constexpr double kRow = 26;
  constexpr double kBar = 18;
  constexpr double kTop = 40;
  report::Drawing drawing;
  drawing.title = "How each rank's step splits";
  drawing.width = kLeft + kWidth + 90;
  drawing.height = kTop + kRow * static_cast<double>(run.splits.size()) + 10;
  double longest = 0;
  for (const StepSplit& split : run.splits)
    longest = std::max(longest, split.busy() + split.exposed.value_or(0));
  drawing.description = fmt::format("one bar a rank, the longest is {}", step_time(longest));
  add_legend(drawing, 10);
  double y = kTop;
  for (const StepSplit& split : run.splits) {
    const bool slow = run.slow && run.slow->rank == split.rank;
    drawing.shapes.emplace_back(report::Label{kLeft - 8, y + 13, fmt::format("rank {}", split.rank),
                                              slow ? Tone::kWarning : Tone::kPlain, Align::kRight});
    double x = kLeft;
    for (const Part& part : kParts) {
      const double value = part.of(split);
      if (value <= 0 || longest <= 0) continue;
      const double width = kWidth * value / longest;
      drawing.shapes.emplace_back(report::Box{
          x, y, width, kBar, "", fmt::format("rank {}: {} {}", split.rank, part.name, step_time(value)),
          Tone::kPlain, part.kind});
      x += width;
    }
    drawing.shapes.emplace_back(report::Label{x + 6, y + 13, step_time(split.step) + (slow ? " slow" : ""),
                                              slow ? Tone::kWarning : Tone::kPlain});
    y += kRow;
  }
  return drawing;
}

}  // namespace angio::views
