#include "phantom/hardware.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

namespace angio::phantom {
namespace {

constexpr std::string_view kFirstLine = "angio-phantom 1";
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool needs_escape(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return code <= 0x20 || code == 0x7f || letter == '%';
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (needs_escape(letter)) {
      const auto code = static_cast<unsigned char>(letter);
      text += '%';
      text += kHexDigits[code >> 4U];
      text += kHexDigits[code & 15U];
    } else {
      text += letter;
    }
  }
  return text;
}

// False when a '%' is not followed by two hexadecimal digits.
bool unescape(std::string_view text, std::string& value) {
  value.clear();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      value += text[at];
      continue;
    }
    unsigned code = 0;
    if (text.size() - at < 3) {
      return false;
    }
    const char* const begin = text.data() + at + 1;
    const auto [end, error] = std::from_chars(begin, begin + 2, code, 16);
    if (error != std::errc{} || end != begin + 2) {
      return false;
    }
    value += static_cast<char>(code);
    at += 2;
  }
  return true;
}

// Shown in an error, which may end on a terminal.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const char letter : text.substr(0, kMost)) {
    out += letter >= 0x20 && letter < 0x7f ? letter : '?';
  }
  return text.size() > kMost ? out + "..." : out;
}

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string decimal(double value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Neither a latency nor anything else here is infinite or below zero.
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 && value < 1e18;
}

bool parse_flag(std::string_view text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1";
}

// The words of one line after its first. Each is taken once; those that nobody took are errors.
class Words {
 public:
  // Empty on success.
  std::string split(std::string_view line) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (end > 0) {
        const std::string_view word = line.substr(0, end);
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos || equals == 0) {
          return "'" + shown(word) + "' is not key=value";
        }
        if (!values_.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
          return shown(word.substr(0, equals)) + "= stands twice";
        }
      }
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return {};
  }

  template <class Value>
  void take(std::string_view key, Value& value) {
    take_with(key, [&value](std::string_view text) { return parse_number(text, value); });
  }
  void take(std::string_view key, std::string& value) {
    take_with(key, [&value](std::string_view text) { return unescape(text, value); });
  }
  void take(std::string_view key, bool& value) {
    take_with(key, [&value](std::string_view text) { return parse_flag(text, value); });
  }

  // Empty when every word was understood.
  [[nodiscard]] std::string problem() const {
    if (!problem_.empty() || values_.empty()) {
      return problem_;
    }
    return "unknown key '" + shown(values_.begin()->first) + "'";
  }

 private:
  template <class Parse>
  void take_with(std::string_view key, const Parse& parse) {
    const auto found = values_.find(key);
    if (found == values_.end()) {
      return;
    }
    if (!parse(found->second) && problem_.empty()) {
      problem_ = std::string(key) + "=" + shown(found->second) + " is no such value";
    }
    values_.erase(found);
  }

  std::map<std::string_view, std::string_view> values_;
  std::string problem_;
};

class Reader {
 public:
  explicit Reader(Hardware& hardware) : hardware_(hardware) {}

  // One line without its line feed; empty on success.
  std::string read(std::string_view line) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view kind = line.substr(0, end);
    Words words;
    if (std::string problem = words.split(line.substr(end)); !problem.empty()) {
      return problem;
    }
    if (kind == "driver") {
      return read_driver(words);
    }
    if (kind == "gpu") {
      return read_gpu(words);
    }
    if (kind == "link") {
      return read_link(words);
    }
    if (kind == "p2p") {
      return read_peer(words);
    }
    if (kind == "net") {
      return read_net(words);
    }
    return "unknown line '" + shown(kind) + "'";
  }

 private:
  std::string read_driver(Words& words) {
    words.take("cuda", hardware_.cuda_driver);
    words.take("version", hardware_.driver_version);
    return words.problem();
  }

  std::string read_gpu(Words& words) {
    Gpu gpu;
    words.take("bus", gpu.bus);
    words.take("name", gpu.name);
    words.take("sm", gpu.sm);
    words.take("memory", gpu.memory);
    words.take("nvlinks", gpu.nvlinks);
    words.take("nvlink", gpu.nvlink_version);
    words.take("pcie", gpu.pcie_generation);
    words.take("width", gpu.pcie_width);
    words.take("gdr", gpu.gdr);
    words.take("dmabuf", gpu.dmabuf);
    words.take("multicast", gpu.multicast);
    words.take("numa", gpu.numa);
    if (std::string problem = words.problem(); !problem.empty()) {
      return problem;
    }
    if (gpu.bus.empty()) {
      return "gpu without bus=";
    }
    if (hardware_.gpus.size() == kMostDevices) {
      return "more than " + std::to_string(kMostDevices) + " GPUs in one node";
    }
    if (!gpus_.emplace(gpu.bus, hardware_.gpus.size()).second) {
      return "GPU " + shown(gpu.bus) + " stands twice";
    }
    hardware_.gpus.push_back(std::move(gpu));
    return {};
  }

  // The GPU that gpu= names, which has to stand above; null with the problem said.
  Gpu* take_gpu(Words& words, std::string& problem) {
    std::string bus;
    words.take("gpu", bus);
    const auto found = gpus_.find(bus);
    if (found == gpus_.end()) {
      problem = bus.empty() ? "no gpu=" : "no GPU " + shown(bus) + " above";
      return nullptr;
    }
    return &hardware_.gpus[found->second];
  }

  std::string read_link(Words& words) {
    std::string problem;
    Link link;
    Gpu* const gpu = take_gpu(words, problem);
    words.take("index", link.index);
    words.take("remote", link.remote);
    words.take("class", link.remote_class);
    if (gpu == nullptr || !words.problem().empty()) {
      return gpu == nullptr ? problem : words.problem();
    }
    if (link.remote.empty()) {
      return "link without remote=";
    }
    gpu->links.push_back(std::move(link));
    return {};
  }

  std::string read_peer(Words& words) {
    std::string problem;
    Peer peer;
    Gpu* const gpu = take_gpu(words, problem);
    words.take("peer", peer.bus);
    words.take("status", peer.status);
    if (gpu == nullptr || !words.problem().empty()) {
      return gpu == nullptr ? problem : words.problem();
    }
    if (peer.bus.empty()) {
      return "p2p without peer=";
    }
    gpu->peers.push_back(std::move(peer));
    return {};
  }

  std::string read_net(Words& words) {
    Net net;
    words.take("name", net.name);
    words.take("path", net.pci_path);
    words.take("speed", net.speed);
    words.take("port", net.port);
    words.take("guid", net.guid);
    words.take("latency", net.latency);
    words.take("gdr", net.gdr);
    words.take("dmabuf", net.dmabuf);
    words.take("flush", net.force_flush);
    words.take("comms", net.max_comms);
    words.take("receives", net.max_receives);
    if (std::string problem = words.problem(); !problem.empty()) {
      return problem;
    }
    if (net.name.empty()) {
      return "net without name=";
    }
    if (hardware_.nets.size() == kMostDevices) {
      return "more than " + std::to_string(kMostDevices) + " network adapters in one node";
    }
    hardware_.nets.push_back(std::move(net));
    return {};
  }

  Hardware& hardware_;
  std::map<std::string, std::size_t> gpus_;
};

