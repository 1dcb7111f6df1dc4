#include "host/clock_root.hpp"

#include <cerrno>
#include <ctime>
#include <string>

namespace angio::host {
namespace {

Read<std::string> nanoseconds(clockid_t clock) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return std::unexpected(ReadError{errno, {}});
  return std::to_string(std::int64_t{time.tv_sec} * kSecond + time.tv_nsec);
}

class ClockRoot final : public Root {
 public:
  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    if (path == "/") return std::unexpected(ReadError{EISDIR, {}});
    const Read<std::string> wall = nanoseconds(CLOCK_REALTIME);
    const Read<std::string> boot = nanoseconds(CLOCK_BOOTTIME);
    if (!wall) return wall;
    if (!boot) return boot;
    return *wall + " " + *boot;
  }
  [[nodiscard]] Read<Names> list(std::string_view) const override {
    return std::unexpected(ReadError{ENOENT, {}});
  }
  [[nodiscard]] Read<std::string> read_link(std::string_view) const override {
    return std::unexpected(ReadError{EINVAL, {}});
  }
  [[nodiscard]] bool exists(std::string_view path) const override { return !path.empty(); }
  [[nodiscard]] bool is_live() const override { return true; }
};

}  // namespace

std::unique_ptr<Root> make_clock_root() {
  return std::make_unique<ClockRoot>();
}

}  // namespace angio::host
