// The rules about commands over any bytes: each complaint and each edit lies inside the text, and mending
// ends: the mended text asks for no other edit of the same rules within a few rounds.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lint/rule.hpp"

namespace {

using angio::lint::Complaints;
using angio::lint::FileKind;
using angio::lint::Script;

Complaints judged(const Script& script) {
  const std::vector<Script> scripts{script};
  const angio::lint::Context context;
  const angio::lint::Input input{scripts, context};
  Complaints complaints;
  check_placement(input, complaints);
  check_launch(input, complaints);
  check_tools(input, complaints);
  check_system(input, complaints);
  return complaints;
}

void check(const Script& script, std::size_t offset, std::size_t length) {
  if (offset > script.text.size() || length > script.text.size() - offset) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array kKinds{FileKind::kShell, FileKind::kDockerfile, FileKind::kYaml, FileKind::kPython};
  if (size == 0) return 0;
  const FileKind kind = kKinds[data[0] % kKinds.size()];
  auto script =
      angio::lint::read_script("fuzz", std::string(reinterpret_cast<const char*>(data) + 1, size - 1), kind);
  for (int round = 0; round < 64; ++round) {
    const auto complaints = judged(script);
    for (const auto& complaint : complaints) {
      check(script, complaint.place.offset, complaint.place.length);
      if (complaint.place.line == 0 || complaint.message.empty()) std::abort();
      for (const auto& edit : complaint.fix)
        check(script, edit.offset, edit.length);
    }
    auto text = angio::lint::apply_fixes(script, complaints);
    if (text == script.text) return 0;
    script = angio::lint::read_script("fuzz", std::move(text), kind);
  }
  return 0;
}
