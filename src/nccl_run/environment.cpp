#include "nccl_run/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "base/text.hpp"

namespace angio::nccl_run {
namespace {

enum class Treatment : std::uint8_t {
  kOurs,       // the dry run sets it to the same end: kept out without a word
  kOut,        // kept out, with the reason
  kIfFile,     // handed on, from the root, if the file is here; else kept out
  kIfLibrary,  // the same, and a word without a slash is for the loader to find or means something to NCCL
};

enum class Where : std::uint8_t { kAlways, kPhantomNet, kNotPhantomNet };

struct Handling {
  std::string_view name;  // ending in '*': every name that begins so
  Treatment treatment;
  std::string_view reason;
  Where where = Where::kAlways;
};

constexpr std::string_view kLog = "angio reads the log in its own form";
constexpr std::string_view kLoopback = "the nodes of a dry run talk over lo";
constexpr std::string_view kWrites = "a dry run writes no files";
constexpr std::string_view kPreload = "it is for the job's own programs, and the stand-ins need it";
constexpr std::string_view kPlugin =
    "no such file on this machine; the job's NCCL loads it, this one does not";
constexpr std::string_view kMissing = "no such file on this machine";

constexpr std::array kHandlings{
    Handling{"NCCL_DEBUG", Treatment::kOurs, kLog},
    Handling{"NCCL_DEBUG_SUBSYS", Treatment::kOurs, kLog},
    Handling{"NCCL_DEBUG_TIMESTAMP_FORMAT", Treatment::kOurs, kLog},
    Handling{"NCCL_DEBUG_TIMESTAMP_LEVELS", Treatment::kOurs, kLog},
    Handling{"NCCL_WARN_ENABLE_DEBUG_INFO", Treatment::kOurs, kLog},
    Handling{"NCCL_RAS_*", Treatment::kOurs, "a dry run needs no RAS threads"},
    Handling{"NCCL_DEBUG_FILE", Treatment::kOut, kWrites},
    Handling{"NCCL_TOPO_DUMP_FILE", Treatment::kOut, kWrites},
    Handling{"NCCL_GRAPH_DUMP_FILE", Treatment::kOut, kWrites},
    Handling{"NCCL_PROFILE_DUMP_FILE", Treatment::kOut, kWrites},
    Handling{"NCCL_HOSTID", Treatment::kOut, "it makes the nodes of a dry run"},
    Handling{"NCCL_COMM_ID", Treatment::kOut, kLoopback},
    Handling{"NCCL_SOCKET_IFNAME", Treatment::kOut, kLoopback},
    Handling{"NCCL_SOCKET_FAMILY", Treatment::kOut, kLoopback},
    Handling{"NCCL_OOB_NET_*", Treatment::kOut, kLoopback},
    Handling{"NCCL_CONF_FILE", Treatment::kOut, "settings of a file must be given as settings"},
    Handling{"NCCL_NET", Treatment::kOut, "the dry run's own network decides", Where::kAlways},
    Handling{"NCCL_NET_PLUGIN", Treatment::kOut, "the phantom network stands in its place",
             Where::kPhantomNet},
    Handling{"NCCL_NET_PLUGIN", Treatment::kOut, "the network was chosen for the dry run",
             Where::kNotPhantomNet},
    Handling{"NCCL_TUNER_PLUGIN", Treatment::kIfLibrary, kPlugin},
    Handling{"NCCL_PROFILER_PLUGIN", Treatment::kIfLibrary, kPlugin},
    Handling{"NCCL_ENV_PLUGIN", Treatment::kIfLibrary, kPlugin},
    Handling{"NCCL_GIN_PLUGIN", Treatment::kIfLibrary, kPlugin},
    Handling{"NCCL_RMA_PLUGIN", Treatment::kIfLibrary, kPlugin},
    Handling{"NCCL_TUNER_CONFIG_FILE", Treatment::kIfFile, kMissing},
    Handling{"NCCL_TOPO_FILE", Treatment::kIfFile, "no such file on this machine; the topology is --topo's"},
    Handling{"NCCL_GRAPH_FILE", Treatment::kIfFile, kMissing},
    Handling{"CUDA_VISIBLE_DEVICES", Treatment::kOut,
             "all ranks of a node share a process: give the order of GPUs"},
    Handling{"LD_*", Treatment::kOut, kPreload},
    Handling{"GLIBC_TUNABLES", Treatment::kOut, kPreload},
    Handling{"MALLOC_*", Treatment::kOut, kPreload},
    Handling{"ANGIO_PHANTOM_*", Treatment::kOut, "it is between angio and its stand-ins"},
    Handling{"PATH", Treatment::kOurs, kPreload},
    Handling{"HOME", Treatment::kOurs, kPreload},
};

bool is_meant(const Handling& handling, std::string_view name, NetKind net) {
  const bool here = handling.where == Where::kAlways ||
                    (handling.where == Where::kPhantomNet) == (net == NetKind::kPhantom);
  if (!here) return false;
  return handling.name.ends_with('*') ? name.starts_with(handling.name.substr(0, handling.name.size() - 1))
                                      : name == handling.name;
}

// The value that is handed on; none: kept out.
std::optional<std::string> value_of(const Handling* handling, const std::string& value,
                                    const FindFile& find) {
  if (handling == nullptr) return value;
  if (handling->treatment != Treatment::kIfFile && handling->treatment != Treatment::kIfLibrary)
    return std::nullopt;
  const bool is_word = handling->treatment == Treatment::kIfLibrary && value.find('/') == value.npos;
  return is_word ? value : find(value);
}

// A name that cannot be one in an environment.
bool is_name(std::string_view name) {
  return !name.empty() && name.find('=') == name.npos && name.find('\0') == name.npos;
}

// Settings by name, in the order of their first mention.
class Names {
 public:
  void put(std::string_view name, std::string value) {
    const auto [place, fresh] = places_.try_emplace(std::string(name), settings_.size());
    if (fresh)
      settings_.emplace_back(name, std::move(value));
    else
      settings_[place->second].second = std::move(value);
  }
  void put_all(const Settings& settings) {
    for (const auto& [name, value] : settings)
      put(name, value);
  }
  void put_if_missing(std::string_view name, std::string_view value) {
    if (!places_.contains(std::string(name))) put(name, std::string(value));
  }
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> result;
    result.reserve(settings_.size());
    for (const auto& [name, value] : settings_)
      result.push_back(name + "=" + value);
    return result;
  }

