#include "launch/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "host/system_roots.hpp"

namespace angio::launch {
namespace {

using Entries = std::span<const std::string>;
using Number = std::optional<std::uint32_t>;

// One launcher's names. The inner launcher comes before the one that may have started it.
struct Family {
  const char* rank;
  const char* count;  // null: tells none
  const char* global_rank;
  const char* global_count;
};

constexpr std::array kFamilies{
    // torch/distributed/elastic: torchrun; accelerate, DeepSpeed and Ray Train set the same
    Family{"LOCAL_RANK", "LOCAL_WORLD_SIZE", "RANK", "WORLD_SIZE"},
    // Open MPI and PRRTE
    Family{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK",
           "OMPI_COMM_WORLD_SIZE"},
    // MPICH's hydra and Intel MPI
    Family{"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_RANK", "PMI_SIZE"},
    Family{"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_RANK",
           "MV2_COMM_WORLD_SIZE"},
    // HPE: PALS and the PMI of Cray MPICH
    Family{"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", "PALS_RANKID", nullptr},
    Family{"PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE"},
    // IBM's jsrun
    Family{"JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE", "JSM_NAMESPACE_RANK",
           "JSM_NAMESPACE_SIZE"},
    Family{"FLUX_TASK_LOCAL_ID", nullptr, "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    Family{"SLURM_LOCALID", nullptr, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

std::unexpected<Error> no_number(std::string_view name, std::string_view value) {
  return fail(ErrorCode::kInvalidInput,
              fmt::format("{}=\"{}\" is not a number from 0 on", name, printable(value)),
              "unset it, or say the local rank: --rank N");
}

// An empty value is a value: it is no number, and that is said.
Result<Number> number_in(Entries environment, const char* name) {
  const auto text = name == nullptr ? std::nullopt : host::find_set_variable(environment, name);
  if (!text) return std::nullopt;
  const auto number = parse_integer<std::uint32_t>(*text);
  if (!number) return no_number(name, *text);
  return number;
}

// Slurm also sets SLURM_LOCALID=0 in a batch script, which is not a task of a step.
bool is_in_effect(const Family& family, Entries environment) {
  if (!host::find_set_variable(environment, family.rank)) return false;
  if (std::string_view(family.rank) != "SLURM_LOCALID") return true;
  return host::find_set_variable(environment, "SLURM_STEP_ID") ||
         host::find_set_variable(environment, "SLURM_STEPID");
}

// What a rank and its number of ranks were read from.
struct Counted {
  Number count;
  std::string name;  // empty without a count
};

Result<Counted> slurm_count(Entries environment) {
  const Result<Number> node = number_in(environment, "SLURM_NODEID");
  if (!node) return std::unexpected(node.error());
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    const auto text = host::find_set_variable(environment, name);
    if (!text) continue;
    const Number count = tasks_on_node(*text, node->value_or(0));
    if (count) return Counted{count, name};
  }
  return Counted{};
}

// Flux tells no number of tasks here; on one machine it is the job's.
Result<Counted> flux_count(Entries environment) {
  const Result<Number> machines = number_in(environment, "FLUX_JOB_NNODES");
  if (!machines) return std::unexpected(machines.error());
  if (*machines != 1U) return Counted{};
  const Result<Number> count = number_in(environment, "FLUX_JOB_SIZE");
  if (!count) return std::unexpected(count.error());
  return Counted{*count, *count ? "FLUX_JOB_SIZE" : ""};
}

// DeepSpeed's launcher says LOCAL_SIZE where torchrun says LOCAL_WORLD_SIZE.
Result<Counted> torch_count(Entries environment) {
  const Result<Number> count = number_in(environment, "LOCAL_SIZE");
  if (!count) return std::unexpected(count.error());
  return Counted{*count, *count ? "LOCAL_SIZE" : ""};
}

Result<Counted> count_of_ranks(const Family& family, Entries environment) {
  const std::string_view rank = family.rank;
  if (rank == "SLURM_LOCALID") return slurm_count(environment);
  if (rank == "FLUX_TASK_LOCAL_ID") return flux_count(environment);
  if (rank == "LOCAL_RANK" && !host::find_set_variable(environment, family.count))
    return torch_count(environment);
  const Result<Number> count = number_in(environment, family.count);
  if (!count) return std::unexpected(count.error());
  return Counted{*count, *count ? family.count : ""};
}

struct Reading {
  LocalRank rank;
  std::string_view rank_name;
  std::string count_name;
};

std::optional<Error> check_bounds(const Reading& reading) {
  const LocalRank& rank = reading.rank;
  if (!rank.count || rank.rank < *rank.count) return std::nullopt;
  return Error{
      ErrorCode::kInvalidInput,
      fmt::format("{}={} is not below {}={}", reading.rank_name, rank.rank, reading.count_name, *rank.count),
      "local ranks count from 0; one of the two is left over from another launcher"};
}

Result<Reading> read_family(const Family& family, Entries environment) {
  Reading reading;
  reading.rank_name = family.rank;
  const Result<Number> rank = number_in(environment, family.rank);
  if (!rank) return std::unexpected(rank.error());
  Result<Counted> counted = count_of_ranks(family, environment);
  if (!counted) return std::unexpected(std::move(counted).error());
  reading.count_name = counted->name;
  std::string origin = family.rank;
  if (!counted->name.empty()) origin.append(" and ").append(counted->name);
  // The ranks over all machines are only shown; they decide nothing and so cannot be wrong.
  reading.rank = {rank->value_or(0), counted->count,
                  number_in(environment, family.global_rank).value_or(Number{}),
                  number_in(environment, family.global_count).value_or(Number{}), std::move(origin)};
  if (auto wrong = check_bounds(reading)) return std::unexpected(*std::move(wrong));
  return reading;
}

// A launcher that started one process on this machine, which was another launcher, contradicts nothing:
// `srun --ntasks-per-node=1 torchrun`, mpirun's daemon below srun.
bool may_be_outer(const LocalRank& rank) {
  return rank.rank == 0 && rank.count == 1U;
}

std::optional<Error> check_agreement(const Reading& chosen, const Reading& other) {
  const auto differs = [](const std::string_view first, std::uint32_t one, std::string_view second,
                          std::uint32_t two) {
    return Error{
        ErrorCode::kInvalidInput, fmt::format("{}={} but {}={}", first, one, second, two),
        "two launchers claim this process: unset what is left over, or say the local rank: --rank N"};
  };
  if (may_be_outer(other.rank)) return std::nullopt;
  if (chosen.rank.rank != other.rank.rank)
    return differs(chosen.rank_name, chosen.rank.rank, other.rank_name, other.rank.rank);
  if (chosen.rank.count && other.rank.count && *chosen.rank.count != *other.rank.count)
    return differs(chosen.count_name, *chosen.rank.count, other.count_name, *other.rank.count);
  return std::nullopt;
}

Result<LocalRank> from_options(const GivenRank& given) {
  if (given.count && *given.rank >= *given.count) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--rank {} is not below --ranks {}", *given.rank, *given.count),
                "local ranks count from 0");
  }
  return LocalRank{*given.rank, given.count, {}, {}, given.count ? "--rank and --ranks" : "--rank"};
}

std::unexpected<Error> nothing_found() {
  std::string names;
  for (const std::string_view name : rank_variables())
    names.append(names.empty() ? "" : ", ").append(name);
  return fail(ErrorCode::kNotFound, "no variable says which local rank this is; looked for " + names,
              "start it by a launcher, or say --rank 0 --ranks 1 for a single process");
}

}  // namespace

