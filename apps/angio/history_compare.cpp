#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "history/drift.hpp"
#include "history_parts.hpp"
#include "views/history_view.hpp"

namespace angio::app::history_parts {

using history::Access;
using history::Record;
using history::Store;

namespace {

bool fails(const history::Comparison& comparison, const std::string& fail_on) {
  return std::ranges::any_of(comparison.changes, [&](const history::Change& change) {
    const bool worse = change.judgement == history::Judgement::kWorse ||
                       change.judgement == history::Judgement::kGone ||
                       change.judgement == history::Judgement::kChanged;
    return !fail_on.empty() &&
           (worse || (fail_on == "grew" && change.judgement == history::Judgement::kGrew));
  });
}

std::string in_words(const std::vector<history::FactChange>& changes) {
  std::vector<std::string> words;
  for (const history::FactChange& change : changes)
    words.push_back(history::in_words(change));
  return join(words, "; ");
}

// The record that a name or number stands for.
Result<Record> find_baseline(const Store& store, const std::string& what) {
  const auto baselines = store.baselines();
  if (!baselines) return std::unexpected(baselines.error());
  std::vector<std::string_view> names;
  std::optional<std::int64_t> id = parse_integer<std::int64_t>(what);
  for (const history::Baseline& baseline : *baselines) {
    names.push_back(baseline.name);
    if (baseline.name == what) id = baseline.entry.id;
  }
  if (id) {
    auto record = store.find(*id);
    if (!record) return std::unexpected(record.error());
    if (*record) return std::move(**record);
  }
  const auto meant = did_you_mean(what, names);
  return fail(
      ErrorCode::kNotFound, "there is no baseline " + printable(what),
      meant ? "Did you mean " + printable(*meant) + "?"
            : "angio history baseline show lists them, angio history list --all the numbers of records");
}

Result<history::Comparison> compare_with_baseline(const HistoryOptions& options, const Store& store,
                                                  const Record& record) {
  auto baseline = find_baseline(store, options.baseline);
  if (!baseline) return std::unexpected(std::move(baseline.error()));
  if (baseline->schema != record.schema || baseline->subject != record.subject)
    return fail(ErrorCode::kInvalidInput,
                "baseline " + printable(options.baseline) + " is of " + described(*baseline) +
                    ", this result of " + described(record),
                "Only results of the same kind and subject can be compared");
  const auto changes = history::changes_between(baseline->environment, record.environment);
  if (!changes.empty() && !options.any_environment)
    return fail(ErrorCode::kInvalidInput,
                "baseline " + printable(options.baseline) +
                    " was measured in another environment: " + in_words(changes),
                "--any-environment compares all the same");
  history::Comparison comparison = history::compare(record, std::vector<Record>{*baseline});
  history::judge_repeats(*baseline, comparison);
  comparison.baseline = options.baseline;
  comparison.environment.than = baseline->captured;
  comparison.environment.facts = changes;
  return comparison;
}

// The last earlier record of another environment, and how many there are.
Result<void> add_environment(const HistoryOptions& options, const Store& store,
                             const std::vector<Record>& past, history::Comparison& comparison) {
  const Record& record = comparison.now;
  const auto entries = store.list();
  if (!entries) return std::unexpected(entries.error());
  const std::string own = history::fingerprint_of(record.environment);
  const history::Entry* last = nullptr;
  for (const history::Entry& entry : *entries) {
    const bool earlier = entry.schema == record.schema && entry.subject == record.subject &&
                         entry.captured < record.captured && entry.fingerprint != own;
    if (!earlier) continue;
    if (!options.any_environment) ++comparison.environment.left_out;
    if (!entry.fingerprint.empty() && (last == nullptr || entry.captured >= last->captured)) last = &entry;
  }
  // What is old news to all records that were held against says nothing.
  if (last == nullptr || own.empty() || (!past.empty() && last->captured < past.front().captured)) return {};
  if (!options.any_environment && !past.empty()) return {};
  const auto environment = store.environment_at(last->schema, last->subject, last->captured);
  if (!environment) return std::unexpected(environment.error());
  comparison.environment.than = last->captured;
  comparison.environment.facts = history::changes_between(*environment, record.environment);
  return {};
}

Result<history::Comparison> compare_with_past(const HistoryOptions& options, const Store& store,
                                              const Record& record) {
  const std::string own = history::fingerprint_of(record.environment);
  const auto past = store.records(record.schema, record.subject, record.captured, options.last,
                                  options.any_environment ? std::nullopt : std::optional(own));
  if (!past) return std::unexpected(past.error());
  const auto times = store.times(record.schema, record.subject);
  if (!times) return std::unexpected(times.error());
  history::Comparison comparison = history::compare(record, *past);
  if (!past->empty()) history::judge_repeats(past->back(), comparison);
  comparison.later = static_cast<std::uint32_t>(
      std::ranges::count_if(*times, [&](const std::string& time) { return time > record.captured; }));
  if (auto added = add_environment(options, store, *past, comparison); !added)
    return std::unexpected(std::move(added.error()));
  return comparison;
}

int compare(const HistoryOptions& options) {
  auto record = read_record(options.file, options.captured);
  if (!record) return report_error(record.error());
  auto store = open_store(options, options.add ? Access::kWrite : Access::kRead);
  if (!store) return report_error(store.error());
  const auto comparison = options.baseline.empty() ? compare_with_past(options, *store, *record)
                                                   : compare_with_baseline(options, *store, *record);
  if (!comparison) return report_error(comparison.error());
  if (options.add) {
    if (auto added = store->add(*record); !added) return report_error(added.error());
  }
  const int shown = show(options, views::history_compare_document(*comparison, options.all),
                         views::history_compare_json(*comparison));
  if (shown != kOk) return shown;
  return fails(*comparison, options.fail_on) ? kFindings : kOk;
}

// ---- baseline

// A number, a file with a result, or a subject whose newest record is meant.
Result<Record> chosen_record(const HistoryOptions& options, Store& store) {
  if (const auto id = parse_integer<std::int64_t>(options.what)) {
    auto record = store.find(*id);
    if (!record) return std::unexpected(record.error());
    if (*record) return std::move(**record);
    return fail(ErrorCode::kNotFound, "there is no record " + options.what,
                "angio history list --all shows their numbers");
  }
  auto newest = store.newest("", options.what);
  if (!newest) return std::unexpected(newest.error());
  if (*newest) return std::move(**newest);
  auto record = read_record(options.what, options.captured);
  if (!record) return record;
  if (auto added = store.add(*record); !added) return std::unexpected(added.error());
  auto kept = store.find_same(*record);
  if (!kept) return std::unexpected(kept.error());
  if (!*kept) return fail(ErrorCode::kBug, "the record that was just added is not there");
  return std::move(**kept);
}

int set_baseline(const HistoryOptions& options) {
  auto store = open_store(options, Access::kWrite);
  if (!store) return report_error(store.error());
  auto record = chosen_record(options, *store);
  if (!record) return report_error(record.error());
  if (auto set = store->set_baseline(options.name, record->id); !set) return report_error(set.error());
  return print(printable(options.name) + " is record " + std::to_string(record->id) + ": " +
               described(*record) + "\n");
}

int show_baselines(const HistoryOptions& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  auto baselines = store->baselines();
  if (!baselines) return report_error(baselines.error());
  if (!options.name.empty())
    std::erase_if(*baselines,
                  [&](const history::Baseline& baseline) { return baseline.name != options.name; });
  if (baselines->empty() && (options.format != "json" || !options.name.empty()))
    return report_error(
        {ErrorCode::kNotFound,
         options.name.empty() ? "no baseline is set" : "there is no baseline " + printable(options.name),
         "angio history baseline set NAME RECORD sets one"});
  std::vector<Record> records;
  for (const history::Baseline& baseline : *baselines) {
    auto record = store->find(baseline.entry.id);
    if (!record) return report_error(record.error());
    records.push_back(record->value_or(Record{}));
  }
  return show(options, views::history_baselines_document(*baselines, records),
              views::history_baselines_json(*baselines, records));
}

int clear_baseline(const HistoryOptions& options) {
  auto store = open_store(options, Access::kWrite);
  if (!store) return report_error(store.error());
  const auto cleared = store->clear_baseline(options.name);
  if (!cleared) return report_error(cleared.error());
  if (!*cleared)
    return report_error({ErrorCode::kNotFound, "there is no baseline " + printable(options.name),
                         "angio history baseline show lists them"});
  return print(printable(options.name) + " is no baseline any more; its record stays\n");
}

}  // namespace

void setup_compare(CommandLine& history, const std::shared_ptr<HistoryOptions>& options, int& exit_code) {
  CommandLine command =
      history.subcommand("compare", "Hold a result against the earlier ones of its subject");
  command.option("file", options->file, "JSON of angio rdma, fabric, mesh, bench …; - is standard input")
      .type_name("FILE")
      .required();
  command.option("--last", options->last, "Against so many earlier records (30)")
      .type_name("N")
      .range(1, 1000);
  command.option("--baseline", options->baseline, "Against this baseline, or the record of this number")
      .type_name("NAME|ID");
  command.flag("--any-environment", options->any_environment, "Also against records of other environments");
  command.flag("--add", options->add, "Keep it afterwards");
  command.flag("--all", options->all, "Figures that are as before, too");
  command
      .option("--fail-on", options->fail_on,
              "Exit with 1 on figures that got worse, or also on counters that grew")
      .one_of({"worse", "grew"});
  add_captured(command, *options);
  add_store(command, *options);
  add_format(command, *options);
  command.callback([options, &exit_code] { exit_code = compare(*options); });
}

void setup_baseline(CommandLine& history, const std::shared_ptr<HistoryOptions>& options, int& exit_code) {
  CommandLine baseline = history.subcommand("baseline", "Name a record that later results are held against");
  baseline.require_subcommand();
  CommandLine set_command = baseline.subcommand("set", "Give a record a name");
  set_command.option("name", options->name, "The name").type_name("NAME").required();
  set_command
      .option("record", options->what,
              "A record's number, a subject (its newest record), or a file to add first")
      .type_name("RECORD")
      .required();
  add_captured(set_command, *options);
  add_store(set_command, *options);
  set_command.callback([options, &exit_code] { exit_code = set_baseline(*options); });

  CommandLine show_command = baseline.subcommand("show", "Show the baselines and where they were measured");
  show_command.option("name", options->name, "Only this one").type_name("NAME");
  add_store(show_command, *options);
  add_format(show_command, *options);
  show_command.callback([options, &exit_code] { exit_code = show_baselines(*options); });

  CommandLine clear_command = baseline.subcommand("clear", "Take the name away; the record stays");
  clear_command.option("name", options->name, "The name").type_name("NAME").required();
  add_store(clear_command, *options);
  clear_command.callback([options, &exit_code] { exit_code = clear_baseline(*options); });
}

}  // namespace angio::app::history_parts
