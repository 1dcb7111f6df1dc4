// Why connections over the network use GPUDirect RDMA or not: each that lacks it is matched with what the log
// says of its own GPU and NIC.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"

namespace angio::dryrun {
namespace {

using model::NcclConnection;
using model::NcclDirection;
using model::NcclGdrPair;
using model::NcclRank;
using nccl::Element;
using nccl::NodeKind;
using nccl::PathType;

// NCCL prints path classes as numbers, which shifted when C2C (2.26) and P2C (2.27) came: src/graph/topo.h.
std::string class_of(const Case& one, int distance) {
  int number = 0;
  for (int at = 0; at <= static_cast<int>(PathType::kDis); ++at) {
    const auto type = static_cast<PathType>(at);
    if (type == PathType::kC2c && !is_at_least(one.release, "2.26")) continue;
    if (type == PathType::kP2c && !is_at_least(one.release, "2.27")) continue;
    if (number++ == distance) return std::string(nccl::label(type));
  }
  return std::to_string(distance);
}

// One side of a connection: the rank whose process said so, and the line.
struct Side {
  const NcclRank* rank = nullptr;
  const NcclConnection* connection = nullptr;
  std::string_view host;
};

// Connections of one kind, counted by channel as NCCL's lines are.
struct Group {
  std::string_view place;  // "between nodes"
  std::uint64_t sending = 0;
  std::uint64_t receiving = 0;
  std::uint64_t all = 0;
  std::uint64_t lacking_sending = 0;
  std::uint64_t lacking = 0;
  std::vector<Side> without = {};
};

void count(const Side& side, Group& group) {
  const NcclConnection& connection = *side.connection;
  group.all += connection.count;
  const bool sends = connection.direction == NcclDirection::kSend;
  if (sends) group.sending += connection.count;
  if (connection.direction == NcclDirection::kReceive) group.receiving += connection.count;
  if (connection.gdr) return;
  group.lacking += connection.count;
  if (sends) group.lacking_sending += connection.count;
  group.without.push_back(side);
}

std::vector<Group> groups_of(const Case& one) {
  Group between{.place = "between nodes"};
  Group within{.place = "within a node"};
  std::map<std::uint32_t, std::string_view> hosts;
  for (const NcclRank& rank : one.world->ranks)
    if (rank.rank) hosts[*rank.rank] = model::host_of(*one.log, rank);
  for (const NcclRank& rank : one.world->ranks)
    for (const NcclConnection& connection : rank.connections) {
      if (connection.transport != model::NcclTransport::kNet) continue;
      const bool inside = hosts[connection.from] == hosts[connection.to];
      count({&rank, &connection, model::host_of(*one.log, rank)}, inside ? within : between);
    }
  std::vector<Group> groups;
  for (Group* group : {&between, &within})
    if (group->all > 0) groups.push_back(std::move(*group));
  return groups;
}

// ---- what the log says of a GPU and a NIC

std::string nic_of(const Case& one, const Side& side) {
  if (!side.connection->net_device) return {};
  const auto node = std::ranges::find(one.nodes, side.host, &NodeNics::host);
  if (node == one.nodes.end()) return {};
  const auto found = node->offered.find(*side.connection->net_device);
  return found == node->offered.end() ? std::string() : found->second;
}

// Newer releases print the rank (of the sender or of the GPU that relays), older ones the bus id; NICs by
// number.
bool is_about(const NcclGdrPair& pair, const Side& side, const std::string& nic) {
  if (pair.host != side.host || !side.connection->net_device) return false;
  const auto number = parse_integer<std::uint32_t>(pair.hca, 16);
  if (pair.hca != nic && number != side.connection->net_device) return false;
  const auto is = [&](const std::optional<std::uint32_t>& rank) {
    return rank && pair.gpu == std::to_string(*rank);
  };
  return is(side.rank->rank) || is(side.connection->proxy_rank) ||
         (!side.rank->bus_id.empty() && pair.gpu == side.rank->bus_id);
}

const NcclGdrPair* find_pair(const Case& one, const Side& side, bool enabled) {
  const std::string nic = nic_of(one, side);
  for (const NcclGdrPair& pair : one.log->gdr)
    if (pair.enabled == enabled && is_about(pair, side, nic)) return &pair;
  return nullptr;
}

std::optional<Answer> by_pair(const Case& one, const Side& side, const Answers& answers) {
  const NcclGdrPair* pair = find_pair(one, side, false);
  if (pair == nullptr) return std::nullopt;
  const std::string who = fmt::format("GPU {} / HCA {}", pair->gpu, pair->hca);
  if (!pair->distance || !pair->threshold) {
    if (pair->reason.empty()) return std::nullopt;
    return Answer{fmt::format("NCCL says: {}", printable(pair->reason)),
                  {answers.cite(pair->source, who + ": " + pair->reason)}};
  }
  const std::string* level = value_of(one, "NCCL_NET_GDR_LEVEL");
  Answer answer{fmt::format("GPU and NIC are of path class {}, beyond {} ({})",
                            class_of(one, *pair->distance), class_of(one, *pair->threshold),
                            level != nullptr ? "NCCL_NET_GDR_LEVEL" : "NCCL's own limit"),
                {answers.cite(pair->source,
                              fmt::format("{}: distance {} > {}", who, *pair->distance, *pair->threshold))}};
  if (level != nullptr) answer.evidence.push_back(answers.cite_setting("NCCL_NET_GDR_LEVEL"));
  return answer;
}

std::optional<Answer> by_device(const Case& one, const Side& side, const Answers& answers) {
  const std::string nic = nic_of(one, side);
  for (const model::NcclNetwork& network : one.log->networks) {
    if (network.host != side.host) continue;
    for (const auto* list : {&network.devices, &network.virtual_devices})
      for (const model::NcclNetDevice& device : *list) {
        if (device.gdr != false || nic.empty() || device.name != nic) continue;
        return Answer{fmt::format("The network plugin reports that {} cannot reach GPU memory{}",
                                  printable(device.name),
                                  device.gdr_reason.empty() ? "" : " (" + printable(device.gdr_reason) + ")"),
                      {answers.cite(device.gdr_source, "GPU Direct RDMA Disabled for HCA")}};
      }
  }
  return std::nullopt;
}

// NCCL leaves sends out, without a line, by the setting or before Ampere where nothing is on NVLink
// (src/graph/paths.cc, ncclTopoCheckGdr).
std::optional<Answer> by_reading(const Case& one, const Side& side, const Answers& answers) {
  constexpr int kAmpere = 80;
  if (side.connection->direction != NcclDirection::kSend || find_pair(one, side, false) != nullptr)
    return std::nullopt;
  if (const std::string* read = value_of(one, "NCCL_NET_GDR_READ"); read != nullptr && trim(*read) == "0")
    return Answer{"NCCL_NET_GDR_READ=0 switches it off for sends",
                  {answers.cite_setting("NCCL_NET_GDR_READ")}};
  const int sm = capabilities(one).first;
  if (sm > 0 && sm < kAmpere && value_of(one, "NCCL_NET_GDR_READ") == nullptr)
    return Answer{
        "Sends read GPU memory directly only from compute capability 8.0 on, or where GPUs have NVLink",
        {fmt::format("topology: <gpu sm=\"{}\">", sm)}};
  return std::nullopt;
}

void collect(const Element& element, std::string_view name, std::vector<const Element*>& found) {
  if (element.name == name) found.push_back(&element);
  for (const Element& child : element.children)
    collect(child, name, found);
}

// Node 0's alone is known; what it says of all its GPUs or NICs.
std::optional<Answer> by_topology(const Case& one, const Side& side) {
  if (one.nodes.empty() || side.host != one.nodes.front().host) return std::nullopt;
  for (const auto& [name, word] : {std::pair{"gpu", "GPUs"}, std::pair{"net", "NICs"}}) {
    std::vector<const Element*> all;
    collect(one.topology, name, all);
    const bool none = !all.empty() && std::ranges::all_of(all, [](const Element* element) {
      return element->get("gdr") == "0";
    });
    if (none)
      return Answer{fmt::format("The topology says that its {} have no GPUDirect RDMA", word),
                    {fmt::format("topology: <{} gdr=\"0\">", name)}};
  }
  return std::nullopt;
}

std::optional<Answer> why_not(const Case& one, const Side& side, const Answers& answers) {
  if (auto said = by_pair(one, side, answers)) return said;
  if (auto said = by_device(one, side, answers)) return said;
  if (auto said = by_reading(one, side, answers)) return said;
  return by_topology(one, side);
}

// ---- answers

std::string directions(std::uint64_t sending, std::uint64_t all) {
  return all == sending ? "sending" : fmt::format("{} sending, {} receiving", sending, all - sending);
}

void all_use_it(const Case& one, const Group& group, Answers& answers) {
  std::vector<std::string> evidence;
  for (const NcclGdrPair& pair : one.log->gdr)
    if (pair.enabled && pair.distance && pair.threshold) {
      evidence.push_back(answers.cite(pair.source, fmt::format("GPU {} / HCA {}: distance {} <= {}", pair.gpu,
                                                               pair.hca, *pair.distance, *pair.threshold)));
      break;
    }
  const std::string sides = group.sending + group.receiving == group.all && group.sending > 0
                                ? fmt::format(" ({})", directions(group.sending, group.all))
                                : std::string();
  answers.add("Why GPUDirect RDMA?",
              fmt::format("All {} {}{} use it: GPU and NIC of each are near enough, and both can.",
                          count_of(group.all, "network connection"), group.place, sides),
              std::move(evidence));
}

struct Cause {
  Answer answer;
  std::uint64_t connections = 0;
};

void some_lack_it(const Case& one, const Group& group, Answers& answers) {
  const std::string only_sending =
      group.lacking == group.lacking_sending && group.receiving > 0 ? " sending" : "";
  const std::string question = fmt::format("Why no GPUDirect RDMA for {} of {} {}?", group.lacking,
                                           count_of(group.all, "network connection"), group.place);
  std::map<std::string, Cause> causes;
  std::uint64_t untold = 0;
  for (const Side& side : group.without) {
    if (auto said = why_not(one, side, answers)) {
      Cause& cause = causes[said->text];
      if (cause.connections == 0) cause.answer = std::move(*said);
      cause.connections += side.connection->count;
    } else {
      untold += side.connection->count;
    }
  }
  if (causes.empty())
    return answers.add(question,
                       fmt::format("{}neither log nor topology says what declined it{}.", kCannotTell,
                                   only_sending.empty() ? "" : "; it is the sending ones"));
  std::string text;
  std::vector<std::string> evidence;
  for (auto& [words, cause] : causes) {
    text += text.empty() ? "" : " ";
    if (causes.size() > 1 || untold > 0) text += fmt::format("For {} of them: ", cause.connections);
    text += words + ".";
    evidence.insert(evidence.end(), cause.answer.evidence.begin(), cause.answer.evidence.end());
  }
  if (untold > 0) text += fmt::format(" For {} of them neither log nor topology says why.", untold);
  answers.add(question, std::move(text), std::move(evidence));
}

}  // namespace

void explain_gdr(const Case& one, Answers& answers) {
  if (one.log == nullptr || one.world == nullptr || !one.ways.complete) return;
  for (const Group& group : groups_of(one)) {
    if (group.lacking == 0) {
      all_use_it(one, group, answers);
    } else if (to_lower(network_of(*one.log)) == "socket") {
      answers.add(fmt::format("Why no GPUDirect RDMA for {} of {} {}?", group.lacking,
                              count_of(group.all, "network connection"), group.place),
                  "The network is sockets, which never read or write GPU memory.", {"Using network Socket"});
    } else {
      some_lack_it(one, group, answers);
    }
  }
}

}  // namespace angio::dryrun
