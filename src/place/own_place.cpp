#include "place/own_place.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "host/system_roots.hpp"
#include "launch/bind.hpp"
#include "probe/live_root.hpp"
#include "probe/machine_probe.hpp"
#include "probe/placement_probe.hpp"

namespace angio::place {
namespace {

std::vector<std::string> device_words(const plan::VisibleDevices& visible) {
  std::vector<std::string> words;
  for (const auto* list : {&visible.cuda, &visible.rocr, &visible.hip}) {
    if (*list) words.push_back(**list);
  }
  return words;
}

probe::PlacementQuestion question_of(const plan::PlanRequest& request, bool adapters,
                                     const std::vector<std::string>& words) {
  probe::PlacementQuestion question;
  question.caches = request.cpus == plan::CpuPolicy::kL3;
  question.packages = request.cpus == plan::CpuPolicy::kPackage;
  question.memory = request.memory == model::MemoryPolicy::kBind;
  question.adapters = adapters;
  for (const std::string& word : words)
    question.uuids = question.uuids || contains(word, "GPU-");
  return question;
}

}  // namespace

plan::VisibleDevices visible_in(std::span<const std::string> environment) {
  return {.cuda = host::find_set_variable(environment, "CUDA_VISIBLE_DEVICES"),
          .cuda_order = host::find_set_variable(environment, "CUDA_DEVICE_ORDER"),
          .rocr = host::find_set_variable(environment, "ROCR_VISIBLE_DEVICES"),
          .hip = host::find_set_variable(environment, "HIP_VISIBLE_DEVICES")};
}

plan::PlanRequest live_request(plan::PlanRequest policy, std::span<const std::string> environment) {
  policy.visible = visible_in(environment);
  if (auto memory = launch::read_allowed_memory()) policy.allowed_memory = *std::move(memory);
  return policy;
}

Result<model::Machine> look_at_machine(const plan::PlanRequest& request, bool adapters) {
  const std::vector<std::string> words = device_words(request.visible);
  Result<std::unique_ptr<host::Root>> root = probe::make_placement_root();
  if (!root) return std::unexpected(std::move(root).error());
  model::Machine machine = probe::probe_placement(**root, question_of(request, adapters, words));
  if (!probe::needs_nvml(machine, words)) return machine;
  root = probe::make_live_machine_root();
  if (!root) return std::unexpected(std::move(root).error());
  return probe::probe_machine(**root, {.processes = {}, .with_processes = false});
}

Result<OwnPlace> find_own_place(const launch::GivenRank& given, const plan::PlanRequest& policy,
                                bool adapters, std::span<const std::string> environment) {
  auto local = launch::find_local_rank(given, environment);
  if (!local) return std::unexpected(std::move(local).error());
  plan::RankRequest request{live_request(policy, environment), local->rank};
  request.plan.ranks = local->count;
  auto machine = look_at_machine(request.plan, adapters);
  if (!machine) return std::unexpected(std::move(machine).error());
  auto placement = plan::make_rank_placement(*machine, request);
  if (!placement) return std::unexpected(std::move(placement).error());
  if (placement->ranks.size() != 1)
    return fail(ErrorCode::kBug, "the plan of one rank has " + std::to_string(placement->ranks.size()));
  model::RankPlacement& rank = placement->ranks.front();
  rank.why.insert(rank.why.begin(),
                  model::Why{"rank", "local rank " + std::to_string(local->rank) + " by " + local->origin});
  return OwnPlace{*std::move(local), *std::move(machine), *std::move(placement)};
}

}  // namespace angio::place
