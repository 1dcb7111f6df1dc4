#include "probe/verbs/verbs_root.hpp"

#include <cerrno>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "probe/bounded_calls.hpp"
#include "probe/verbs/verbs_abi.hpp"

namespace angio::probe {
namespace {

using verbs::PortAttributes;
using PortKey = std::pair<std::string, std::uint8_t>;

std::unexpected<host::ReadError> refused(int error, std::string detail = {}) {
  return std::unexpected(host::ReadError{error, std::move(detail)});
}

// The library's functions, found once; null where this version lacks one.
class Verbs {
 public:
  explicit Verbs(std::unique_ptr<host::Library> library) : library_(std::move(library)) {}

  [[nodiscard]] host::Read<host::Names> devices() const {
    host::Names names;
    const host::Read<void> done = with_devices([&](const std::vector<verbs::Device>& list) {
      for (const verbs::Device device : list)
        names.push_back(name_of(device));
    });
    if (!done) return std::unexpected(done.error());
    return names;
  }

  [[nodiscard]] host::Read<PortAttributes> query(const PortKey& key) const {
    host::Read<PortAttributes> answer = refused(ENOENT);
    const host::Read<void> done = with_devices([&](const std::vector<verbs::Device>& list) {
      for (const verbs::Device device : list) {
        if (name_of(device) == key.first) answer = query_device(device, key.second);
      }
    });
    if (!done) return std::unexpected(done.error());
    return answer;
  }

 private:
  template <typename Function>
  [[nodiscard]] Function find(const char* symbol) const {
    return reinterpret_cast<Function>(library_->find(symbol));  // dlsym's answer: POSIX allows exactly this
  }

  [[nodiscard]] std::string name_of(verbs::Device device) const {
    const auto name = find<verbs::GetDeviceName>("ibv_get_device_name");
    const char* text = name != nullptr ? name(device) : nullptr;
    return text != nullptr ? text : "";
  }

  template <typename Use>
  [[nodiscard]] host::Read<void> with_devices(Use use) const {
    const auto get = find<verbs::GetDeviceList>("ibv_get_device_list");
    const auto release = find<verbs::FreeDeviceList>("ibv_free_device_list");
    if (get == nullptr || release == nullptr) return refused(ENOSYS, "ibv_get_device_list is missing");
    int count = 0;
    errno = 0;
    verbs::Device* list = get(&count);
    // ENOSYS: the kernel has no RDMA; that is an empty list, not a failure
    if (list == nullptr) return errno == ENOSYS ? host::Read<void>{} : refused(errno != 0 ? errno : EIO);
    use(std::vector<verbs::Device>(list, list + (count > 0 ? count : 0)));
    release(list);
    return {};
  }

  [[nodiscard]] host::Read<PortAttributes> query_device(verbs::Device device, std::uint8_t port) const {
    const auto open = find<verbs::OpenDevice>("ibv_open_device");
    const auto close = find<verbs::CloseDevice>("ibv_close_device");
    const auto query = find<verbs::QueryPort>("ibv_query_port");
    if (open == nullptr || close == nullptr || query == nullptr)
      return refused(ENOSYS, "ibv_query_port is missing");
    errno = 0;
    const verbs::Context context = open(device);
    if (context == nullptr) return refused(errno != 0 ? errno : EIO, "ibv_open_device");
    PortAttributes attributes{};
    const int error = query(context, port, &attributes);  // an errno value
    close(context);
    if (error != 0) return refused(error > 0 ? error : EIO, "ibv_query_port");
    return attributes;
  }

  std::unique_ptr<host::Library> library_;
};

// enum ibv_mtu: 1 is 256, 5 is 4096.
host::Read<std::string> bytes_of_mtu(std::int32_t code) {
  if (code < 1 || code > 5) return refused(EIO, "ibv_mtu " + std::to_string(code));
  return std::to_string(128U << static_cast<unsigned>(code));
}

class VerbsRoot final : public host::Root {
 public:
  VerbsRoot(const host::LibraryLoader& loader, std::chrono::milliseconds patience) : bounded_(patience) {
    Result<std::unique_ptr<host::Library>> library = loader.open({"libibverbs.so.1"});
    if (library) verbs_ = std::make_shared<Verbs>(std::move(*library));
    if (!library) why_not_ = library.error().message;
  }

  [[nodiscard]] host::Read<std::string> read(std::string_view path) const override {
    std::vector<std::string_view> parts = split(path, '/');
    std::erase_if(parts, [](std::string_view part) { return part.empty(); });
    if (parts.size() == 1 && parts[0] == "init") {
      if (verbs_ == nullptr) return refused(ENOENT, why_not_);
      return std::string("0");
    }
    if (parts.size() != 3) return refused(ENOENT);
    const auto port = parse_integer<std::uint8_t>(parts[1]);
    const bool active = parts[2] == "active_mtu";
    if (!port || (!active && parts[2] != "max_mtu")) return refused(ENOENT);
    const host::Read<PortAttributes>& attributes = ask({std::string(parts[0]), *port});
    if (!attributes) return std::unexpected(attributes.error());
    return bytes_of_mtu(active ? attributes->active_mtu : attributes->max_mtu);
  }

  [[nodiscard]] host::Read<host::Names> list(std::string_view path) const override {
    if (path != "/") return refused(ENOENT);  // ports are sysfs's to list
    if (verbs_ == nullptr) return refused(ENOSYS, why_not_);
    auto answer = std::make_shared<host::Read<host::Names>>();
    if (!run([answer, verbs = verbs_] { *answer = verbs->devices(); })) return refused(ETIMEDOUT);
    return std::move(*answer);
  }

  [[nodiscard]] host::Read<std::string> read_link(std::string_view) const override { return refused(EINVAL); }

  [[nodiscard]] bool exists(std::string_view path) const override {
    if (path == "/") return verbs_ != nullptr;
    const host::Read<std::string> content = read(path);
    return content || (content.error().error != ENOENT && content.error().error != ENOSYS);
  }

  [[nodiscard]] bool is_live() const override { return true; }

 private:
  // One call a port answers all its files.
  [[nodiscard]] const host::Read<PortAttributes>& ask(const PortKey& key) const {
    const auto known = ports_.find(key);
    if (known != ports_.end()) return known->second;
    if (verbs_ == nullptr) return ports_.emplace(key, refused(ENOSYS, why_not_)).first->second;
    auto answer = std::make_shared<host::Read<PortAttributes>>();
    const bool done = run([answer, verbs = verbs_, key] { *answer = verbs->query(key); });
    if (!done) *answer = refused(ETIMEDOUT, key.first + " gave no answer");
    return ports_.emplace(key, *answer).first->second;
  }

  [[nodiscard]] bool run(std::function<void()> task) const {
    constexpr unsigned kMostSilent = 2;  // so many ports gave no answer: it is the driver, stop asking
    if (silent_ >= kMostSilent) return false;
    const bool done = bounded_.run(std::move(task));
    silent_ += done ? 0U : 1U;
    return done;
  }

  std::shared_ptr<Verbs> verbs_;
  std::string why_not_;
  mutable BoundedCalls bounded_;
  mutable std::map<PortKey, host::Read<PortAttributes>> ports_;
  mutable unsigned silent_ = 0;
};

}  // namespace

std::unique_ptr<host::Root> make_verbs_root(const host::LibraryLoader& loader,
                                            std::chrono::milliseconds patience) {
  return std::make_unique<VerbsRoot>(loader, patience);
}

}  // namespace angio::probe
