// Every reader over any bytes: places lie inside the text and name what they claim.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lint/lint.hpp"

namespace {

void check(const angio::lint::Script& script, const angio::lint::Place& place) {
  if (place.offset > script.text.size() || place.length > script.text.size() - place.offset) std::abort();
  if (place.line == 0 || place.column == 0) std::abort();
}

}  // namespace

// The first byte chooses the format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using angio::lint::FileKind;
  constexpr std::array kKinds{FileKind::kShell,      FileKind::kEnvFile, FileKind::kNcclConf,
                              FileKind::kDockerfile, FileKind::kYaml,    FileKind::kPython};
  if (size == 0) return 0;
  const FileKind kind = kKinds[data[0] % kKinds.size()];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const angio::lint::Script script = angio::lint::read_script("fuzz", text, kind);
  if (script.text != text) std::abort();
  for (const auto& setting : script.settings) {
    check(script, setting.name_place);
    check(script, setting.value_place);
    check(script, setting.statement_place);
  }
  for (const auto& command : script.commands) {
    check(script, command.place);
    if (command.words.empty()) std::abort();
    for (const auto& word : command.words)
      check(script, word.place);
  }
  for (const auto& directive : script.directives)
    check(script, directive.place);
  return 0;
}
