#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "probe/procfs/software_parts.hpp"

namespace angio::probe::software {
namespace {

constexpr std::array<std::string_view, 6> kStems{"libcuda.so",   "libnvidia-ml.so", "libnccl.so",
                                                 "libcudart.so", "libibverbs.so",   "libnccl-net"};

// The loader's own directories of the distributions, CUDA's, and those container toolkits mount into.
constexpr std::array<std::string_view, 12> kDirectories{"/usr/lib/x86_64-linux-gnu",
                                                        "/usr/lib/aarch64-linux-gnu",
                                                        "/usr/lib/powerpc64le-linux-gnu",
                                                        "/usr/lib64",
                                                        "/usr/lib/x86_64-linux-gnu/nvidia/current",
                                                        "/usr/local/lib",
                                                        "/usr/local/cuda/lib64",
                                                        "/usr/local/cuda/compat",
                                                        "/usr/local/nvidia/lib64",
                                                        "/usr/local/nccl/lib",
                                                        "/usr/lib/wsl/lib",
                                                        "/run/nvidia/driver/usr/lib/x86_64-linux-gnu"};

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// "/usr/lib/a/../b" without "." and "..": link targets are short, so plainly.
std::string normal(const std::string& path) {
  std::vector<std::string> kept;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.emplace_back(part);
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  return "/" + join(kept, "/");
}

std::vector<std::string> directories_to_look_in(const model::Software& software) {
  constexpr std::size_t kMaxFromSettings = 16;
  std::vector<std::string> all(kDirectories.begin(), kDirectories.end());
  for (const model::Setting& setting : software.settings) {
    if (setting.name != "LD_LIBRARY_PATH") continue;
    std::size_t taken = 0;
    for (const std::string_view part : split(setting.value, ':')) {
      if (!part.starts_with('/') || ++taken > kMaxFromSettings) continue;
      const std::string directory = normal(std::string(part));
      if (std::ranges::find(all, directory) == all.end()) all.push_back(directory);
    }
  }
  return all;
}

class Finder {
 public:
  Finder(const host::Root& root, model::Machine& machine) : root_(root), machine_(machine) {}

  void look_in(const std::string& directory) {
    const host::Read<host::Names> names = library_names(root_, directory);
    if (!names) return;
    std::optional<Place> place;
    for (const std::string& name : *names) {
      if (!has_library_stem(name) || name.find(".so") == name.npos) continue;
      if (!place) place.emplace(root_, machine_, directory);
      take(directory + "/" + name, name, *place);
    }
  }

  void finish() {
    for (auto& [path, library] : found_)
      machine_.software.libraries.push_back(std::move(library));
  }

 private:
  void take(const std::string& path, const std::string& name, const Place& place) {
    const std::string resolved = resolve_library(root_, path);
    model::LibraryFile& library = found_[resolved];
    // "libcuda.so.1", the name the loader asks for, rather than "libcuda.so" or the file's own.
    const bool better = library.name.empty() || is_loader_name(name);
    if (better) library.name = name;
    library.path = resolved;
    library.version = library_version(resolved);
    library.source = place.source("");
  }

  static bool is_loader_name(std::string_view name) {
    const std::size_t so = name.find(".so.");
    return so != name.npos && parse_integer<std::uint32_t>(name.substr(so + 4)).has_value();
  }

  const host::Root& root_;
  model::Machine& machine_;
  std::map<std::string, model::LibraryFile> found_;  // by resolved path
};

}  // namespace

host::Read<host::Names> library_names(const host::Root& root, const std::string& directory) {
  host::Read<host::Names> names = root.list("/@libraries" + directory);
  return names ? names : root.list(directory);
}

bool has_library_stem(std::string_view file_name) {
  return std::ranges::any_of(kStems, [&](std::string_view stem) { return file_name.starts_with(stem); });
}

std::string library_version(std::string_view file_name) {
  const std::size_t so = file_name.rfind(".so.");
  if (so == file_name.npos) return {};
  const std::string_view version = file_name.substr(so + 4);
  const bool numbers = version.find_first_not_of("0123456789.") == version.npos;
  return numbers && contains(version, ".") ? std::string(version) : std::string();
}

std::string resolve_library(const host::Root& root, const std::string& path) {
  constexpr int kMaxHops = 8;
  std::string here = path;
  for (int hop = 0; hop < kMaxHops; ++hop) {
    const host::Read<std::string> target = root.read_link(here);
    if (!target || target->empty()) return here;
    here = normal(target->starts_with('/') ? *target : parent_of(here) + "/" + *target);
  }
  return here;
}

void probe_libraries(const host::Root& root, model::Machine& machine) {
  Finder finder(root, machine);
  for (const std::string& directory : directories_to_look_in(machine.software))
    finder.look_in(directory);
  finder.finish();
  for (const model::LibraryFile& library : machine.software.libraries) {
    if (!library.name.starts_with("libibverbs.so") || library.version.empty()) continue;
    machine.software.rdma_core = Observed<std::string>::known(library.version, library.source);
    return;
  }
  const Place places(root, machine, "/usr/lib");
  machine.software.rdma_core = Observed<std::string>::absent(places.source("libibverbs.so.1"));
}

}  // namespace angio::probe::software
