#include "host/system_roots.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "host/discreet.hpp"

extern "C" char** environ;  // NOLINT: declared by POSIX for the program to name

namespace angio::host {
namespace {

void set_content(Recording& recording, std::string path, std::string text) {
  recording[std::move(path)].content = std::move(text);
}

std::string limit_text(rlim_t value) {
  return value == RLIM_INFINITY ? "unlimited" : std::to_string(value);
}

void set_limit(Recording& recording, std::string path, __rlimit_resource_t resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) {
    recording[std::move(path)].content = std::unexpected(ReadError{errno, {}});
    return;
  }
  set_content(recording, std::move(path), limit_text(limit.rlim_cur) + " " + limit_text(limit.rlim_max));
}

// Answers one kind of question; everything else is not there.
class SmallRoot : public Root {
 public:
  [[nodiscard]] Read<std::string> read(std::string_view /*path*/) const override { return nothing(); }
  [[nodiscard]] Read<Names> list(std::string_view /*path*/) const override { return nothing(); }
  [[nodiscard]] Read<std::string> read_link(std::string_view /*path*/) const override { return nothing(); }
  [[nodiscard]] bool exists(std::string_view /*path*/) const override { return false; }
  [[nodiscard]] bool is_live() const override { return true; }

 protected:
  static std::unexpected<ReadError> nothing() { return std::unexpected(ReadError{ENOENT, {}}); }
};

class FilesystemSizeRoot final : public SmallRoot {
 public:
  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    if (path != "/dev/shm") return nothing();
    struct statvfs sizes{};
    if (statvfs("/dev/shm", &sizes) != 0) return std::unexpected(ReadError{errno, {}});
    const std::uint64_t unit = sizes.f_frsize;
    return std::to_string(unit * sizes.f_blocks) + " " + std::to_string(unit * sizes.f_bavail);
  }
};

class DeviceAccessRoot final : public SmallRoot {
 public:
  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    if (!path.starts_with("/dev/")) return nothing();
    if (access(std::string(path).c_str(), R_OK | W_OK) != 0) return std::unexpected(ReadError{errno, {}});
    return "rw";
  }
};

class LibraryListingRoot final : public SmallRoot {
 public:
  explicit LibraryListingRoot(std::unique_ptr<Root> files) : files_(std::move(files)) {}
  [[nodiscard]] Read<Names> list(std::string_view path) const override {
    if (files_ == nullptr) return nothing();
    Read<Names> names = files_->list(path);
    if (names) std::erase_if(*names, [](const std::string& name) { return !is_communication_library(name); });
    return names;
  }

 private:
  std::unique_ptr<Root> files_;
};

class HomeRoot final : public SmallRoot {
 public:
  HomeRoot(std::unique_ptr<Root> files, std::string home)
      : files_(std::move(files)), home_(std::move(home)) {}
  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    if (path != "/.nccl.conf" || files_ == nullptr || home_.empty()) return nothing();
    return files_->read(home_ + "/.nccl.conf");
  }

 private:
  std::unique_ptr<Root> files_;
  std::string home_;
};

std::unique_ptr<Root> live_files() {
  Result<std::unique_ptr<Root>> root = open_directory_root("/");
  return root ? std::move(*root) : nullptr;
}

}  // namespace

std::vector<std::string> read_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    entries.emplace_back(*entry);
  return entries;
}

std::optional<std::string> find_set_variable(std::span<const std::string> environment,
                                             std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string find_variable(std::span<const std::string> environment, std::string_view name) {
  return find_set_variable(environment, name).value_or("");
}

std::unique_ptr<Root> make_environment_root(std::span<const std::string> environment) {
  Recording recording;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    if (name == "KUBERNETES_SERVICE_HOST") set_content(recording, "/" + name, "set");
    if (!is_shareable_setting(name)) continue;
    set_content(recording, "/" + name, shareable_value(std::string_view(entry).substr(equals + 1)));
  }
  Names names;
  for (const auto& [path, answers] : recording)
    names.push_back(path.substr(1));
  recording["/"].names = std::move(names);
  return make_memory_root(std::move(recording), Scope::kComplete);
}

std::unique_ptr<Root> make_limits_root() {
  Recording recording;
  set_limit(recording, "/memlock", RLIMIT_MEMLOCK);
  set_limit(recording, "/nofile", RLIMIT_NOFILE);
  return make_memory_root(std::move(recording), Scope::kComplete);
}

std::unique_ptr<Root> make_kernel_identity_root() {
  Recording recording;
  utsname identity{};
  if (uname(&identity) == 0) {
    set_content(recording, "/release", static_cast<const char*>(identity.release));
    set_content(recording, "/machine", static_cast<const char*>(identity.machine));
    set_content(recording, "/version", static_cast<const char*>(identity.version));
  }
  return make_memory_root(std::move(recording), Scope::kComplete);
}

std::unique_ptr<Root> make_filesystem_size_root() {
  return std::make_unique<FilesystemSizeRoot>();
}

std::unique_ptr<Root> make_device_access_root() {
  return std::make_unique<DeviceAccessRoot>();
}

bool is_communication_library(std::string_view file_name) {
  constexpr std::array<std::string_view, 9> kStems{"libcuda.so", "libcudart.so", "libnvidia-ml.so",
                                                   "libnccl.so", "libnccl-net",  "libibverbs.so",
                                                   "libmlx5.so", "librccl",      "nvidia_nccl_cu"};
  return std::ranges::any_of(kStems, [&](std::string_view stem) { return file_name.starts_with(stem); });
}

std::unique_ptr<Root> make_library_listing_root() {
  return std::make_unique<LibraryListingRoot>(live_files());
}

std::unique_ptr<Root> make_home_root(std::string home) {
  return std::make_unique<HomeRoot>(live_files(), std::move(home));
}

}  // namespace angio::host
