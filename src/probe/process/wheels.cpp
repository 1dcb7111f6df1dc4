#include "probe/process/wheels.hpp"

#include "probe/procfs/software_parts.hpp"

namespace angio::probe::process {

std::string_view packages_folder(std::string_view path) {
  for (const std::string_view folder : {"/site-packages", "/dist-packages"}) {
    const std::size_t begin = path.find(std::string(folder) + "/");
    if (begin != path.npos) return path.substr(0, begin + folder.size());
  }
  return {};
}

std::optional<std::string> nccl_wheel_version(const host::Root& root, std::string_view folder) {
  constexpr std::string_view kWheel = "nvidia_nccl_cu";
  constexpr std::string_view kMetadata = ".dist-info";
  for (const std::string& name : software::library_names(root, std::string(folder)).value_or(host::Names{})) {
    const std::size_t dash = name.find('-');
    if (!name.starts_with(kWheel) || !name.ends_with(kMetadata) || dash == name.npos) continue;
    return name.substr(dash + 1, name.size() - dash - 1 - kMetadata.size());
  }
  return std::nullopt;
}

}  // namespace angio::probe::process
