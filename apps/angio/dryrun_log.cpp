#include "dryrun_log.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace angio::app::dryrun {
namespace {

bool is_device(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return std::filesystem::is_other(status);
}

}  // namespace

RunLogs::RunLogs(std::string path, std::size_t runs)
    : path_(std::move(path)), runs_(runs), numbered_(runs > 1 && !is_device(path_)) {}

Result<void> RunLogs::check() const {
  if (path_.empty()) return {};
  for (std::size_t run = 0; run < (numbered_ ? runs_ : 1); ++run)
    if (auto writable = check_output(name(run)); !writable) return writable;
  return {};
}

void RunLogs::begin(std::size_t run) {
  if (path_.empty()) return;
  auto file = OutputFile::open(name(run));
  if (!file) return note(std::unexpected(std::move(file.error())));
  file_ = std::move(*file);
}

void RunLogs::feed(std::string_view lines) {
  if (!file_) return;
  auto written = file_->write(lines);
  if (written) return;
  note(std::move(written));
  file_.reset();
}

void RunLogs::finish() {
  if (!file_) return;
  note(file_->finish());
  file_.reset();
}

std::string RunLogs::name(std::size_t run) const {
  return numbered_ ? fmt::format("{}.{}", path_, run + 1) : path_;
}

void RunLogs::note(Result<void> result) {
  if (!result && !problem_) problem_ = std::move(result.error());
}

}  // namespace angio::app::dryrun
