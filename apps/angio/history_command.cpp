#include "history_command.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "duration_option.hpp"
#include "history/drift.hpp"
#include "history/store.hpp"
#include "history_parts.hpp"
#include "host/clock.hpp"
#include "options.hpp"
#include "views/history_view.hpp"

namespace angio::app {
namespace {

using history::Access;
using history::Record;
using history::Store;
using namespace history_parts;  // NOLINT(google-build-using-namespace): of this command

// Each file on its own: one that cannot be kept must not cost the others.
int add(const HistoryOptions& options) {
  std::vector<Record> records;
  int done = kOk;
  for (const std::string& path : options.files) {
    auto record = read_record(path, options.captured);
    if (record) records.push_back(std::move(*record));
    if (!record) done = report_error(record.error());
  }
  if (records.empty()) return done;
  auto store = open_store(options, Access::kWrite);
  if (!store) return report_error(store.error());
  std::string text;
  for (const Record& record : records) {
    const auto added = store->add(record);
    if (!added) return report_error(added.error());
    text += described(record) + ": " +
            (*added ? count_of(record.metrics.size(), "figure") + " kept" : std::string("already there"));
    if (record.repeated > 0)
      text += ", " + count_of(record.repeated, "figure") + " twice in it (the first counts)";
    text += "\n";
  }
  const int printed = print(text);
  return done != kOk ? done : printed;
}

int list(const HistoryOptions& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  auto entries = store->list();
  if (!entries) return report_error(entries.error());
  const std::string store_name = store_path(options).value_or("");
  return show(options,
              options.all ? views::history_records_document(*entries, store_name)
                          : views::history_list_document(*entries, store_name),
              views::history_list_json(*entries));
}

Error unknown(const Store& store, const std::string& what) {
  std::vector<std::string> names;
  if (auto entries = store.list())
    for (const history::Entry& entry : *entries)
      names.push_back(entry.subject);
  std::vector<std::string_view> views(names.begin(), names.end());
  const auto meant = did_you_mean(what, views);
  return {ErrorCode::kNotFound, "nothing is kept under the name " + printable(what),
          meant ? "Did you mean " + printable(*meant) + "?" : "angio history list shows what there is"};
}

// What somebody may mean by a name: the subject of results, a port or pair in them, or a figure.
Result<std::vector<history::Series>> find_series(const Store& store, const std::string& what) {
  for (const history::Match match :
       {history::Match::kOwner, history::Match::kSubject, history::Match::kName}) {
    auto series = store.series(match, what);
    if (!series || !series->empty()) return series;
  }
  return std::unexpected(unknown(store, what));
}

Result<std::vector<history::Series>> chosen_series(const Store& store, const HistoryOptions& options) {
  auto series = find_series(store, options.what);
  if (!series || options.metric.empty()) return series;
  std::erase_if(*series, [&](const history::Series& one) { return one.name != options.metric; });
  if (series->empty())
    return fail(ErrorCode::kNotFound, printable(options.what) + " has no figure " + printable(options.metric),
                "angio history show " + printable(options.what) + " lists them");
  return series;
}

int show_series(const HistoryOptions& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  auto series = chosen_series(*store, options);
  if (!series) return report_error(series.error());
  return show(options, views::history_series_document(*series), views::history_series_json(*series));
}

// What of the environment changed with a figure, as far as both records say where they were measured.
std::vector<history::FactChange> changes_between(const Store& store, const history::Series& series,
                                                 const history::Since& since) {
  const auto before = store.environment_at(series.schema, series.owner, since.good);
  const auto after = store.environment_at(series.schema, series.owner, since.bad);
  if (!before || !after || !before->is_known() || !after->is_known()) return {};
  return history::changes_between(*before, *after);
}

int since(const HistoryOptions& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  auto series = chosen_series(*store, options);
  if (!series) return report_error(series.error());
  std::vector<history::Since> answers;
  for (const history::Series& one : *series) {
    auto times = store->times(one.schema, one.owner);
    if (!times) return report_error(times.error());
    history::Since answer = history::since_when(one, *times);
    if (answer.found) answer.environment = changes_between(*store, one, answer);
    // Of everything that is kept about a subject, what never changed says nothing.
    if (answer.found || series->size() == 1 || options.all) answers.push_back(std::move(answer));
  }
  if (answers.empty() && options.format != "json")
    return print(printable(options.what) + ": nothing got worse or changed in the records that are kept (" +
                 count_of(series->size(), "figure") + ")\n");
  return show(options, views::history_since_document(answers), views::history_since_json(answers));
}

int prune(const HistoryOptions& options) {
  const auto age = parse_duration(options.older_than, "--older-than");
  if (!age) {
    (void)report_error(age.error());
    return kUsage;
  }
  auto store = open_store(options, Access::kWrite);
  if (!store) return report_error(store.error());
  const auto now = host::make_system_clock()->now();
  const std::string before =
      host::utc_text(now - std::chrono::seconds(static_cast<std::int64_t>(std::min(*age, 1e10))));
  auto removed = store->prune(before);
  if (!removed) return report_error(removed.error());
  return print(count_of(*removed, "record") + " removed; the newest of each subject stays\n");
}

void setup_show(CommandLine& history, const std::shared_ptr<HistoryOptions>& options, int& exit_code) {
  CommandLine show_command = history.subcommand("show", "Show the figures of one subject over time");
  show_command.option("what", options->what, "A subject, a port or pair, or the name of a figure")
      .type_name("SUBJECT")
      .required();
  show_command.option("--metric", options->metric, "Only this figure").type_name("NAME");
  add_store(show_command, *options);
  add_format(show_command, *options);
  show_command.callback([options, &exit_code] { exit_code = show_series(*options); });

  CommandLine since_command =
      history.subcommand("since", "Say between which two records something got worse");
  since_command.option("what", options->what, "A subject, a port or pair, or the name of a figure")
      .type_name("WHAT")
      .required();
  since_command.option("--metric", options->metric, "Only this figure").type_name("NAME");
  since_command.flag("--all", options->all, "Figures in which nothing changed, too");
  add_store(since_command, *options);
  add_format(since_command, *options);
  since_command.callback([options, &exit_code] { exit_code = since(*options); });
}

}  // namespace

void setup_history(CommandLine& app, int& exit_code) {
  CommandLine history = app.subcommand("history", "Keep results and say what changed, and since when");
  history.require_subcommand();
  const auto options = std::make_shared<HistoryOptions>();

  CommandLine add_command = history.subcommand("add", "Keep results");
  add_command
      .option("files", options->files, "JSON of angio rdma, fabric, mesh, bench …; - is standard input")
      .type_name("FILE…")
      .required();
  add_captured(add_command, *options);
  add_store(add_command, *options);
  add_command.callback([options, &exit_code] { exit_code = add(*options); });

  CommandLine list_command = history.subcommand("list", "List what is kept");
  list_command.flag("--all", options->all, "Each record with its number and environment");
  add_store(list_command, *options);
  add_format(list_command, *options);
  list_command.callback([options, &exit_code] { exit_code = list(*options); });

  setup_show(history, options, exit_code);
  setup_compare(history, options, exit_code);
  setup_baseline(history, options, exit_code);
  setup_transfer(history, options, exit_code);

  CommandLine prune_command = history.subcommand("prune", "Remove old records");
  prune_command.option("--older-than", options->older_than, "Age: 365d, 52w").type_name("TIME").required();
  add_store(prune_command, *options);
  prune_command.callback([options, &exit_code] { exit_code = prune(*options); });
}

}  // namespace angio::app
