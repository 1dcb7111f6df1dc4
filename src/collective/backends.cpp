#include "collective/backends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace angio::collective {
namespace {

using Words = std::vector<std::string>;

struct BackendFacts {
  Backend backend;
  std::string_view name;
  std::string_view program;
  std::string_view folder;   // below apps in a build
  std::string_view library;  // in words
  std::string_view package;  // of Debian, to build it
};
constexpr std::array<BackendFacts, 3> kBackends{
    {{Backend::kNccl, "nccl", "angio", "angio", "NCCL", ""},
     {Backend::kMpi, "mpi", "angio-mpi", "angio_mpi", "MPI", "libopenmpi-dev"},
     {Backend::kGloo, "gloo", "angio-gloo", "angio_gloo", "gloo", "libgloo-dev"}}};

const BackendFacts& facts_of(Backend backend) {
  return *std::ranges::find(kBackends, backend, &BackendFacts::backend);
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

// In the order of looking.
Words places_of(const BackendFacts& facts, const BackendPlaces& places) {
  const std::string beside = folder_of(places.angio);
  Words paths{
      fmt::format("{}/{}", beside, facts.program),
      fmt::format("{}/../{}/{}", beside, facts.folder, facts.program)};  // a build that is not installed
  for (const std::string_view folder : split(places.search_path, ':')) {
    // An empty entry of PATH is the folder where one stands: not looked at.
    if (folder.starts_with('/')) paths.push_back(fmt::format("{}/{}", folder, facts.program));
  }
  paths.push_back(fmt::format("{}/../libexec/angio/{}", beside, facts.program));
  return paths;
}

std::uint64_t ranks_of(const RankStart& start) {
  return std::uint64_t{start.where.nodes} * start.where.ranks_per_node;
}

// mpirun of Open MPI gives each rank a core of its own, and refuses when there are fewer.
bool is_crowded(const RankStart& start) {
  return start.cpus > 0 && start.where.nodes == 1 && start.where.ranks_per_node > start.cpus;
}

Words program_words(const RankStart& start) {
  Words words{start.program};
  append(words, start.words);
  return words;
}

// angio run --ranks N ... -- program words
Words local_words(const RankStart& start) {
  Words words{start.where.angio, "run", "--ranks", std::to_string(ranks_of(start))};
  append(words, start.where.run_options);
  words.emplace_back("--");
  append(words, program_words(start));
  return words;
}

Result<void> check(const RankStart& start) {
  if (start.program.empty()) return fail(ErrorCode::kBug, "no program for the ranks");
  if (start.launcher == RankLauncher::kHere && start.where.nodes > 1) {
    return fail(
        ErrorCode::kInvalidInput,
        fmt::format("ranks on {} nodes are started by srun or mpirun, not from here", start.where.nodes),
        "--with slurm or --with mpi");
  }
  return {};
}

Words mpirun_extras(const RankStart& start) {
  if (start.mpi != launch::MpiKind::kOpenMpi || !is_crowded(start)) return {};
  return {"--oversubscribe"};
}

Words mpirun_environment(const RankStart& start) {
  if (start.mpi != launch::MpiKind::kOpenMpi || !start.as_root) return {};
  return {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
}

// Ranks that are no MPI programs learn from angio run where they meet.
void add_rendezvous(launch::RemoteRequest& request) {
  const auto has = std::ranges::find(request.run_options, "--rendezvous") != request.run_options.end();
  if (!has) request.run_options.insert(request.run_options.begin(), "--rendezvous");
}

}  // namespace

Result<Backend> parse_backend(std::string_view word) {
  for (const BackendFacts& facts : kBackends) {
    if (word == facts.name) return facts.backend;
  }
  return fail(ErrorCode::kInvalidInput, fmt::format("\"{}\" is no back end", printable(word)),
              "nccl, mpi or gloo");
}

std::string_view label(Backend backend) {
  return facts_of(backend).name;
}

std::string_view program_name(Backend backend) {
  return facts_of(backend).program;
}

Result<std::string> find_program(Backend backend, const BackendPlaces& places) {
  if (backend == Backend::kNccl) return places.angio;
  const BackendFacts& facts = facts_of(backend);
  const Words paths = places_of(facts, places);
  const auto found = std::ranges::find_if(paths, places.is_program);
  if (found != paths.end()) return *found;
  return fail(
      ErrorCode::kNotFound,
      fmt::format("there is no {}, which {} needs: not in {}, not in PATH, not in {}/../libexec/angio",
                  facts.program, facts.library, folder_of(places.angio), folder_of(places.angio)),
      fmt::format("A build of angio makes it where {} is installed (apt install {}; ./dev build); its "
                  "packages hold it "
                  "then",
                  facts.library, facts.package));
}

Result<std::string> choose_srun_mpi(std::string_view list) {
  // "\tpmix\n\tpmix_v4\n\tpmi2\n\tcray_shasta\n\tnone", or "specific pmix plugin versions available:
  // pmix_v4".
  for (const std::string_view wanted : {"pmix", "pmi2"}) {
    for (const std::string_view line : split_lines(list)) {
      for (const std::string_view word : split_words(line))
        if (word == wanted || word == std::string(wanted) + ",") return std::string(wanted);
    }
  }
  return fail(ErrorCode::kUnsupported,
              "srun --mpi=list offers neither pmix nor pmi2: ranks of MPI would not find each other",
              "Start them by mpirun inside the allocation: --with mpi");
}

Result<RankCommandLine> rank_command_line(const RankStart& start, std::span<const std::string> environment) {
  if (auto checked = check(start); !checked) return std::unexpected(std::move(checked).error());
  if (start.launcher == RankLauncher::kHere && start.backend != Backend::kMpi)
    return RankCommandLine{local_words(start), {}};
  launch::RemoteRequest request = start.where;
  request.command = program_words(start);
  add_rendezvous(request);
  if (start.launcher == RankLauncher::kSrun) {
    if (start.backend == Backend::kMpi) {
      auto plugin = choose_srun_mpi(start.srun_mpi);
      if (!plugin) return std::unexpected(std::move(plugin).error());
      request.launcher_options.insert(request.launcher_options.begin(), "--mpi=" + *plugin);
    }
    auto words = launch::slurm_command(request, environment);
    if (!words) return std::unexpected(std::move(words).error());
    return RankCommandLine{std::move(*words), {}};
  }
  append(request.launcher_options, mpirun_extras(start));
  auto words = launch::mpi_command(request, start.mpi, environment);
  if (!words) return std::unexpected(std::move(words).error());
  return RankCommandLine{std::move(*words), mpirun_environment(start)};
}

}  // namespace angio::collective
