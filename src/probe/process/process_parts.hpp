// Parsers of /proc/<pid> files for the process probe and its tests.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.hpp"
#include "model/software.hpp"

namespace angio::probe::process {

// The value behind "Cpus_allowed_list:" and its kin in a status file.
std::optional<std::string_view> status_field(std::string_view status, std::string_view key);
// The answer points into the text, which must not be a temporary: Text is std::string for such only.
template <std::same_as<std::string> Text>
std::optional<std::string_view> status_field(Text&& status, std::string_view key) = delete;

// Field 39 of stat, the CPU a task last ran on. The name in field 2 may hold blanks and brackets.
std::optional<std::uint32_t> last_cpu(std::string_view stat);

// Field 2 of stat, without its brackets.
std::optional<std::string_view> stat_name(std::string_view stat);
template <std::same_as<std::string> Text>
std::optional<std::string_view> stat_name(Text&& stat) = delete;

struct MemoryUse {
  std::map<std::uint32_t, std::uint64_t> bytes_per_node;
  std::map<std::uint32_t, model::MemoryKinds> kinds;  // by node
  std::map<std::string, std::uint64_t> policies;      // "default" → mappings
};
// numa_maps as the kernel prints it or as host::reduced_numa_maps sums it up.
MemoryUse parse_numa_maps(std::string_view text);

// "VmPin:      64 kB" and its kin of a status file.
std::optional<Bytes> status_bytes(std::string_view status, std::string_view key);

// Whether a file of this name in maps makes a process one of training: CUDA, NCCL, PyTorch, ROCm.
bool is_training_library(std::string_view file_name);

// Files of /proc/net/tcp and tcp6 that listen: socket's inode → port.
std::map<std::uint64_t, std::uint16_t> parse_listening(std::string_view net_tcp);

// Distinct files of maps that are libraries of GPU communication.
std::vector<std::string> mapped_libraries(std::string_view maps);

// "Max locked memory" of a limits file.
std::optional<model::Limit> parse_memlock(std::string_view limits);

// Program and script name of NUL-separated arguments; never more than the first words.
std::string command_of(std::string_view arguments);

// Path of the process in the hierarchy of one controller; v2 has the empty name.
std::optional<std::string> group_of(std::string_view cgroup, std::string_view controller);

// "max 100000" and "50000 100000" of cpu.max: number of CPUs; infinity is nullopt within.
std::optional<std::optional<double>> parse_cpu_max(std::string_view text);

}  // namespace angio::probe::process
