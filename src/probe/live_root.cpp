#include "probe/live_root.hpp"

#include "host/addresses_root.hpp"
#include "host/clock_root.hpp"
#include "host/discreet.hpp"
#include "host/ethtool_root.hpp"
#include "host/system_roots.hpp"
#include "probe/nvml/nvml_root.hpp"
#include "probe/verbs/verbs_root.hpp"

namespace angio::probe {

Result<std::unique_ptr<host::Root>> make_live_machine_root(const host::LibraryLoader& loader,
                                                           std::span<const std::string> environment) {
  Result<std::unique_ptr<host::Root>> files = host::open_directory_root("/");
  if (!files) return files;
  std::vector<std::string> settings_files;
  if (std::string named = host::find_variable(environment, "NCCL_CONF_FILE"); !named.empty()) {
    settings_files.push_back(std::move(named));
  }
  auto root =
      std::make_unique<host::MountedRoot>(host::make_discreet_root(std::move(*files), settings_files));
  root->mount("/@home",
              host::make_discreet_root(host::make_home_root(host::find_variable(environment, "HOME")), {}));
  root->mount("/@env", host::make_environment_root(environment));
  root->mount("/@limits", host::make_limits_root());
  root->mount("/@uname", host::make_kernel_identity_root());
  root->mount("/@statfs", host::make_filesystem_size_root());
  root->mount("/@libraries", host::make_library_listing_root());
  root->mount("/@nvml", make_nvml_root(loader));
  root->mount("/@verbs", make_verbs_root(loader));
  root->mount("/@net", host::make_addresses_root());
  root->mount("/@ethtool", host::make_ethtool_root());
  root->mount("/@clock", host::make_clock_root());
  return root;
}

Result<std::unique_ptr<host::Root>> make_live_machine_root() {
  return make_live_machine_root(*host::make_library_loader(), host::read_environment());
}

Result<std::unique_ptr<host::Root>> make_tree_root(const std::string& directory) {
  Result<std::unique_ptr<host::Root>> files = host::open_directory_root(directory);
  if (!files) return files;
  auto root = std::make_unique<host::MountedRoot>(std::move(*files));
  for (const char* place : {"/@home", "/@env", "/@limits", "/@uname", "/@statfs", "/@libraries", "/@nvml",
                            "/@verbs", "/@net", "/@ethtool", "/@clock"}) {
    root->mount(place, host::make_memory_root({}, host::Scope::kRecorded));
  }
  return root;
}

}  // namespace angio::probe
