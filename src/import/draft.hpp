// A machine while an importer writes it: values with the line they were read from, and notes on what
// was damaged, unknown or contradictory. Not a parser; every folder below uses it.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "import/import.hpp"
#include "model/machine.hpp"

namespace angio::import {

class Draft {
 public:
  Draft(ForeignKind kind, const std::string& name);

  [[nodiscard]] model::Source at(std::uint32_t line) const { return {place_, line, ""}; }
  template <typename T>
  model::Observed<T> known(T value, std::uint32_t line) const {
    return model::Observed<T>::known(std::move(value), at(line));
  }
  template <typename T>
  model::Observed<T> absent(std::uint32_t line) const {
    return model::Observed<T>::absent(at(line));
  }
  template <typename T>
  model::Observed<T> unreadable(model::Reason reason, std::uint32_t line) const {
    return model::Observed<T>::unreadable(reason, at(line));
  }

  // Notes with the same id become one: the first keeps its words, the others are counted.
  // line 0: the remark is about the whole text.
  void note(std::string_view id, std::uint32_t line, std::string_view text, std::string_view remedy);
  // words() gives the text: asked for once, so that a million like remarks cost a million counts.
  template <std::invocable Words>
  void note(std::string_view id, std::uint32_t line, const Words& words, std::string_view remedy) {
    if (!count_again(id)) note(id, line, std::string_view(words()), remedy);
  }
  void note_unknown_line(std::string_view format, std::uint32_t line, std::string_view text);

  // Hostile text names more devices than any node has, and what follows compares all with all.
  // False, with a note, when there are enough.
  bool has_room_for_gpu(std::uint32_t line);
  bool has_room_for_network(std::uint32_t line);

  // Fails with `expected` and `remedy` in the words of the file; for texts in which nothing was readable.
  [[nodiscard]] std::unexpected<Error> nothing_read(std::string_view expected, std::string_view remedy) const;

  model::Machine machine;

 private:
  bool count_again(std::string_view id);  // false when there is no note with this id yet

  std::string name_;
  std::uint32_t place_;
  std::map<std::string, std::size_t, std::less<>> note_index_;
};

// "…" around text that is safe to print, cut to a readable length.
std::string quoted(std::string_view text);

}  // namespace angio::import