std::string word(std::string_view key, std::string_view value) {
  return " " + std::string(key) + "=" + escaped(value);
}
std::string word(std::string_view key, std::uint64_t value) {
  return " " + std::string(key) + "=" + std::to_string(value);
}

std::string gpu_lines(const Gpu& gpu) {
  std::string text = "gpu" + word("bus", gpu.bus) + word("name", gpu.name) + word("sm", gpu.sm) +
                     word("memory", gpu.memory) + word("nvlinks", gpu.nvlinks) +
                     word("nvlink", gpu.nvlink_version) + word("pcie", gpu.pcie_generation) +
                     word("width", gpu.pcie_width) + word("gdr", std::uint64_t{gpu.gdr}) +
                     word("dmabuf", std::uint64_t{gpu.dmabuf}) +
                     word("multicast", std::uint64_t{gpu.multicast}) + word("numa", gpu.numa) + "\n";
  for (const Link& link : gpu.links) {
    text += "link" + word("gpu", gpu.bus) + word("index", link.index) + word("remote", link.remote) +
            word("class", hexadecimal(link.remote_class)) + "\n";
  }
  for (const Peer& peer : gpu.peers) {
    text += "p2p" + word("gpu", gpu.bus) + word("peer", peer.bus) +
            word("status", std::to_string(peer.status)) + "\n";
  }
  return text;
}

std::string net_line(const Net& net) {
  return "net" + word("name", net.name) + word("path", net.pci_path) + word("speed", net.speed) +
         word("port", net.port) + word("guid", hexadecimal(net.guid)) +
         word("latency", decimal(net.latency)) + word("gdr", std::uint64_t{net.gdr}) +
         word("dmabuf", std::uint64_t{net.dmabuf}) + word("flush", std::uint64_t{net.force_flush}) +
         word("comms", net.max_comms) + word("receives", net.max_receives) + "\n";
}

}  // namespace

std::string write_hardware(const Hardware& hardware) {
  std::string text = std::string(kFirstLine) + "\n";
  text += "driver" + word("cuda", hardware.cuda_driver) + word("version", hardware.driver_version) + "\n";
  for (const Gpu& gpu : hardware.gpus) {
    text += gpu_lines(gpu);
  }
  for (const Net& net : hardware.nets) {
    text += net_line(net);
  }
  return text;
}

std::string parse_hardware(std::string_view text, Hardware& hardware) {
  hardware = Hardware{};
  Reader reader(hardware);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string problem;
    if (number == 1) {
      problem = line == kFirstLine ? "" : "not '" + std::string(kFirstLine) + "'";
    } else if (!line.empty()) {
      problem = reader.read(line);
    }
    if (!problem.empty()) {
      return "line " + std::to_string(number) + ": " + problem;
    }
    if (text.empty()) {
      return {};
    }
  }
  return "empty";
}

std::array<unsigned char, 16> gpu_uuid(std::string_view node, std::string_view bus) {
  const std::string key = std::string(node) + '\n' + std::string(bus);
  std::array<unsigned char, 16> uuid{};
  for (std::size_t half = 0; half < 2; ++half) {
    // FNV-1a over 64 bits; the second half starts elsewhere.
    std::uint64_t hash = 0xcbf29ce484222325U + half;
    for (const char letter : key) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
    }
    for (std::size_t byte = 0; byte < 8; ++byte) {
      uuid[half * 8 + byte] = static_cast<unsigned char>(hash >> (56 - 8 * byte));
    }
  }
  return uuid;
}

std::string gpu_uuid_text(std::string_view node, std::string_view bus) {
  std::string text = "GPU-";
  const std::array<unsigned char, 16> uuid = gpu_uuid(node, bus);
  for (std::size_t byte = 0; byte < uuid.size(); ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) {
      text += '-';
    }
    text += kHexDigits[uuid[byte] >> 4U];
    text += kHexDigits[uuid[byte] & 15U];
  }
  return text;
}

}  // namespace angio::phantom
