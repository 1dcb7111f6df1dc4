#include "dryrun/net_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "model/nccl_names.hpp"

namespace angio::dryrun {
namespace {

const std::string* value_of(const Settings& settings, std::string_view name) {
  const auto found =
      std::ranges::find(settings, name, [](const auto& setting) { return std::string_view(setting.first); });
  return found != settings.end() ? &found->second : nullptr;
}

}  // namespace

void take_adapters(const Settings& settings, NodeDesign& design) {
  const std::string* value = value_of(settings, "NCCL_IB_HCA");
  if (value == nullptr) return;
  const model::NameList list = model::parse_names(*value);
  if (list.names.empty()) return;
  std::vector<std::string> left_out;
  std::erase_if(design.hardware.nets, [&](const phantom::Net& net) {
    const bool out = !model::takes(list, net.name, net.port);
    if (out) left_out.push_back(net.name);
    return out;
  });
  if (!left_out.empty())
    design.notes.push_back(
        fmt::format("NCCL_IB_HCA={} leaves out {}", printable(*value), join(left_out, ", ")));
}

bool wants_sockets(const Settings& settings) {
  const std::string* disabled = value_of(settings, "NCCL_IB_DISABLE");
  const std::string* net = value_of(settings, "NCCL_NET");
  return (disabled != nullptr && parse_integer<int>(trim(*disabled)).value_or(0) != 0) ||
         (net != nullptr && to_lower(*net) == "socket");
}

}  // namespace angio::dryrun
