#include "collective_installed.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "base/text.hpp"
#include "bench/child.hpp"
#include "host/clock.hpp"
#include "import/nccl_tests/nccl_tests.hpp"
#include "model/nccl_tests.hpp"

namespace angio::app {
namespace {

using collective::Wish;
using model::CollectiveRow;
using model::CollectiveRun;
using model::NcclCollective;
using Words = std::vector<std::string>;

Result<std::string> program_of(const std::string& place, NcclCollective collective) {
  const std::string name = std::string(collective::word_of(collective)) + "_perf";
  std::error_code error;
  const std::filesystem::path path(place);
  if (!std::filesystem::is_directory(path, error)) {
    if (path.filename() == name && access(place.c_str(), X_OK) == 0) return place;
    if (access(place.c_str(), X_OK) != 0)
      return fail(ErrorCode::kNotFound,
                  fmt::format("--use-nccl-tests {}: no such folder or program", printable(place)));
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--use-nccl-tests {} is not {}", printable(place), name),
                "give the folder, or --ops for this program");
  }
  for (const char* below : {"", "build", "bin"}) {
    std::string program = (path / below / name).string();
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return fail(ErrorCode::kNotFound, fmt::format("there is no {} in {}", name, printable(place)));
}

Words words_of(const std::string& program, NcclCollective collective, const Wish& wish, std::uint32_t gpus) {
  Words words{program, "-b", std::to_string(wish.least.value), "-e", std::to_string(wish.most.value)};
  const auto add = [&words](const char* option, const std::string& value) {
    words.emplace_back(option);
    words.push_back(value);
  };
  if (wish.step)
    add("-i", std::to_string(wish.step->value));
  else
    add("-f", std::to_string(wish.factor));
  add("-g", std::to_string(gpus));
  add("-n", std::to_string(wish.iterations));
  add("-w", std::to_string(wish.warm_up));
  add("-c", wish.check ? "1" : "0");
  add("-d", std::string(label(wish.element)));
  if (collective::reduces(collective)) add("-o", std::string(label(wish.reduction)));
  if (collective::has_root(collective)) add("-r", std::to_string(wish.root));
  return words;
}

void add_half(const model::NcclTestsTable& table, const model::NcclTestsRow& row,
              const std::optional<model::NcclTestsTiming>& half, bool in_place, const Wish& wish,
              CollectiveRun& run) {
  if (!half || (in_place ? !wish.in_place : !wish.out_of_place)) return;
  CollectiveRow one;
  one.collective = table.collective;
  one.size = row.size;
  one.count = row.count;
  one.type = row.type;
  one.reduction = row.reduction;
  one.in_place = in_place;
  if (row.root && *row.root >= 0) one.root = static_cast<std::uint32_t>(*row.root);
  one.warm_up = table.warmup.value_or(wish.warm_up);
  one.iterations = table.iterations.value_or(wish.iterations);
  one.time_us = half->time_us;
  one.algorithm = half->algorithm;
  one.bus = half->bus;
  one.wrong = half->wrong;
  run.rows.push_back(std::move(one));
}

void take(const model::NcclTestsTable& table, const Wish& wish, std::uint32_t gpus, CollectiveRun& run) {
  if (run.members.empty()) {
    for (const model::NcclTestsDevice& device : table.devices) {
      model::CollectiveRank rank;
      rank.rank = device.rank;
      rank.local_rank = device.device;
      rank.host = device.host;
      rank.pid = device.pid;
      rank.device = device.name;
      rank.address = device.address;
      run.members.push_back(std::move(rank));
    }
    run.ranks = table.devices.empty() ? gpus : model::ranks_of(table);
    run.nodes = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(model::hosts_of(table).size()));
    run.version = table.library_version.empty() ? table.version : table.library_version;
  }
  for (const model::NcclTestsRow& row : table.rows) {
    add_half(table, row, row.out_of_place, false, wish, run);
    add_half(table, row, row.in_place, true, wish, run);
  }
  for (const model::NcclTestsError& error : table.errors)
    run.notes.push_back("nccl-tests says: " + error.text);
}

Result<void> run_one(const std::string& place, NcclCollective collective, const Wish& wish,
                     std::uint32_t gpus, const bench::Interrupts& interrupts, CollectiveRun& run) {
  auto program = program_of(place, collective);
  if (!program) return std::unexpected(std::move(program.error()));
  auto ended = bench::run_child(words_of(*program, collective, wish, gpus), interrupts);
  if (!ended) return std::unexpected(std::move(ended.error()));
  import::nccl_tests::TableReader reader(0);
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(ended->output))
    reader.read(++number, line);
  const auto tables = reader.take();
  run.library = *program;
  run.interrupted = run.interrupted || ended->interrupted;
  bool has_rows = false;
  for (const model::NcclTestsTable& table : tables) {
    has_rows = has_rows || !table.rows.empty();
    take(table, wish, gpus, run);
  }
  if (has_rows) return {};
  const std::string last = printable(trim(ended->errors.empty() ? ended->output : ended->errors));
  return fail(ErrorCode::kIo, fmt::format("{} ended with exit code {} and no table{}", printable(*program),
                                          ended->exit_code, last.empty() ? "" : ": " + last));
}

}  // namespace

Result<CollectiveRun> run_nccl_tests(const std::string& place, const Wish& wish, std::uint32_t gpus,
                                     const bench::Interrupts& interrupts) {
  CollectiveRun run;
  run.backend = "nccl-tests";
  run.started = host::utc_text(std::chrono::system_clock::now());
  for (const NcclCollective collective : wish.collectives) {
    if (auto done = run_one(place, collective, wish, gpus, interrupts, run); !done)
      return std::unexpected(std::move(done.error()));
    if (run.interrupted) break;
  }
  return run;
}

}  // namespace angio::app
