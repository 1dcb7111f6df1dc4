#include "history_parts.hpp"

#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"

namespace angio::app::history_parts {

using history::Access;
using history::Record;
using history::Store;

Result<Record> read_record(const std::string& path, const std::string& captured) {
  auto content = read_input(path);
  if (!content) return std::unexpected(std::move(content.error()));
  return history::parse_record(*content, path == "-" ? "standard input" : printable(path), captured);
}

Result<std::string> store_path(const HistoryOptions& options) {
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

Result<Store> open_store(const HistoryOptions& options, Access access) {
  auto path = store_path(options);
  if (!path) return std::unexpected(std::move(path.error()));
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(*path, error);
  // A folder that may not be entered hides the file: that is not "no history yet".
  if (status.type() == std::filesystem::file_type::none)
    return fail(error == std::errc::permission_denied ? ErrorCode::kDenied : ErrorCode::kIo,
                printable(*path) + ": " + error.message(),
                error == std::errc::permission_denied ? "A folder above it may not be entered" : "");
  const bool there = std::filesystem::exists(status);
  if (!there && access == Access::kRead)
    return fail(ErrorCode::kNotFound, printable(*path) + ": there is no history yet",
                "angio history add FILE makes it");
  if (std::filesystem::is_directory(status))
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

int show(const HistoryOptions& options, const report::Document& document, const Json& json) {
  if (options.format == "json") return print(to_text(json) + "\n");
  return print(report::render_terminal(document, terminal_style()));
}

void add_store(CommandLine& command, HistoryOptions& options) {
  command.option("--store", options.store, "Where the history is ($XDG_STATE_HOME/angio/history.db)")
      .type_name("FILE");
}
void add_format(CommandLine& command, HistoryOptions& options) {
  command.option("--format", options.format, "How to show it").one_of({"text", "json"});
}
void add_captured(CommandLine& command, HistoryOptions& options) {
  command.option("--captured", options.captured, "When a result was made that does not say it")
      .type_name("TIME");
}

}  // namespace angio::app::history_parts
