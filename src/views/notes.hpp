// Remarks about a source (cut off, lines not understood), the same words in every view.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/machine.hpp"

namespace angio::views {

// "node.snap:12: repeats an earlier record, 3 times; the first one counts"
std::string note_text(const model::Note& note);
Json notes_json(const std::vector<model::Note>& notes);

}  // namespace angio::views
