// Words for the enumerators of a fabric in Angio's own JSON ("angio.fabric/1"): one table for the writer in
// views and the reader in import, so that what one writes the other reads. Not for people: name_of() in
// fabric.hpp has the words that infiniband-diags print.
#pragma once

#include <optional>
#include <string_view>

#include "model/fabric.hpp"

namespace angio::model {

inline constexpr std::string_view kFabricSchema = "angio.fabric/1";

std::string_view word_of(FabricKind kind);        // "infiniband", "ethernet"
std::string_view word_of(FabricNodeKind kind);    // "unknown", "adapter", "switch", "router"
std::string_view word_of(FabricCounter counter);  // "symbol_errors", "transmit_bytes"

std::optional<FabricKind> find_fabric_kind(std::string_view word);
std::optional<FabricNodeKind> find_fabric_node_kind(std::string_view word);
std::optional<FabricCounter> find_counter_word(std::string_view word);
// The words of name_of(): "Active", "LinkUp".
std::optional<PortState> find_port_state(std::string_view name);
std::optional<PortPhysicalState> find_physical_state(std::string_view name);

}  // namespace angio::model
