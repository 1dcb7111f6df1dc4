// What a plane is for. Told only where something in the scan says so: how many adapters of a host are on it,
// what its servers are called, what snapshots show. A slower speed alone is no ground.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "base/format.hpp"
#include "base/text.hpp"
#include "fabric/facts.hpp"

namespace angio::fabric {

using model::FabricHost;
using model::FabricPlane;
using model::PlaneRole;

namespace {

// Parts of names that sites give to servers of parallel file systems, and to managers of clusters.
constexpr std::array<std::string_view, 19> kStorageWords = {
    "oss", "mds",  "mgs",  "ost", "lustre", "gpfs", "nsd",    "nfs",   "storage", "stor",
    "nas", "weka", "ceph", "osd", "vast",   "ddn",  "beegfs", "filer", "scratch"};
constexpr std::array<std::string_view, 10> kManagementWords = {"ufm",   "cufm", "mgmt", "mgt",    "admin",
                                                               "login", "head", "sm",   "opensm", "monitor"};

bool is_named_like(const std::string& name, std::span<const std::string_view> words) {
  const std::string lower = to_lower(name);
  std::string part;
  for (std::size_t i = 0; i <= lower.size(); ++i) {
    if (i < lower.size() && lower[i] >= 'a' && lower[i] <= 'z') {
      part += lower[i];
      continue;
    }
    if (std::ranges::find(words, part) != words.end()) return true;
    part.clear();
  }
  return false;
}

struct HostOnPlane {
  std::uint32_t adapters = 0;
  bool elsewhere = false;  // has adapters on other planes too
};

using HostsOnPlane = std::map<std::uint32_t, HostOnPlane>;  // by index in Layout::hosts

// A role and what it rests on; kUnknown where nothing does.
struct Verdict {
  PlaneRole role = PlaneRole::kUnknown;
  std::string why;
};

constexpr std::uint32_t kManyAdapters =
    4;  // shape: storage and management take one or two adapters of a host

Verdict by_adapters(const HostsOnPlane& hosts) {
  std::uint32_t many = 0;
  std::uint32_t most = 0;
  for (const auto& [host, on] : hosts) {
    if (on.adapters >= kManyAdapters) ++many;
    most = std::max(most, on.adapters);
  }
  if (many * 2 <= hosts.size()) return {};
  return {PlaneRole::kCompute, fmt::format("{} of {} have {} adapters or more on it (the most: {})", many,
                                           count_of(hosts.size(), "host"), kManyAdapters, most)};
}

Verdict by_snapshots(const Layout& layout, const HostsOnPlane& hosts, const Surroundings& surroundings) {
  if (surroundings.machines == nullptr) return {};
  std::map<std::string, std::size_t> gpus;
  for (const model::Machine& machine : *surroundings.machines)
    gpus[machine.name] = machine.gpus.size();
  for (const auto& [host, on] : hosts) {
    const auto found = gpus.find(layout.hosts[host].name);
    if (found == gpus.end() || found->second == 0 || on.adapters < kManyAdapters / 2) continue;
    return {PlaneRole::kCompute,
            fmt::format("the snapshot of {} shows {}, and {} of its adapters are on it",
                        printable(found->first), count_of(found->second, "GPU"), on.adapters)};
  }
  return {};
}

Verdict by_names(const Layout& layout, const HostsOnPlane& hosts) {
  std::vector<std::string> storage;
  std::vector<std::string> management;
  std::size_t only_here = 0;
  for (const auto& [host, on] : hosts) {
    if (on.elsewhere) continue;
    ++only_here;
    const std::string& name = layout.hosts[host].name;
    if (is_named_like(name, kStorageWords)) storage.push_back(printable(name));
    if (is_named_like(name, kManagementWords)) management.push_back(printable(name));
  }
  for (const auto& [names, role] :
       {std::pair(&storage, PlaneRole::kStorage), std::pair(&management, PlaneRole::kManagement)})
    if (names->size() * 2 > only_here)
      return {role, fmt::format("{} of {} that are on it alone are named so: {}", names->size(),
                                count_of(only_here, "host"), list_words(*names, 3))};
  return {};
}

}  // namespace

std::vector<FabricPlane> describe_planes(const Layout& layout, const Surroundings& surroundings) {
  std::vector<FabricPlane> planes;
  for (std::uint32_t n = 0; n < layout.plane_of.size(); ++n) {
    if (layout.plane_of[n] >= planes.size()) planes.resize(layout.plane_of[n] + 1);
    planes[layout.plane_of[n]].nodes.push_back(n);
  }
  std::vector<HostsOnPlane> hosts(planes.size());
  for (std::uint32_t h = 0; h < layout.hosts.size(); ++h) {
    std::set<std::uint32_t> on;
    for (const std::uint32_t adapter : layout.hosts[h].adapters) {
      ++hosts[layout.plane_of[adapter]][h].adapters;
      on.insert(layout.plane_of[adapter]);
    }
    for (const std::uint32_t plane : on)
      hosts[plane][h].elsewhere = on.size() > 1;
  }
  for (std::size_t p = 0; p < planes.size(); ++p) {
    if (planes[p].nodes.size() < 2) {
      planes[p].why = "nothing is cabled to it";
      continue;
    }
    Verdict verdict = by_adapters(hosts[p]);
    if (verdict.role == PlaneRole::kUnknown) verdict = by_snapshots(layout, hosts[p], surroundings);
    if (verdict.role == PlaneRole::kUnknown) verdict = by_names(layout, hosts[p]);
    if (verdict.role == PlaneRole::kUnknown) verdict.why = "nothing in the scan tells what it is for";
    planes[p].role = verdict.role;
    planes[p].why = std::move(verdict.why);
  }
  return planes;
}

}  // namespace angio::fabric
