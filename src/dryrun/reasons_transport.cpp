// Why data goes the way it does: pairs within a node through host memory, another GPU's NIC.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"

namespace angio::dryrun {
namespace {

using model::NcclRank;
using nccl::kNone;
using nccl::NodeKind;
using nccl::PathType;

// ---- pairs of one node through host memory

using PairsByClass = std::map<PathType, Pairs>;

struct HostPairs {
  PairsByClass by_class;
  Pairs unknown;  // their GPUs are not in the topology of node 0
};

HostPairs host_pairs(const Case& one) {
  HostPairs found;
  for (const auto& pair : one.ways.shm) {
    const std::uint32_t from = gpu_of(one, pair.first);
    const std::uint32_t to = gpu_of(one, pair.second);
    if (from == kNone || to == kNone)
      found.unknown.insert(pair);
    else
      found.by_class[one.system->path(from, to).type].insert(pair);
  }
  return found;
}

std::string first_of(const Pairs& pairs) {
  const auto& [from, to] = *pairs.begin();
  return fmt::format("rank {} to rank {}{}", from, to,
                     pairs.size() > 1 ? fmt::format(" and {} more", pairs.size() - 1) : "");
}

// How far apart GPUs may be for P2P; false: the setting is no class.
bool p2p_level(const Case& one, PathType& level, std::string& said) {
  if (const std::string* value = value_of(one, "NCCL_P2P_LEVEL")) {
    said = "NCCL_P2P_LEVEL=" + printable(*value);
    return nccl::parse_path_type(*value, level);
  }
  level = PathType::kPxb;  // src/graph/paths.cc, ncclTopoCheckP2p
  said = "NCCL's own limit";
  return true;
}

void explain_class(const Case& one, PathType type, const Pairs& pairs, Answers& answers) {
  const std::string question =
      fmt::format("Why do {} go through host memory (SHM)?", count_pairs(pairs.size()));
  std::vector<std::string> evidence = {first_of(pairs) + ": path class " + std::string(nccl::label(type))};
  if (const std::string* off = value_of(one, "NCCL_P2P_DISABLE"); off != nullptr && is_on(*off)) {
    evidence.push_back(answers.cite_setting("NCCL_P2P_DISABLE"));
    return answers.add(question, "NCCL_P2P_DISABLE switches the direct way off, NVLink included.",
                       std::move(evidence));
  }
  PathType level{};
  std::string said;
  const bool known = p2p_level(one, level, said);
  if (value_of(one, "NCCL_P2P_LEVEL") != nullptr) evidence.push_back(answers.cite_setting("NCCL_P2P_LEVEL"));
  if (known && type > level)
    return answers.add(
        question,
        fmt::format("Their path class is {}, beyond {} ({}).", nccl::label(type), nccl::label(level), said),
        std::move(evidence));
  const auto& events = one.log->events;
  const auto disabled = std::ranges::find_if(events, [](const model::NcclEvent& event) {
    return event.kind == model::NcclEventKind::kP2pDisabled || event.kind == model::NcclEventKind::kPeerQuery;
  });
  if (disabled != events.end()) {
    evidence.push_back(answers.cite(disabled->source, disabled->text));
    return answers.add(question, "The driver (NVML) reports that these GPUs may not reach each other.",
                       std::move(evidence));
  }
  answers.add(
      question,
      fmt::format("{}their path class {} allows P2P. The driver's own answer (nvidia-smi topo -p2p r, "
                  "on the node) would tell.",
                  kCannotTell, nccl::label(type)),
      std::move(evidence));
}

}  // namespace

void explain_pairs(const Case& one, Answers& answers) {
  if (one.log == nullptr || one.ways.shm.empty()) return;
  const HostPairs found = host_pairs(one);
  for (const auto& [type, pairs] : found.by_class)
    explain_class(one, type, pairs, answers);
  if (found.unknown.empty()) return;
  const std::string* off = value_of(one, "NCCL_P2P_DISABLE");
  const std::string question =
      fmt::format("Why do {} go through host memory (SHM)?", count_pairs(found.unknown.size()));
  if (off != nullptr && is_on(*off))
    return answers.add(question, "NCCL_P2P_DISABLE switches the direct way off, NVLink included.",
                       {answers.cite_setting("NCCL_P2P_DISABLE"), first_of(found.unknown)});
  answers.add(
      question,
      kCannotTell + std::string("their GPUs are not in the topology of node 0. The topology of their own "
                                "node (NCCL_TOPO_DUMP_FILE there) would tell."),
      {first_of(found.unknown)});
}

void explain_pxn(const Case& one, Answers& answers) {
  if (one.world == nullptr || !one.between_nodes) return;
  const std::string* disable = value_of(one, "NCCL_PXN_DISABLE");
  if (!one.ways.proxied.empty()) {
    std::vector<std::string> evidence = {first_of(one.ways.proxied)};
    const NcclRank* rank = one.world->ranks.empty() ? nullptr : &one.world->ranks.front();
    if (rank != nullptr && rank->ring_pxn)
      evidence.push_back(
          answers.cite(rank->rings_source, fmt::format("use ring PXN {}", *rank->ring_pxn ? 1 : 0)));
    return answers.add(
        fmt::format("Why do {} use another GPU's NIC (PXN)?", count_pairs(one.ways.proxied.size())),
        "A GPU that NVLink reaches is nearer to that NIC than the sender is: data goes over NVLink first, "
        "and "
        "stays on its rail.",
        std::move(evidence));
  }
  if (disable != nullptr && is_on(*disable))
    answers.add("Why no PXN?", "NCCL_PXN_DISABLE switches it off.",
                {answers.cite_setting("NCCL_PXN_DISABLE")});
}

}  // namespace angio::dryrun
