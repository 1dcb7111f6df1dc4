#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "history_parts.hpp"
#include "views/history_view.hpp"

namespace angio::app::history_parts {

using history::Access;
using history::Record;
using history::Store;

namespace {

int export_all(const HistoryOptions& options) {
  auto store = open_store(options, Access::kRead);
  if (!store) return report_error(store.error());
  const auto records = store->all();
  if (!records) return report_error(records.error());
  const auto baselines = store->baselines();
  if (!baselines) return report_error(baselines.error());
  const std::string text = options.format == "csv"
                               ? views::history_export_csv(*records)
                               : to_text(views::history_export_json(*records, *baselines)) + "\n";
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  return kOk;
}

// A name that is there already stays with its record.
Result<std::uint32_t> import_baselines(Store& store, const history::Export& content) {
  const auto present = store.baselines();
  if (!present) return std::unexpected(present.error());
  std::uint32_t set = 0;
  for (const auto& [name, id] : content.baselines) {
    const auto record = std::ranges::find(content.records, id, &Record::id);
    if (record == content.records.end() ||
        std::ranges::find(*present, name, &history::Baseline::name) != present->end())
      continue;
    const auto kept = store.find_same(*record);
    if (!kept) return std::unexpected(kept.error());
    if (!*kept) continue;
    if (auto done = store.set_baseline(name, (*kept)->id); !done)
      return std::unexpected(std::move(done.error()));
    ++set;
  }
  return set;
}

int import_all(const HistoryOptions& options) {
  auto content = read_input(options.file);
  if (!content) return report_error(content.error());
  auto parsed =
      history::parse_export(*content, options.file == "-" ? "standard input" : printable(options.file));
  if (!parsed) return report_error(parsed.error());
  auto store = open_store(options, Access::kWrite);
  if (!store) return report_error(store.error());
  const auto fresh = store->add_all(parsed->records);
  if (!fresh) return report_error(fresh.error());
  const auto baselines = import_baselines(*store, *parsed);
  if (!baselines) return report_error(baselines.error());
  return print(count_of(*fresh, "record") + " added, " + std::to_string(parsed->records.size() - *fresh) +
               " already there" + (*baselines > 0 ? ", " + count_of(*baselines, "baseline") + " set" : "") +
               "\n");
}

}  // namespace

void setup_transfer(CommandLine& history, const std::shared_ptr<HistoryOptions>& options, int& exit_code) {
  CommandLine export_command = history.subcommand("export", "Write everything that is kept");
  export_command
      .option("--format", options->format, "json can be imported again; csv has a row for each figure")
      .one_of({"json", "csv"});
  export_command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  add_store(export_command, *options);
  export_command.callback([options, &exit_code] { exit_code = export_all(*options); });

  CommandLine import_command =
      history.subcommand("import", "Add what another history exported, all or nothing");
  import_command.option("file", options->file, "JSON of angio history export; - is standard input")
      .type_name("FILE")
      .required();
  add_store(import_command, *options);
  import_command.callback([options, &exit_code] { exit_code = import_all(*options); });
}

}  // namespace angio::app::history_parts
