// Which rank this process is on this machine, from the variables that launchers set: torchrun, accelerate,
// DeepSpeed, Ray, Slurm, Open MPI, MPICH and Intel MPI, MVAPICH2, PALS, Flux, JSM. Pure: entries in, rank
// out. Not a global rank taken for a local one (PMI_RANK and PMIX_RANK count over all machines), and no
// guess: variables that contradict each other are an error that names both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace angio::launch {

struct LocalRank {
  std::uint32_t rank = 0;              // among the ranks on this machine
  std::optional<std::uint32_t> count;  // of ranks on this machine, if the launcher tells
  std::optional<std::uint32_t> global_rank;
  std::optional<std::uint32_t> global_count;
  std::string origin;  // "LOCAL_RANK and LOCAL_WORLD_SIZE", "--rank"
};

// What the user said; it goes before every variable.
struct GivenRank {
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> count;
};

// environment: "NAME=value" entries. No variable at all is kNotFound; a word that is no number, a rank that
// is not below its count and variables that disagree are kInvalidInput.
Result<LocalRank> find_local_rank(const GivenRank& given, std::span<const std::string> environment);

// True when a launcher says that this process is one rank of its job.
bool has_local_rank(std::span<const std::string> environment);

// The names that are looked for, in their order.
std::vector<std::string_view> rank_variables();

// Slurm's "4(x2),3" at index 2 is 3; none beyond the end and for text of another form.
std::optional<std::uint32_t> tasks_on_node(std::string_view text, std::uint32_t index);

}  // namespace angio::launch
