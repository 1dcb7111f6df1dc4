// Any word or line of a log: looking it up ends, and what it finds is found again by its own name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "knowledge/glossary.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::knowledge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Meanings meanings = look_up(text);
  for (const Variable* variable : meanings.variables) {
    if (look_up(variable->name).variables.empty()) std::abort();
  }
  for (const GlossaryTerm* term : meanings.terms) {
    if (look_up(term->names.front()).terms.empty()) std::abort();
  }
  for (const LogLine* line : meanings.log_lines) {
    if (!matches(*line, text)) std::abort();
  }
  (void)suggestions(text);
  return 0;
}
