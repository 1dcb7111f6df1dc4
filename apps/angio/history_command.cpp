#include "history_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "duration_option.hpp"
#include "history/drift.hpp"
#include "history/store.hpp"
#include "host/clock.hpp"
#include "host/system_roots.hpp"
#include "options.hpp"
#include "views/history_view.hpp"

namespace angio::app {
namespace {

using history::Access;
using history::Record;
using history::Store;

struct Options {
  std::string store;
  std::string format = "text";
  std::vector<std::string> files;
  std::string file;
  std::string what;
  std::string metric;
  std::string captured;
  std::uint32_t last = 30;
  bool all = false;
  bool add = false;
  std::string fail_on;
  std::string older_than;
};

std::string name_of(const std::string& path) {
  return path == "-" ? "standard input" : printable(path);
}

Result<Record> read_record(const std::string& path, const std::string& captured) {
  auto content = read_input(path);
  if (!content) return std::unexpected(std::move(content.error()));
  return history::parse_record(*content, name_of(path), captured);
}

// XDG Base Directory Specification: state that is kept between runs.
Result<std::string> store_path(const Options& options) {
  if (!options.store.empty()) return options.store;
  const std::vector<std::string> environment = host::read_environment();
  std::string folder = host::find_variable(environment, "XDG_STATE_HOME");
  if (folder.empty() || folder[0] != '/') {
    const std::string home = host::find_variable(environment, "HOME");
    if (home.empty())
      return fail(ErrorCode::kNotFound, "neither XDG_STATE_HOME nor HOME says where the history is",
                  "Name it: --store FILE");
    folder = home + "/.local/state";
  }
  return folder + "/angio/history.db";
}

Result<Store> open_store(const Options& options, Access access) {
  auto path = store_path(options);
  if (!path) return std::unexpected(std::move(path.error()));
  std::error_code error;
  const bool there = std::filesystem::exists(*path, error);
  if (!there && access == Access::kRead)
    return fail(ErrorCode::kNotFound, printable(*path) + ": there is no history yet",
                "angio history add FILE makes it");
  if (std::filesystem::is_directory(*path, error))
    return fail(ErrorCode::kInvalidInput, printable(*path) + ": is a directory, expected a file",
                "for example " + printable(*path) + "/history.db");
  if (!there && options.store.empty()) {
    std::filesystem::create_directories(std::filesystem::path(*path).parent_path(), error);
    if (error)
      return fail(ErrorCode::kIo, printable(*path) + ": cannot make its folder: " + error.message(),
                  "--store names another place");
  }
  return Store::open(*path, access);
}

std::string described(const Record& record) {
  return printable(record.subject) + " " + printable(record.schema) + " " + printable(record.captured);
}

int show(const Options& options, const report::Document& document, const Json& json) {
  if (options.format == "json") return print(to_text(json) + "\n");
  return print(report::render_terminal(document, terminal_style()));
}

// Each file on its own: one that cannot be kept must not cost the others.
int add(const Options& options) {
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

int list(const Options& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  auto entries = store->list();
  if (!entries) return report_error(entries.error());
  return show(options, views::history_list_document(*entries, store_path(options).value_or("")),
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

Result<std::vector<history::Series>> chosen_series(const Store& store, const Options& options) {
  auto series = find_series(store, options.what);
  if (!series || options.metric.empty()) return series;
  std::erase_if(*series, [&](const history::Series& one) { return one.name != options.metric; });
  if (series->empty())
    return fail(ErrorCode::kNotFound, printable(options.what) + " has no figure " + printable(options.metric),
                "angio history show " + printable(options.what) + " lists them");
  return series;
}

int show_series(const Options& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  auto series = chosen_series(*store, options);
  if (!series) return report_error(series.error());
  return show(options, views::history_series_document(*series), views::history_series_json(*series));
}

bool fails(const history::Comparison& comparison, const std::string& fail_on) {
  return std::ranges::any_of(comparison.changes, [&](const history::Change& change) {
    const bool worse = change.judgement == history::Judgement::kWorse ||
                       change.judgement == history::Judgement::kGone ||
                       change.judgement == history::Judgement::kChanged;
    return !fail_on.empty() &&
           (worse || (fail_on == "grew" && change.judgement == history::Judgement::kGrew));
  });
}

int compare(const Options& options) {
  auto record = read_record(options.file, options.captured);
  if (!record) return report_error(record.error());
  auto store = open_store(options, options.add ? Access::kWrite : Access::kRead);
  if (!store) return report_error(store.error());
  auto past = store->records(record->schema, record->subject, record->captured, options.last);
  if (!past) return report_error(past.error());
  const auto times = store->times(record->schema, record->subject);
  if (!times) return report_error(times.error());
  history::Comparison comparison = history::compare(*record, *past);
  comparison.later = static_cast<std::uint32_t>(
      std::ranges::count_if(*times, [&](const std::string& time) { return time > record->captured; }));
  if (options.add) {
    if (auto added = store->add(*record); !added) return report_error(added.error());
  }
  const int shown = show(options, views::history_compare_document(comparison, options.all),
                         views::history_compare_json(comparison));
  if (shown != kOk) return shown;
  return fails(comparison, options.fail_on) ? kFindings : kOk;
}

int since(const Options& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  auto series = chosen_series(*store, options);
  if (!series) return report_error(series.error());
  std::vector<history::Since> answers;
  for (const history::Series& one : *series) {
    auto times = store->times(one.schema, one.owner);
    if (!times) return report_error(times.error());
    history::Since answer = history::since_when(one, *times);
    // Of everything that is kept about a subject, what never changed says nothing.
    if (answer.found || series->size() == 1 || options.all) answers.push_back(std::move(answer));
  }
  if (answers.empty() && options.format != "json")
    return print(printable(options.what) + ": nothing got worse or changed in the records that are kept (" +
                 count_of(series->size(), "figure") + ")\n");
  return show(options, views::history_since_document(answers), views::history_since_json(answers));
}

int prune(const Options& options) {
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

void add_store(CommandLine& command, Options& options) {
  command.option("--store", options.store, "Where the history is ($XDG_STATE_HOME/angio/history.db)")
      .type_name("FILE");
}
void add_format(CommandLine& command, Options& options) {
  command.option("--format", options.format, "How to show it").one_of({"text", "json"});
}
void add_captured(CommandLine& command, Options& options) {
  command.option("--captured", options.captured, "When a result was made that does not say it")
      .type_name("TIME");
}

void setup_show(CommandLine& history, const std::shared_ptr<Options>& options, int& exit_code) {
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

void setup_compare(CommandLine& history, const std::shared_ptr<Options>& options, int& exit_code) {
  CommandLine command =
      history.subcommand("compare", "Hold a result against the earlier ones of its subject");
  command.option("file", options->file, "JSON of angio rdma, fabric or mesh; - is standard input")
      .type_name("FILE")
      .required();
  command.option("--last", options->last, "Against so many earlier records (30)")
      .type_name("N")
      .range(1, 1000);
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

}  // namespace

void setup_history(CommandLine& app, int& exit_code) {
  CommandLine history = app.subcommand("history", "Keep results and say what changed, and since when");
  history.require_subcommand();
  const auto options = std::make_shared<Options>();

  CommandLine add_command = history.subcommand("add", "Keep results");
  add_command.option("files", options->files, "JSON of angio rdma, fabric or mesh; - is standard input")
      .type_name("FILE…")
      .required();
  add_captured(add_command, *options);
  add_store(add_command, *options);
  add_command.callback([options, &exit_code] { exit_code = add(*options); });

  CommandLine list_command = history.subcommand("list", "List what is kept");
  add_store(list_command, *options);
  add_format(list_command, *options);
  list_command.callback([options, &exit_code] { exit_code = list(*options); });

  setup_show(history, options, exit_code);
  setup_compare(history, options, exit_code);

  CommandLine prune_command = history.subcommand("prune", "Remove old records");
  prune_command.option("--older-than", options->older_than, "Age: 365d, 52w").type_name("TIME").required();
  add_store(prune_command, *options);
  prune_command.callback([options, &exit_code] { exit_code = prune(*options); });
}

}  // namespace angio::app
