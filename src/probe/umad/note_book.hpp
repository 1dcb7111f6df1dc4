// Notes of one scan: the first example of each kind and how often it came.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"

namespace angio::probe::umad {

class NoteBook {
 public:
  void add(std::string_view id, std::string text, std::string_view remedy = {}) {
    for (model::Note& note : notes_) {
      if (note.id != id) continue;
      ++note.count;
      return;
    }
    notes_.push_back({std::string(id), std::move(text), 1, std::string(remedy)});
  }
  [[nodiscard]] std::vector<model::Note> take() { return std::move(notes_); }

 private:
  std::vector<model::Note> notes_;  // a dozen kinds at most
};

}  // namespace angio::probe::umad
