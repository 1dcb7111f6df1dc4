#include "collective_start.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include "base/text.hpp"
#include "bench/child.hpp"
#include "collective/run_json.hpp"
#include "collective/worker.hpp"
#include "collective_rank.hpp"
#include "host/root.hpp"
#include "host/system_roots.hpp"
#include "launch/affinity.hpp"
#include "launch/rank.hpp"
#include "nccl_run/shared_folder.hpp"

namespace angio::app {
namespace {

using collective::Backend;
using collective::RankLauncher;
using Words = std::vector<std::string>;

constexpr double kGrace = 60;  // s: a row of large sizes is finished before a rank stops

bool is_program(const std::string& path) {
  return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
}

Result<std::string> ask(const Words& argv, const bench::Interrupts& interrupts) {
  auto asked = bench::run_child(argv, interrupts);
  if (!asked) return std::unexpected(std::move(asked.error()));
  return asked->output + asked->errors;
}

Result<collective::RankStart> rank_start(const CollectiveStart& start, Backend backend,
                                         const std::string& program, const bench::Interrupts& interrupts) {
  collective::RankStart ranks;
  ranks.backend = backend;
  ranks.program = program;
  ranks.words = {"collective-rank", to_text(collective::to_json(start.wish), -1)};
  ranks.launcher = start.with == "slurm" ? RankLauncher::kSrun
                   : start.with == "mpi" ? RankLauncher::kMpirun
                                         : RankLauncher::kHere;
  ranks.where.nodes = start.nodes;
  ranks.where.ranks_per_node = start.ranks;
  ranks.where.angio = own_program_path();
  ranks.where.run_options = start.run_options;
  ranks.where.launcher_options = start.launcher_options;
  ranks.where.label_output = false;
  if (start.hostfile) {
    auto text = host::open_directory_root("/");
    if (!text) return std::unexpected(text.error());
    const auto read = (*text)->read(std::filesystem::absolute(*start.hostfile).string());
    if (!read) return fail(ErrorCode::kNotFound, printable(*start.hostfile) + ": cannot be read");
    ranks.where.hostfile = start.hostfile;
    ranks.where.hostfile_text = *read;
  }
  if (const auto cpus = launch::read_affinity()) ranks.cpus = static_cast<std::uint32_t>(cpus->size());
  ranks.as_root = geteuid() == 0;
  const bool by_mpirun = ranks.launcher == RankLauncher::kMpirun ||
                         (ranks.launcher == RankLauncher::kHere && backend == Backend::kMpi);
  if (by_mpirun) {
    auto version = ask({"mpirun", "--version"}, interrupts);
    if (!version) return std::unexpected(std::move(version.error()));
    auto kind = launch::recognise_mpirun(*version);
    if (!kind) return std::unexpected(std::move(kind.error()));
    ranks.mpi = *kind;
  }
  if (ranks.launcher == RankLauncher::kSrun && backend == Backend::kMpi) {
    auto list = ask({"srun", "--mpi=list"}, interrupts);
    if (!list) return std::unexpected(std::move(list.error()));
    ranks.srun_mpi = std::move(*list);
  }
  // Labels would stand before the result.
  if (ranks.launcher == RankLauncher::kHere && backend != Backend::kMpi) {
    ranks.where.run_options.emplace_back("--output");
    ranks.where.run_options.emplace_back("raw");
  }
  return ranks;
}

std::string unix_time_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{:.6f}", std::chrono::duration<double>(now).count());
}

void add_variables(const CollectiveStart& start, const std::string& folder, Words& environment) {
  // Below a launcher each rank says itself when it began: this process did not start the others.
  if (!start.inside) environment.push_back(std::string(collective::kBeganVariable) + "=" + unix_time_text());
  if (start.watched) environment.push_back(std::string(kProgressVariable) + "=1");
  if (start.phantom.empty()) return;
  environment.push_back(std::string(kPhantomVariable) + "=" + start.phantom);
  environment.push_back(std::string(kPhantomSharedVariable) + "=" + folder);
}

// Hands on what ranks say about their progress, keeps the rest.
class ErrorLines {
 public:
  explicit ErrorLines(const std::function<void(const std::string&)>& progress) : progress_(progress) {}

