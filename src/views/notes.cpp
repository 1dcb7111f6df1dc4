#include "views/notes.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace angio::views {

std::string note_text(const model::Note& note) {
  std::string text = printable(note.text);
  if (note.count > 1) text += fmt::format(", {} times", note.count);
  if (!note.remedy.empty()) text += "; " + note.remedy;
  return text;
}

Json notes_json(const std::vector<model::Note>& notes) {
  Json all = Json::array();
  for (const model::Note& note : notes) {
    all.push_back(
        Json::object({{"id", note.id}, {"text", note.text}, {"count", note.count}, {"remedy", note.remedy}}));
  }
  return all;
}

}  // namespace angio::views
