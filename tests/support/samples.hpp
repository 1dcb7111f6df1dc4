// The importers' sample files in tests/samples; ANGIO_SAMPLES names the folder (a compile definition of the
// tests that read them). For importer tests only.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "import/import.hpp"

namespace angio::test {

// "smi_topo/whole.txt" → its bytes; fails the test when it is not there.
inline std::string sample(const std::string& relative) {
  std::ifstream file(std::string(ANGIO_SAMPLES) + "/" + relative, std::ios::binary);
  EXPECT_TRUE(file.good()) << "no sample " << relative;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline model::Machine import_text(const std::string& text, const std::string& name = "t") {
  auto machine = import::import_machine(text, name);
  EXPECT_TRUE(machine.has_value()) << (machine ? "" : machine.error().message);
  return machine ? std::move(*machine) : model::Machine{};
}

inline model::Machine import_sample(const std::string& relative) {
  return import_text(sample(relative), relative.substr(relative.find('/') + 1));
}

inline std::uint32_t note_count(const model::Machine& machine, std::string_view id) {
  for (const model::Note& note : machine.notes) {
    if (note.id == id) return note.count;
  }
  return 0;
}

}  // namespace angio::test