  void take(std::string_view piece) {
    rest_ += piece;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      line(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
  }
  [[nodiscard]] std::string words() {
    if (!rest_.empty()) line(std::exchange(rest_, ""));
    return join(lines_, "\n");
  }

 private:
  void line(const std::string& text) {
    const std::string_view mark = kProgressMark;
    if (text.starts_with(mark)) {
      if (progress_) progress_(text.substr(mark.size()));
      return;
    }
    // Every rank says the same; a hint stands below its line.
    constexpr std::size_t kMost = 200;
    if (trim(text).empty() || text.starts_with("NCCL version ")) return;  // the run says it
    if (!seen_.insert(text).second) return;
    lines_.push_back(printable(text));
    if (lines_.size() > kMost) lines_.erase(lines_.begin());
  }

  const std::function<void(const std::string&)>& progress_;
  std::string rest_;
  std::vector<std::string> lines_;
  std::set<std::string> seen_;
};

Result<std::optional<model::CollectiveRun>> find_result(const std::string& output) {
  for (const std::string_view line : split_lines(output)) {
    const std::size_t mark = line.find(collective::kResultMark);
    if (mark == std::string_view::npos) continue;
    auto run = collective::parse_run(line.substr(mark + std::string_view(collective::kResultMark).size()));
    if (!run) return std::unexpected(std::move(run.error()).with_context("the result of rank 0"));
    return std::move(*run);
  }
  return std::nullopt;
}

std::unexpected<Error> failed(Backend backend, const bench::ChildOutcome& ended, const std::string& words) {
  std::string text = fmt::format("the ranks of {} ended with exit code {} and no result",
                                 collective::label(backend), ended.exit_code);
  if (!words.empty()) text += ":\n" + words;
  return fail(ErrorCode::kIo, std::move(text));
}

}  // namespace

std::string own_program_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "angio" : path.string();
}

bool is_rank_of_launcher(const std::vector<std::string>& environment) {
  if (!launch::has_local_rank(environment)) return false;
  const auto rank = launch::find_local_rank({}, environment);
  if (!rank) return true;  // the words come from the rank itself
  const bool alone = rank->global_count.value_or(1) == 1 && rank->count == 1U;
  return !alone;
}

Result<CollectiveOutcome> run_backend(const CollectiveStart& start, Backend backend,
                                      const bench::Interrupts& interrupts,
                                      const std::function<void(const std::string& what)>& progress) {
  Words environment = host::read_environment();
  const auto program = collective::find_program(
      backend, {own_program_path(), host::find_variable(environment, "PATH"), is_program});
  if (!program) return std::unexpected(program.error());
  bench::ChildWish wish;
  wish.argv = {*program, "collective-rank", to_text(collective::to_json(start.wish), -1)};
  nccl_run::SharedFolder folder;
  if (!start.phantom.empty()) {
    const auto root = host::open_directory_root("/");
    if (!root) return std::unexpected(root.error());
    auto made = nccl_run::SharedFolder::make(**root);
    if (!made) return std::unexpected(std::move(made.error()));
    folder = std::move(*made);
  }
  if (!start.inside) {
    auto ranks = rank_start(start, backend, *program, interrupts);
    if (!ranks) return std::unexpected(std::move(ranks.error()));
    auto line = collective::rank_command_line(*ranks, environment);
    if (!line) return std::unexpected(std::move(line.error()));
    wish.argv = std::move(line->argv);
    environment.insert(environment.end(), line->environment.begin(), line->environment.end());
  }
  add_variables(start, folder.path(), environment);
  wish.environment = std::move(environment);
  wish.grace_seconds = kGrace;
  ErrorLines lines(progress);
  wish.hear_errors = [&lines](std::string_view piece) { lines.take(piece); };
  auto ended = bench::run_child(wish, interrupts);
  if (!ended) return std::unexpected(std::move(ended.error()));
  auto run = find_result(ended->output);
  // mpirun ends with what ranks print half handed on.
  if (ended->interrupted && (!run || (!*run && !start.inside)))
    return fail(ErrorCode::kIo, fmt::format("{}: stopped before rank 0 had told what it measured",
                                            collective::label(backend)));
  if (!run) return std::unexpected(std::move(run.error()));
  CollectiveOutcome outcome;
  outcome.said = lines.words();
  if (ended->interrupted) outcome.signal = interrupts.pending();
  const bool is_first = !start.inside || *run;
  if (!*run && (ended->exit_code != 0 || is_first)) return failed(backend, *ended, outcome.said);
  outcome.run = std::move(*run);
  return outcome;
}

}  // namespace angio::app
