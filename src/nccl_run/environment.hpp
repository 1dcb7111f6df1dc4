// The environment of a node's process: what the phantom needs, and the job's settings as far as they can have
// a meaning here. Settings that would break the phantom, name things of another machine or write files are
// kept out, each with its reason in one table. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_run/cluster.hpp"

namespace angio::nccl_run {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct HandedOn {
  Settings settings;
  std::vector<std::string> notes;  // one a setting that was kept out, unless it says nothing new
};

// The path from the root of a file of this machine, as somebody means it who works in this folder; none: it
// is not there.
using FindFile = std::function<std::optional<std::string>(const std::string& path)>;
HandedOn hand_on(const Settings& job, NetKind net, const FindFile& find);

// What stands for a node's files in its environment: "/proc/self/fd/7".
struct NodeFiles {
  std::vector<std::string> preload;
  std::string hardware;
  std::string topology;
  std::string shared_memory;  // a folder
};

// "NAME=value". Later settings take the place of earlier ones; the phantom's own stand last.
std::vector<std::string> node_environment(std::uint32_t node, NetKind net, const NodeFiles& files,
                                          const Settings& all, const Settings& own);

}  // namespace angio::nccl_run
