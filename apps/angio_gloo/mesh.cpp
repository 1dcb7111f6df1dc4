#include "mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/text.hpp"

namespace angio::gloo_backend {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(const std::vector<char>& bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[(static_cast<unsigned char>(byte) >> 4U) & 0xfU];
    text += kDigits[static_cast<unsigned char>(byte) & 0xfU];
  }
  return text;
}

std::vector<char> from_hex(std::string_view text) {
  std::vector<char> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]);
    const std::size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

// gloo::Context with what only its subclasses may set.
class Connected final : public gloo::Context {
 public:
  using gloo::Context::Context;

  // "address of my end towards member 0, towards 1, ..." as hexadecimal words; my own place is "-".
  std::string open(const Device& device) {
    device_ = device;
    transportContext_ = device->createContext(rank, size);
    transportContext_->setTimeout(getTimeout());
    std::string words;
    for (int i = 0; i < size; ++i) {
      words += i == 0 ? "" : " ";
      words += i == rank ? "-" : to_hex(transportContext_->createPair(i)->address().bytes());
    }
    return words;
  }

  void connect(int member, const std::vector<char>& address) {
    transportContext_->getPair(member)->connect(address);
  }
};

// What member `from` said about its end towards `towards`; empty: damaged.
std::vector<char> end_of(std::string_view words, std::size_t towards) {
  const auto all = split_words(words);
  if (towards >= all.size()) return {};
  std::vector<char> bytes = from_hex(all[towards]);
  return bytes.size() > gloo::transport::Address::kMaxByteSize ? std::vector<char>{} : bytes;
}

Result<void> connect_all(Connected& context, const std::vector<std::string>& texts, Mesh& mesh) {
  const auto own = static_cast<std::size_t>(context.rank);
  for (std::size_t i = 0; i < mesh.ranks.size(); ++i) {
    mesh.addresses.emplace_back();
    if (i == own) continue;
    const std::vector<char> address = end_of(texts[mesh.ranks[i]], own);
    if (address.empty())
      return fail(ErrorCode::kIo, fmt::format("rank {} gave no address for gloo", mesh.ranks[i]));
    mesh.addresses.back() = gloo::transport::tcp::Address(address).str();
    try {
      context.connect(static_cast<int>(i), address);
    } catch (const std::exception& error) {
      return fail(ErrorCode::kIo,
                  fmt::format("no connection to rank {} at {}: {}", mesh.ranks[i], mesh.addresses[i],
                              in_words(error.what(), mesh)),
                  "GLOO_SOCKET_IFNAME names the interface that gloo is to use");
    }
  }
  return {};
}

}  // namespace

Result<Device> open_device(const std::string& interface, const std::string& address) {
  try {
    gloo::transport::tcp::attr attributes;
    if (interface.empty()) attributes.hostname = address;
    attributes.iface = interface;
    return gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception& error) {
    const std::string where = interface.empty() ? address : interface;
    return fail(ErrorCode::kIo,
                fmt::format("gloo cannot listen on {}: {}", printable(where), in_words(error.what(), {})),
                "GLOO_SOCKET_IFNAME names the interface that gloo is to use");
  }
}

Result<Mesh> connect_mesh(collective::Meeting& meeting, Device device, std::span<const std::uint32_t> ranks,
                          std::chrono::milliseconds timeout) {
  Mesh mesh{nullptr, {ranks.begin(), ranks.end()}, {}};
  const auto place = std::ranges::find(ranks, meeting.rank());
  const bool member = place != ranks.end();
  std::shared_ptr<Connected> context;
  std::string words;
  std::string trouble;
  try {
    if (member) {
      context = std::make_shared<Connected>(static_cast<int>(place - ranks.begin()),
                                            static_cast<int>(ranks.size()));
      context->setTimeout(timeout);
      words = context->open(device);
    }
  } catch (const std::exception& error) {
    trouble = in_words(error.what(), mesh);
  }
  // Even with trouble: the others wait.
  auto texts = meeting.exchange(words);
  if (!trouble.empty()) return fail(ErrorCode::kIo, "gloo: " + trouble);
  if (!texts) return std::unexpected(std::move(texts).error());
  if (!member) return mesh;
  if (auto connected = connect_all(*context, *texts, mesh); !connected)
    return std::unexpected(connected.error());
  mesh.context = context;
  return mesh;
}

// "[/build/gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:4711"
std::string in_words(const std::string& what, const Mesh& mesh) {
  std::string_view text = what;
  if (text.starts_with("[/") || text.starts_with("[.")) {
    const std::size_t end = text.find("] ");
    if (end != std::string_view::npos) text.remove_prefix(end + 2);
  }
  for (std::size_t i = 0; i < mesh.addresses.size(); ++i) {
    const std::string& address = mesh.addresses[i];
    const std::size_t at = address.empty() ? std::string_view::npos : text.find(address);
    if (at == std::string_view::npos) continue;
    const std::string_view behind = text.substr(at + address.size());
    const bool longer_port = !behind.empty() && behind[0] >= '0' && behind[0] <= '9';
    if (!longer_port) return fmt::format("rank {}: {}", mesh.ranks[i], printable(text));
  }
  return printable(text);
}

}  // namespace angio::gloo_backend
