#include "probe/place.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "probe/nvml/nvml_device_leaves.hpp"

namespace angio::probe {
namespace {

constexpr std::string_view kMount = "/@";

struct Words {
  std::string text;
  const char* joint = ", ";
};

struct LeafWords {
  std::string_view mount;
  std::string_view leaf;
  const char* words;
};
constexpr LeafWords kLeafWords[] = {
    {"limits", "memlock", "-l"},
    {"limits", "nofile", "-n"},
    {"nvml", "init", "nvmlInit"},
    {"nvml", "driver_version", "nvmlSystemGetDriverVersion"},
    {"nvml", "nvml_version", "nvmlSystemGetNVMLVersion"},
    {"nvml", "cuda_driver_version", "nvmlSystemGetCudaDriverVersion"},
    {"nvml", "gpu", "nvmlDeviceGetCount"},
    {"uname", "release", "-r"},
    {"uname", "machine", "-m"},
};

// "/@nvml/gpu/0/link/3" is nvml, gpu, 0, link, 3.
std::vector<std::string_view> steps_of(std::string_view directory) {
  std::vector<std::string_view> steps = split(directory.substr(kMount.size()), '/');
  std::erase_if(steps, [](std::string_view step) { return step.empty(); });
  return steps;
}

Words nvml_words(const std::vector<std::string_view>& steps) {
  Words words{"NVML"};
  if (steps.size() > 1 && steps[1] == "gpu")
    words.text += steps.size() > 2 ? " GPU " : ", nvmlDeviceGetCount";
  if (steps.size() > 2) words.text += steps[2];
  if (steps.size() > 3 && steps[3] == "link") words.text += steps.size() > 4 ? " NVLink " : ", NVLinks";
  if (steps.size() > 3 && steps[3] == "p2p")
    words.text += steps.size() > 4 ? ", nvmlDeviceGetP2PStatus with GPU " : ", nvmlDeviceGetP2PStatus";
  if (steps.size() > 4) words.text += steps[4];
  return words;
}

Words words_of(std::string_view directory) {
  const std::vector<std::string_view> steps = steps_of(directory);
  const std::string_view mount = steps.empty() ? std::string_view() : steps.front();
  const std::string below(directory.substr(std::min(directory.size(), kMount.size() + mount.size())));
  if (mount == "nvml") return nvml_words(steps);
  if (mount == "limits") return {"ulimit", " "};
  if (mount == "uname") return {"uname", " "};
  if (mount == "statfs") return {"df" + (below.empty() ? "" : " " + below), below.empty() ? " /" : "/"};
  if (mount == "env") return {"environment"};
  if (mount == "net") return {"ip", " "};
  if (mount == "ethtool") return {"ethtool -S" + (below.empty() ? "" : " " + below.substr(1)), ", "};
  if (mount == "clock")
    return {"clock" + (below.empty() ? "" : " at the reading of " + below.substr(1)), " "};
  if (mount == "home") return {"~" + below, "/"};
  if (mount == "libraries") return {"libraries in " + below, "/"};
  if (mount == "job") return {"file of the job" + (below.empty() ? "" : " " + below.substr(1)), " "};
  if (mount == "verbs" && steps.size() > 2)
    return {"ibv_query_port " + std::string(steps[1]) + " port " + std::string(steps[2])};
  if (mount == "verbs") return {"libibverbs" + (steps.size() > 1 ? " " + std::string(steps[1]) : "")};
  return {std::string(directory.substr(kMount.size())), "/"};
}

// The words of a leaf: the function that answers it where there is one, else its name.
const char* leaf_words(std::string_view directory, const char* leaf) {
  const std::vector<std::string_view> steps = steps_of(directory);
  if (steps.empty()) return leaf;
  const char* function = nullptr;
  if (steps.front() == "nvml" && steps.size() == 3) function = nvml::device_leaf_function(leaf);
  if (steps.front() == "nvml" && steps.size() == 5) function = nvml::link_leaf_function(leaf);
  if (function != nullptr) return function;
  if (steps.size() > 1) return leaf;
  const auto same = [&](const LeafWords& words) {
    return words.mount == steps.front() && words.leaf == leaf;
  };
  const auto* found = std::ranges::find_if(kLeafWords, same);
  return found != std::end(kLeafWords) ? found->words : leaf;
}

std::uint32_t add_place(model::Machine& machine, const std::string& directory) {
  if (!directory.starts_with(kMount)) return machine.places.add(directory);
  Words words = words_of(directory);
  return machine.places.add(std::move(words.text), words.joint);
}

}  // namespace

std::string name_of_path(std::string_view path) {
  if (!path.starts_with(kMount)) return std::string(path);
  const std::size_t slash = path.rfind('/');
  if (slash == 0) return words_of(path).text;
  const std::string_view directory = path.substr(0, slash);
  const std::string leaf(path.substr(slash + 1));
  const Words words = words_of(directory);
  const std::string whole = words_of(path).text;
  // "…/p2p/3" and "…/gpu/3" have words of their own; other leaves are named below their place.
  const bool numbered = parse_integer<std::uint32_t>(leaf).has_value();
  return numbered || leaf.empty() ? whole : words.text + words.joint + leaf_words(directory, leaf.c_str());
}

Place::Place(const host::Root& root, model::Machine& machine, std::string directory)
    : root_(root),
      directory_(std::move(directory)),
      id_(add_place(machine, directory_)),
      is_file_(!directory_.starts_with(kMount)) {}

model::Source Place::source(const char* leaf) const {
  return {id_, 0, is_file_ || *leaf == '\0' ? leaf : leaf_words(directory_, leaf)};
}

std::string Place::path(std::string_view leaf) const {
  if (leaf.empty()) return directory_;
  std::string full;
  full.reserve(directory_.size() + 1 + leaf.size());
  return full.append(directory_).append("/").append(leaf);
}

Observed<std::string> Place::text(const char* leaf) const {
  return parsed(leaf, [](std::string_view text) { return std::optional(std::string(text)); });
}

Observed<host::Names> Place::names(const char* leaf) const {
  host::Read<host::Names> names = root_.list(path(leaf));
  if (!names) return missing<host::Names>(leaf, names.error());
  return Observed<host::Names>::known(std::move(*names), source(leaf));
}

bool Place::is_absence(const host::ReadError& error) {
  return error.error == ENOENT || error.error == ENOTDIR || error.error == ENODEV;
}

model::Reason Place::reason_of(const host::ReadError& error) {
  switch (error.error) {
    case host::kNotCollected:
      return model::Reason::kNotCollected;
    case EACCES:
    case EPERM:
      return model::Reason::kDenied;
    case EOPNOTSUPP:
    case ENOSYS:
      return model::Reason::kUnsupported;
    default:
      return model::Reason::kFailed;
  }
}

}  // namespace angio::probe
