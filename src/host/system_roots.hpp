// What this process knows without a file: environment, limits, kernel identity, sizes of file systems,
// libraries in a directory. Each is a Root to be mounted ("/@env", "/@limits", ...).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/root.hpp"

namespace angio::host {

// "NAME=value" of this process.
std::vector<std::string> read_environment();
// The value of one variable of such a list. Unset and empty differ: an empty CUDA_VISIBLE_DEVICES hides every
// GPU.
std::optional<std::string> find_set_variable(std::span<const std::string> environment, std::string_view name);
// The same where they do not: empty when unset.
std::string find_variable(std::span<const std::string> environment, std::string_view name);

// "/NCCL_DEBUG" answers its value; "/" lists the names. Only what is_shareable_setting lets through;
// of KUBERNETES_SERVICE_HOST only that it is set.
std::unique_ptr<Root> make_environment_root(std::span<const std::string> environment);

// "/memlock" (bytes) and "/nofile" answer "soft hard", each a number or "unlimited".
std::unique_ptr<Root> make_limits_root();

// "/release", "/machine" and "/version" as uname(2).
std::unique_ptr<Root> make_kernel_identity_root();

// "/dev/shm" answers "total free" in bytes of the file system there. Only /dev/shm: asking a network file
// system can hang.
std::unique_ptr<Root> make_filesystem_size_root();

// "/dev/nvidia0" answers "rw" when this process may open it, else the errno: a device cgroup refuses what the
// file's mode allows. Only asks, as access(2) does: opening a GPU wakes it up. Only below /dev.
std::unique_ptr<Root> make_device_access_root();

// "/usr/lib64" lists the libraries of GPU communication in that directory (libcuda.so*, libnccl*, ...).
std::unique_ptr<Root> make_library_listing_root();
bool is_communication_library(std::string_view file_name);

// "/.nccl.conf" in the home directory given ($HOME: the password database may sit behind a network that
// hangs); no other file.
std::unique_ptr<Root> make_home_root(std::string home);

}  // namespace angio::host
