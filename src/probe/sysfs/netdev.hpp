// The network interfaces of /sys/class/net, one by one. Part of probe_network.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

// By name. Addresses come from "/@net/addresses".
std::vector<model::NetDevice> read_net_devices(const host::Root& root, model::Machine& machine);

// "eth0 10.0.0.5/24" lines, by interface.
std::map<std::string, std::vector<std::string>> parse_addresses(std::string_view text);

}  // namespace angio::probe
