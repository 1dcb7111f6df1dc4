#include "placement_options.hpp"

#include <array>
#include <string>
#include <utility>

#include "options.hpp"

namespace angio::app {
namespace {

using model::MemoryPolicy;
using plan::CpuPolicy;
using plan::Smt;

template <typename Value>
using Word = std::pair<std::string_view, Value>;

constexpr std::array kCpus{
    Word<CpuPolicy>{"exclusive", CpuPolicy::kExclusive}, Word<CpuPolicy>{"node", CpuPolicy::kNode},
    Word<CpuPolicy>{"package", CpuPolicy::kPackage},     Word<CpuPolicy>{"l3", CpuPolicy::kL3},
    Word<CpuPolicy>{"core", CpuPolicy::kCore},           Word<CpuPolicy>{"none", CpuPolicy::kNone}};
constexpr std::array kMemory{Word<MemoryPolicy>{"preferred", MemoryPolicy::kPreferred},
                             Word<MemoryPolicy>{"bind", MemoryPolicy::kBind},
                             Word<MemoryPolicy>{"interleave", MemoryPolicy::kInterleave},
                             Word<MemoryPolicy>{"local", MemoryPolicy::kLocal},
                             Word<MemoryPolicy>{"none", MemoryPolicy::kNone}};
constexpr std::array kSmt{Word<Smt>{"all", Smt::kAll}, Word<Smt>{"one", Smt::kOne}};

template <typename Words>
std::vector<std::string> names_of(const Words& words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words)
    names.emplace_back(name);
  return names;
}

// The first word where none fits; the options let only known words in.
template <typename Words>
auto value_of(const Words& words, std::string_view name) {
  for (const auto& [word, value] : words) {
    if (word == name) return value;
  }
  return words.front().second;
}

}  // namespace

void add_placement_options(CommandLine& app, PlacementOptions& options) {
  app.option("--cpus", options.cpus,
             "CPUs of a rank: exclusive (its share of the node's\n"
             "cores), node, package, l3 (whole cache domains),\n"
             "core (one), none (leave them)")
      .type_name("POLICY")
      .one_of(names_of(kCpus));
  app.option("--memory", options.memory,
             "Memory of a rank: preferred (its node first), bind\n"
             "(its node only), interleave, local, none (leave it)")
      .type_name("POLICY")
      .one_of(names_of(kMemory));
  app.option("--smt", options.smt, "Hardware threads of a core: all, or the first only")
      .type_name("WHICH")
      .one_of(names_of(kSmt));
  app.option("--system-cores", options.system_cores, "Cores that no rank gets, on every NUMA node")
      .type_name("N")
      .range(0, 4096);
}

plan::PlanRequest to_request(const PlacementOptions& options) {
  plan::PlanRequest request;
  request.cpus = value_of(kCpus, options.cpus);
  request.memory = value_of(kMemory, options.memory);
  request.smt = value_of(kSmt, options.smt);
  request.system_cores = options.system_cores;
  return request;
}

}  // namespace angio::app