 private:
  Settings settings_;
  std::unordered_map<std::string, std::size_t> places_;
};

void put_network(Names& settings, NetKind net) {
  if (net == NetKind::kPhantom) return;  // its stand-in is preloaded under the name that NCCL looks for
  settings.put("NCCL_NET_PLUGIN", "none");
  if (net == NetKind::kSocket) {
    settings.put("NCCL_NET", "Socket");
    settings.put("NCCL_IB_DISABLE", "1");
    return;
  }
  settings.put("NCCL_NET", "IB");
  // 2.28.9 ends in a NULL pointer where no RDMA device is a mlx5 and GIN is on.
  settings.put_if_missing("NCCL_GIN_ENABLE", "0");
  settings.put_if_missing("NCCL_GIN_TYPE", "2");
}

// A node of a build with AddressSanitizer: the stand-ins come before it, which it would refuse.
void put_sanitizer([[maybe_unused]] Names& settings) {
#if defined(__SANITIZE_ADDRESS__)
  settings.put("ASAN_OPTIONS", "verify_asan_link_order=0");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  settings.put("ASAN_OPTIONS", "verify_asan_link_order=0");
#endif
#endif
}

}  // namespace

HandedOn hand_on(const Settings& job, NetKind net, const FindFile& find) {
  HandedOn result;
  for (const auto& [name, value] : job) {
    if (!is_name(name) || value.find('\0') != value.npos) {
      result.notes.push_back(fmt::format("\"{}\" is no name of a setting", printable(name)));
      continue;
    }
    const auto found =
        std::ranges::find_if(kHandlings, [&](const Handling& each) { return is_meant(each, name, net); });
    const Handling* handling = found == kHandlings.end() ? nullptr : &*found;
    if (const std::optional<std::string> goes = value_of(handling, value, find)) {
      result.settings.emplace_back(name, *goes);
      if (name == "NCCL_TOPO_FILE")
        result.notes.push_back(
            fmt::format("NCCL reads {}={} and not the topology of --topo", name, printable(*goes)));
    } else if (handling->treatment != Treatment::kOurs) {
      result.notes.push_back(
          fmt::format("{}={} is not handed on: {}", name, printable(value), handling->reason));
    }
  }
  return result;
}

std::vector<std::string> node_environment(std::uint32_t node, NetKind net, const NodeFiles& files,
                                          const Settings& all, const Settings& own) {
  Names settings;
  settings.put("NCCL_TOPO_FILE", files.topology);
  settings.put_all(all);
  settings.put_all(own);
  settings.put("PATH", "/usr/bin:/bin");
  settings.put("LC_ALL", "C");
  settings.put("LD_PRELOAD", join(files.preload, ":"));
  // Without it glibc raises the threshold and keeps what NCCL's topology search gave back: half of a node.
  settings.put("MALLOC_MMAP_THRESHOLD_", "131072");
  settings.put(phantom::kHardwareVariable, files.hardware);
  settings.put(phantom::kSharedMemoryVariable, files.shared_memory);
  settings.put("NCCL_HOSTID", fmt::format("node{}", node));
  settings.put("NCCL_DEBUG", "INFO");
  settings.put("NCCL_DEBUG_SUBSYS", "INIT,ENV,GRAPH,TUNING,NET,P2P,SHM,NVLS");
  settings.put("NCCL_CONF_FILE", "/dev/null");  // not the ~/.nccl.conf of this machine
  settings.put("NCCL_SOCKET_IFNAME", "=lo");
  settings.put("NCCL_RAS_ENABLE", "0");
  // Ranks of a job are processes; threads of one would reach each other's memory by plain pointers.
  settings.put_if_missing("NCCL_P2P_DIRECT_DISABLE", "1");
  put_network(settings, net);
  put_sanitizer(settings);
  return settings.entries();
}

}  // namespace angio::nccl_run