std::vector<std::string_view> rank_variables() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies)
    names.emplace_back(family.rank);
  return names;
}

bool has_local_rank(Entries environment) {
  return std::ranges::any_of(kFamilies,
                             [&](const Family& family) { return is_in_effect(family, environment); });
}

Result<LocalRank> find_local_rank(const GivenRank& given, Entries environment) {
  if (given.rank) return from_options(given);
  std::optional<Reading> chosen;
  for (const Family& family : kFamilies) {
    if (!is_in_effect(family, environment)) continue;
    Result<Reading> reading = read_family(family, environment);
    if (!reading) return std::unexpected(std::move(reading).error());
    if (!chosen) {
      chosen = *std::move(reading);
    } else if (auto wrong = check_agreement(*chosen, *reading)) {
      return std::unexpected(*std::move(wrong));
    } else if (!chosen->rank.count && chosen->rank.rank == reading->rank.rank &&
               !may_be_outer(reading->rank)) {
      chosen->rank.count = reading->rank.count;  // the same ranks, and this launcher tells how many
      chosen->count_name = reading->count_name;
    }
  }
  if (!chosen) return nothing_found();
  if (given.count) chosen->rank.count = given.count;
  if (given.count) chosen->count_name = "--ranks";
  if (auto wrong = check_bounds(*chosen)) return std::unexpected(*std::move(wrong));
  return std::move(chosen->rank);
}

std::optional<std::uint32_t> tasks_on_node(std::string_view text, std::uint32_t index) {
  std::uint64_t passed = 0;
  for (std::string_view part : split(text, ',')) {
    std::uint32_t repeat = 1;
    if (const std::size_t open = part.find("(x"); open != std::string_view::npos) {
      if (!part.ends_with(')')) return std::nullopt;
      const auto times = parse_integer<std::uint32_t>(part.substr(open + 2, part.size() - open - 3));
      if (!times) return std::nullopt;
      repeat = *times;
      part = part.substr(0, open);
    }
    const auto count = parse_integer<std::uint32_t>(part);
    if (!count) return std::nullopt;
    passed += repeat;
    if (index < passed) return count;
  }
  return std::nullopt;
}

}  // namespace angio::launch
