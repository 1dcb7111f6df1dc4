// Words that the text and the JSON of `angio rdma` share. Only for rdma_*.cpp.
#pragma once

#include <string>
#include <string_view>

#include "model/rdma_rates.hpp"

namespace angio::views {

std::string port_name(const model::RdmaPortRates& port);        // "mlx5_0 port 1"
std::string_view layer_name(const model::RdmaPortRates& port);  // "InfiniBand", "RoCE", "unknown"
std::string_view place_name(model::RdmaCounterPlace place);     // "port", "hardware", "interface", "ethtool"
std::string_view change_name(model::RdmaChangeKind kind);       // "counted", "reset", …
std::string_view verdict_name(model::RdmaVerdict verdict);      // "fine", "narrows", "unknown"
std::string interval_words(double seconds);                     // "10 s"

}  // namespace angio::views
