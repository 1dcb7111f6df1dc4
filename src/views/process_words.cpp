#include "views/process_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/job.hpp"

namespace angio::views {

std::string cpus_in_words(const model::Machine& machine, const CpuSet& cpus) {
  const CpuSet& online = machine.cpus.online;
  if (!online.empty() && online.is_subset_of(cpus)) return "all CPUs";
  return to_list(cpus);
}

std::string groups_in_words(const model::Machine& machine, const std::vector<diagnose::ThreadGroup>& groups) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < groups.size() && i < kShown; ++i)
    words.push_back(fmt::format("{} on {}", groups[i].threads, cpus_in_words(machine, groups[i].allowed)));
  std::size_t rest = 0;
  for (std::size_t i = kShown; i < groups.size(); ++i)
    rest += groups[i].threads;
  if (rest > 0) words.push_back(fmt::format("{} on {} other sets", rest, groups.size() - kShown));
  return join(words, ", ");
}

bool maps_cuda(const model::Process& process) {
  return std::ranges::any_of(process.libraries,
                             [](const model::LibraryFile& file) { return file.name.starts_with("libcuda"); });
}

std::vector<std::pair<std::string, Bytes>> kinds_of(const model::Process& process,
                                                    const model::MemoryKinds& kinds) {
  const std::uint64_t unnamed = kinds.shared_anonymous;
  const bool cuda = maps_cuda(process);
  std::vector<std::pair<std::string, Bytes>> all{
      {"anonymous", {kinds.anonymous}},
      {"pinned by CUDA", {cuda ? unnamed : 0}},
      {"shared", {kinds.shared + (cuda ? 0 : unnamed)}},
      {"file", {kinds.file}},
      {"huge", {kinds.huge}},
      {"of devices", {kinds.device}},
      {"of unknown kind", {kinds.other}},
  };
  std::erase_if(all, [](const auto& kind) { return kind.second.value == 0; });
  std::ranges::stable_sort(all, std::greater{}, [](const auto& kind) { return kind.second.value; });
  return all;
}

Bytes sum_of(const model::MemoryKinds& kinds) {
  return {kinds.anonymous + kinds.shared + kinds.shared_anonymous + kinds.file + kinds.huge + kinds.device +
          kinds.other};
}

std::string policies_in_words(const model::Process& process) {
  const auto* policies = process.policies.get();
  if (policies == nullptr || policies->empty()) return {};
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  std::uint64_t all = 0;
  for (const auto& [name, mappings] : *policies) {
    sorted.emplace_back(mappings, name);
    all += mappings;
  }
  std::ranges::sort(sorted, std::greater{});
  std::string words = sorted.front().second;
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 1; i < sorted.size() && i < kShown; ++i)
    words += fmt::format("; {} for {} of {} mappings", sorted[i].second, sorted[i].first, all);
  return words;
}

std::string purposes_in_words(const model::Process& process) {
  std::map<std::string_view, std::size_t> counts;
  for (const model::Thread& thread : process.threads) {
    const std::string_view purpose = diagnose::thread_purpose(thread.name);
    if (!purpose.empty()) ++counts[purpose];
  }
  std::vector<std::string> words;
  for (const auto& [purpose, count] : counts)
    words.push_back(fmt::format("{} {}", count, purpose));
  return join(words, ", ");
}

std::string user_in_words(const std::map<std::uint32_t, std::string>& users, const model::Process& process) {
  const std::uint32_t* user = process.user.get();
  if (user == nullptr) return {};
  const auto name = users.find(*user);
  return name != users.end() ? name->second : "user " + std::to_string(*user);
}

}  // namespace angio::views
