#include "nvml/devices.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "hardware_file.hpp"

namespace angio::phantom::nvml {
namespace {

const Node* read_node() {
  auto* const node = new Node;
  const char* const host = std::getenv("NCCL_HOSTID");
  node->host = host == nullptr ? "" : host;
  node->problem = read_hardware_file(node->hardware);
  if (!node->problem.empty()) {
    node->hardware = Hardware{};
  }
  return node;
}

bool parse_hexadecimal(std::string_view text, std::size_t most_digits, unsigned& value) {
  if (text.empty() || text.size() > most_digits) {
    return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

const Node& node() {
  static const Node& node = *read_node();
  return node;
}

const Gpu* find_gpu(const void* handle) {
  for (const Gpu& gpu : node().hardware.gpus) {
    if (&gpu == handle) {
      return &gpu;
    }
  }
  return nullptr;
}

bool parse_address(std::string_view text, Address& address) {
  Address found;
  const std::size_t last = text.rfind(':');
  if (last == std::string_view::npos) {
    return false;
  }
  std::string_view bus = text.substr(0, last);
  if (const std::size_t first = bus.find(':'); first != std::string_view::npos) {
    if (!parse_hexadecimal(bus.substr(0, first), 8, found.domain)) {
      return false;
    }
    bus = bus.substr(first + 1);
  }
  const std::string_view slot = text.substr(last + 1);
  const std::size_t dot = slot.find('.');
  const bool whole =
      parse_hexadecimal(bus, 2, found.bus) && parse_hexadecimal(slot.substr(0, dot), 2, found.device) &&
      (dot == std::string_view::npos || parse_hexadecimal(slot.substr(dot + 1), 1, found.function));
  if (whole) {
    address = found;
  }
  return whole;
}

Return copy_text(std::string_view text, char* to, unsigned size) {
  if (to == nullptr) {
    return kInvalidArgument;
  }
  if (size <= text.size()) {
    return kInsufficientSize;
  }
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
  return kSuccess;
}

}  // namespace angio::phantom::nvml
