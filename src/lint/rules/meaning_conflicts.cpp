// Variables that another one makes idle, and pairs that do not do together what they promise.
#include <fmt/format.h>

#include "knowledge/knowledge.hpp"
#include "lint/rules/environments.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

// What keeps every program that sees this setting from InfiniBand and RoCE; empty when that is not certain.
std::string_view keeps_off(const Environments& environments, const Setting& setting) {
  const Setting* off = environments.beside(setting, "NCCL_IB_DISABLE");
  if (off != nullptr && !off->dynamic && read_number(off->value).value != 0) return "NCCL_IB_DISABLE";
  const Setting* net = environments.beside(setting, "NCCL_NET");
  if (net != nullptr && !net->dynamic && net->value == "Socket") return "NCCL_NET=Socket";
  return {};
}

// NCCL_IB_* where InfiniBand and RoCE are not used at all. A network plugin may read them for itself.
void idle_infiniband(const Scope& scope, Complaints& out) {
  if (!external_network(scope).empty()) return;
  const Environments environments(scope.script());
  for (const Setting& setting : scope.script().settings) {
    if (setting.unset || !setting.exported || !setting.name.starts_with("NCCL_IB_") ||
        setting.name == "NCCL_IB_DISABLE")
      continue;
    const std::string_view cause = keeps_off(environments, setting);
    if (cause.empty()) continue;
    out.push_back(
        complain("nccl.ib.no-effect", scope.script(), setting.name_place,
                 fmt::format("{}: no effect, {} keeps NCCL from InfiniBand and RoCE", setting.name, cause)));
  }
}

// A fixed GID index against the variables of the automatic choice.
void idle_gid_choice(const Scope& scope, Complaints& out) {
  if (scope.number("NCCL_IB_GID_INDEX").value_or(-1) < 0) return;
  for (const std::string_view name :
       {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"}) {
    if (const Setting* setting = scope.find(name)) {
      out.push_back(complain("nccl.gid.choice-idle", scope.script(), setting->name_place,
                             fmt::format("{}: no effect, NCCL_IB_GID_INDEX is fixed here", name),
                             "remove NCCL_IB_GID_INDEX"));
    }
  }
}

void queue_pairs(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_IB_QPS_PER_CONNECTION");
  if (setting == nullptr || scope.number("NCCL_IB_QPS_PER_CONNECTION").value_or(1) <= 1) return;
  const Setting* split = scope.find("NCCL_IB_SPLIT_DATA_ON_QPS");
  const knowledge::Variable* variable = knowledge::find_variable("NCCL_IB_SPLIT_DATA_ON_QPS");
  if (split != nullptr && split->dynamic) return;
  const auto standard =
      variable == nullptr ? std::nullopt : knowledge::default_at(*variable, context.nccl_version);
  const bool off = split != nullptr ? scope.is("NCCL_IB_SPLIT_DATA_ON_QPS", 0) : standard == "0";
  if (!off) return;
  out.push_back(complain(
      "nccl.ib.qps-no-split", scope.script(), setting->name_place,
      fmt::format("{}: messages take turns over the queue pairs, one message uses one", shown(*setting)),
      "NCCL_IB_SPLIT_DATA_ON_QPS=1 spreads each message; worth a measurement on fabrics that hash flows"));
}

void cross_nic(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_CROSS_NIC");
  if (setting == nullptr || !scope.is("NCCL_CROSS_NIC", 1)) return;
  out.push_back(
      complain("nccl.crossnic.rails", scope.script(), setting->name_place,
               fmt::format("{}: rings may change the adapter between nodes", shown(*setting)),
               "on a fabric whose rails meet only at the top this loads the spine; 2 lets NCCL decide"));
}

}  // namespace

void check_conflicts(const Scope& scope, const Context& context, Complaints& out) {
  idle_infiniband(scope, out);
  idle_gid_choice(scope, out);
  queue_pairs(scope, context, out);
  cross_nic(scope, out);
}

}  // namespace angio::lint
