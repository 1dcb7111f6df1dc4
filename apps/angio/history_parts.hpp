// What the subcommands of angio history share: options, the store, and reading a result. Only for
// history_*.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "history/store.hpp"
#include "options.hpp"
#include "report/document.hpp"

namespace angio::app {

struct HistoryOptions {
  std::string store;
  std::string format = "text";
  std::vector<std::string> files;
  std::string file;
  std::string what;
  std::string name;
  std::string metric;
  std::string captured;
  std::uint32_t last = 30;
  bool all = false;
  bool add = false;
  bool any_environment = false;
  std::string baseline;
  std::string fail_on;
  std::string older_than;
  std::string out = "-";
};

namespace history_parts {

Result<history::Record> read_record(const std::string& path, const std::string& captured);
// XDG Base Directory Specification: state that is kept between runs.
Result<std::string> store_path(const HistoryOptions& options);
Result<history::Store> open_store(const HistoryOptions& options, history::Access access);
int show(const HistoryOptions& options, const report::Document& document, const Json& json);
std::string described(const history::Record& record);

void add_store(CommandLine& command, HistoryOptions& options);
void add_format(CommandLine& command, HistoryOptions& options);
void add_captured(CommandLine& command, HistoryOptions& options);

void setup_compare(CommandLine& history, const std::shared_ptr<HistoryOptions>& options, int& exit_code);
void setup_baseline(CommandLine& history, const std::shared_ptr<HistoryOptions>& options, int& exit_code);
void setup_transfer(CommandLine& history, const std::shared_ptr<HistoryOptions>& options, int& exit_code);

}  // namespace history_parts
}  // namespace angio::app
