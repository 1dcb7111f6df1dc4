#include "diagnose/identity.hpp"

#include <algorithm>
#include <iterator>

namespace angio::diagnose {

namespace {

void add(const model::Observed<std::string>& value, std::vector<std::string>& marks) {
  if (const std::string* known = value.get(); known != nullptr && !known->empty()) marks.push_back(*known);
}

}  // namespace

Identity identity_of(const model::Machine& machine) {
  Identity identity;
  // A machine made of another tool's text is called after its file.
  const bool named = machine.software.hostname.is_known() || machine.origin.starts_with("snapshot ");
  if (named) identity.host = machine.name;
  for (const model::Gpu& gpu : machine.gpus)
    add(gpu.uuid, identity.marks);
  for (const model::RdmaDevice& device : machine.rdma)
    add(device.node_guid, identity.marks);
  for (const model::NetDevice& device : machine.networks) {
    if (device.pci) add(device.mac, identity.marks);  // bridges and tunnels make theirs up at each boot
  }
  std::ranges::sort(identity.marks);
  return identity;
}

Kinship compare(const Identity& a, const Identity& b) {
  if (a.host.empty() || a.host != b.host) return Kinship::kOther;
  std::vector<std::string> common;
  std::ranges::set_intersection(a.marks, b.marks, std::back_inserter(common));
  const bool apart = common.empty() && !a.marks.empty() && !b.marks.empty();
  return apart ? Kinship::kNamesakes : Kinship::kSame;
}

}  // namespace angio::diagnose
