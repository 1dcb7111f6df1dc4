// Samples of fabric texts (tests/samples/<format>/), and short questions about the Fabric that comes of them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "import/fabric/fabric_import.hpp"
#include "model/fabric.hpp"

namespace angio::test {

inline std::string fabric_sample(const std::string& relative) {
  std::ifstream file(std::string(ANGIO_SAMPLES) + "/" + relative, std::ios::binary);
  EXPECT_TRUE(file.good()) << relative;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline model::Fabric import_fabric_text(std::string_view text, const std::string& name = "text") {
  auto fabric = import::import_fabric(text, name);
  EXPECT_TRUE(fabric.has_value()) << (fabric ? "" : fabric.error().message);
  return fabric ? std::move(*fabric) : model::Fabric{};
}

inline model::Fabric import_fabric_sample(const std::string& relative) {
  return import_fabric_text(fabric_sample(relative), relative.substr(relative.find('/') + 1));
}

inline const model::FabricNode& node_named(const model::Fabric& fabric, std::string_view description) {
  static const model::FabricNode kNone;
  for (const model::FabricNode& node : fabric.nodes) {
    if (node.description == description) return node;
  }
  ADD_FAILURE() << "no node " << description;
  return kNone;
}

inline const model::FabricPort& port_of(const model::Fabric& fabric, std::string_view description,
                                        std::uint32_t number) {
  static const model::FabricPort kNone;
  const model::FabricPort* port = find_port(node_named(fabric, description), number);
  if (port == nullptr) ADD_FAILURE() << description << " has no port " << number;
  return port != nullptr ? *port : kNone;
}

// "leaf-1 port 20"; "" where no cable leads.
inline std::string peer_of(const model::Fabric& fabric, std::string_view description, std::uint32_t number) {
  const model::FabricPort& port = port_of(fabric, description, number);
  return port.peer ? describe(fabric, *port.peer) : std::string();
}

inline std::size_t cables(const model::Fabric& fabric) {
  std::size_t ends = 0;
  for (const model::FabricNode& node : fabric.nodes) {
    for (const model::FabricPort& port : node.ports)
      ends += port.peer ? 1 : 0;
  }
  return ends / 2;
}

inline std::uint32_t note_count(const model::Fabric& fabric, std::string_view id) {
  for (const model::Note& note : fabric.notes) {
    if (note.id == id) return note.count;
  }
  return 0;
}

inline std::string note_text(const model::Fabric& fabric, std::string_view id) {
  for (const model::Note& note : fabric.notes) {
    if (note.id == id) return note.text;
  }
  return {};
}

inline std::string refusal(std::string_view text) {
  const auto fabric = import::import_fabric(text, "text");
  EXPECT_FALSE(fabric.has_value());
  return fabric ? std::string() : fabric.error().message;
}

}  // namespace angio::test
