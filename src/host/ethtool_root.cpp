#include "host/ethtool_root.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "host/descriptor.hpp"

namespace angio::host {
namespace {

// A driver's number of statistics is its own statement: bounded. mlx5 with 128 rings has about 8000.
constexpr std::uint32_t kMostStatistics = 65536;

class Asker {
 public:
  explicit Asker(std::string_view device) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    device.copy(request_.ifr_name, IFNAMSIZ - 1);
  }
  // 0, or the errno. The buffer begins with the command's number, as linux/ethtool.h wants.
  int ask(void* buffer) {
    if (socket_.get() < 0) return errno != 0 ? errno : EIO;
    request_.ifr_data = static_cast<char*>(buffer);
    return ioctl(socket_.get(), SIOCETHTOOL, &request_) == 0 ? 0 : errno;
  }

 private:
  Descriptor socket_;
  ifreq request_{};
};

// A struct of linux/ethtool.h with a flexible array behind it.
template <typename Head>
class Buffer {
 public:
  explicit Buffer(std::size_t behind) : words_((sizeof(Head) + behind + sizeof(std::uint64_t) - 1) / 8) {}
  [[nodiscard]] Head* head() { return reinterpret_cast<Head*>(words_.data()); }  // aligned to 8
  [[nodiscard]] char* behind() { return reinterpret_cast<char*>(words_.data()) + sizeof(Head); }

 private:
  std::vector<std::uint64_t> words_;
};

Read<std::uint32_t> count_statistics(Asker& asker) {
  Buffer<ethtool_sset_info> buffer(sizeof(std::uint32_t));
  buffer.head()->cmd = ETHTOOL_GSSET_INFO;
  buffer.head()->sset_mask = 1ULL << ETH_SS_STATS;
  if (const int error = asker.ask(buffer.head()); error != 0) return std::unexpected(ReadError{error, {}});
  if (buffer.head()->sset_mask == 0) return std::unexpected(ReadError{EOPNOTSUPP, {}});
  std::uint32_t count = 0;
  std::memcpy(&count, buffer.behind(), sizeof count);
  if (count == 0) return std::unexpected(ReadError{EOPNOTSUPP, {}});
  if (count > kMostStatistics) return std::unexpected(ReadError{EFBIG, {}});
  return count;
}

std::string name_at(const char* names, std::uint32_t index) {
  const char* name = names + std::size_t{index} * ETH_GSTRING_LEN;
  return std::string(trim(std::string_view(name, strnlen(name, ETH_GSTRING_LEN))));
}

Read<std::string> read_statistics(std::string_view device) {
  Asker asker(device);
  const Read<std::uint32_t> count = count_statistics(asker);
  if (!count) return std::unexpected(count.error());
  Buffer<ethtool_gstrings> names(std::size_t{*count} * ETH_GSTRING_LEN);
  names.head()->cmd = ETHTOOL_GSTRINGS;
  names.head()->string_set = ETH_SS_STATS;
  names.head()->len = *count;
  if (const int error = asker.ask(names.head()); error != 0) return std::unexpected(ReadError{error, {}});
  Buffer<ethtool_stats> values(std::size_t{*count} * sizeof(std::uint64_t));
  values.head()->cmd = ETHTOOL_GSTATS;
  values.head()->n_stats = *count;
  if (const int error = asker.ask(values.head()); error != 0) return std::unexpected(ReadError{error, {}});
  // Rings that came or went between the questions shift every name: better none than wrong ones.
  if (names.head()->len != *count || values.head()->n_stats != *count)
    return std::unexpected(ReadError{EAGAIN, "the driver's list of statistics changed while it was read"});
  std::string content;
  for (std::uint32_t i = 0; i < *count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, values.behind() + std::size_t{i} * sizeof value, sizeof value);
    const std::string name = name_at(names.behind(), i);
    if (!name.empty() && !is_of_one_ring(name)) content += name + ": " + std::to_string(value) + "\n";
  }
  return content;
}

class EthtoolRoot final : public Root {
 public:
  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    constexpr std::string_view kLeaf = "/stats";
    if (!path.starts_with('/') || !path.ends_with(kLeaf)) return std::unexpected(ReadError{ENOENT, {}});
    const std::string_view device = path.substr(1, path.size() - std::min(path.size(), 1 + kLeaf.size()));
    const bool usable = !device.empty() && device.size() < IFNAMSIZ && !contains(device, "/");
    if (!usable) return std::unexpected(ReadError{ENOENT, {}});
    return read_statistics(device);
  }
  // Interfaces are sysfs's to list.
  [[nodiscard]] Read<Names> list(std::string_view) const override {
    return std::unexpected(ReadError{ENOENT, {}});
  }
  [[nodiscard]] Read<std::string> read_link(std::string_view) const override {
    return std::unexpected(ReadError{EINVAL, {}});
  }
  [[nodiscard]] bool exists(std::string_view path) const override { return path == "/" || read(path); }
  [[nodiscard]] bool is_live() const override { return true; }
};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Whether a digit follows the first such word.
bool numbered(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  return at != std::string_view::npos && at + word.size() < name.size() && is_digit(name[at + word.size()]);
}

}  // namespace

bool is_of_one_ring(std::string_view name) {
  if (name.starts_with("ptp_")) name.remove_prefix(4);  // mlx5: the same rings once more
  if (name.starts_with('[')) return true;               // bnxt_en: "[2]: rx_discards"
  for (const std::string_view start : {"rx", "tx", "ch", "rx-", "tx-", "xdp_tx", "xsk_rx", "xsk_tx"})
    if (name.starts_with(start) && name.size() > start.size() && is_digit(name[start.size()])) return true;
  return numbered(name, "queue_") || numbered(name, "queue") || numbered(name, "qos_tx");
}

std::unique_ptr<Root> make_ethtool_root() {
  return std::make_unique<EthtoolRoot>();
}

}  // namespace angio::host
