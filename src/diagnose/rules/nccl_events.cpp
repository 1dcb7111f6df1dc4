#include "diagnose/rules/nccl_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclEvent;
using model::NcclEventKind;
using model::NcclLog;

constexpr std::size_t kMostEvidence = 6;

// "::ffff:10.6.0.35" gives "10.6.0.": RoCE addresses of one rail share it (NCCL_IB_SUBNET_PREFIX_LEN, default
// 24).
std::string_view subnet_of(std::string_view gid) {
  constexpr std::string_view kMapped = "::ffff:";
  if (!gid.starts_with(kMapped)) return {};
  gid.remove_prefix(kMapped.size());
  const std::size_t dot = gid.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : gid.substr(0, dot + 1);
}

}  // namespace

// Who said it, from how many processes, up to a readable number of lines.
void cite(const NcclLog& log, const Events& events, Draft& draft) {
  for (std::size_t i = 0; i < std::min(events.size(), kMostEvidence); ++i)
    draft.evidence.push_back(seen(log, *events[i]));
  if (events.size() > kMostEvidence)
    draft.evidence.push_back({"the like from " + processes(events.size() - kMostEvidence) + " more", ""});
}

std::string processes_in_words(const NcclLog& log, const Events& events) {
  std::set<model::NcclIndex> who;
  for (const NcclEvent* event : events)
    who.insert(event->process);
  if (who.size() != 1) return processes(who.size());
  const std::string name = name_of(log, *who.begin());
  return name.empty() ? "A process" : name;
}

void cite_subnets(const NcclLog& log, const Events& events, Draft& draft) {
  for (const NcclEvent* event : events) {
    const std::string_view local = subnet_of(event->local_gid);
    const std::string_view remote = subnet_of(event->remote_gid);
    if (local.empty() || remote.empty() || local == remote) continue;
    draft.evidence.push_back(
        {fmt::format("the two ends lie in different subnets, {}x and {}x: another rail, reachable "
                     "only if the fabric routes between them",
                     local, remote),
         log.places.text(event->source)});
    return;
  }
}

std::string with_device(const NcclEvent& event) {
  // "mlx5_0:1"; some messages give only the number of the device, which says little.
  const bool named = !event.device.empty() && (event.device[0] < '0' || event.device[0] > '9');
  return named ? " on " + event.device : std::string();
}

bool is_zero_gid(const std::string& gid) {
  return !gid.empty() && gid.find_first_not_of("0:") == std::string::npos;
}

bool speaks_of_roce_version(const NcclEvent& event) {
  const std::string text = to_lower(event.text);
  return contains(text, "roce") && contains(text, "version");
}

bool is_gid_trouble(const NcclEvent& event) {
  if (is_zero_gid(event.local_gid) || is_zero_gid(event.remote_gid)) return true;
  if (speaks_of_roce_version(event) || contains(event.text, "(0/0)")) return true;
  if (event.kind != NcclEventKind::kQpModify || !event.number) return false;
  return *event.number == kEinval || *event.number == kEnetunreach || *event.number == kEhostunreach ||
         *event.number == kEtimedout;
}

const NcclEvent* earlier_cause(const NcclLog& log, const NcclEvent& echo) {
  const NcclEvent* first = model::find_earliest_failure(log);
  return first == nullptr || first == &echo || model::is_echo(*first) ? nullptr : first;
}

}  // namespace angio::diagnose::nccl
