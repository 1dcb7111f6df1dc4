#include "import/draft.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace angio::import {

Draft::Draft(ForeignKind kind, const std::string& name)
    : name_(printable(name)), place_(machine.places.add(name_)) {
  machine.name = name_;
  machine.imported = true;
  machine.origin = fmt::format("{} {}", name_of(kind), name_);
}

bool Draft::count_again(std::string_view id) {
  const auto found = note_index_.find(id);
  if (found != note_index_.end()) ++machine.notes[found->second].count;
  return found != note_index_.end();
}

void Draft::note(std::string_view id, std::uint32_t line, std::string_view text, std::string_view remedy) {
  if (count_again(id)) return;
  note_index_.emplace(id, machine.notes.size());
  const std::string place = line > 0 ? fmt::format("{}:{}", name_, line) : name_;
  machine.notes.push_back({std::string(id), fmt::format("{}: {}", place, text), 1, std::string(remedy)});
}

void Draft::note_unknown_line(std::string_view format, std::uint32_t line, std::string_view text) {
  const std::string id = std::string(format) + ".unknown-line";
  note(
      id, line, [&] { return fmt::format("not understood: {}", quoted(text)); },
      "nothing to do if this is prose around the output; otherwise run the command again");
}

bool Draft::has_room_for_gpu(std::uint32_t line) {
  constexpr std::size_t kMaxGpus = 512;
  if (machine.gpus.size() < kMaxGpus) return true;
  note("import.too-many-gpus", line, "more GPUs than any node has; the rest is not read",
       "give one file per node");
  return false;
}

bool Draft::has_room_for_network(std::uint32_t line) {
  constexpr std::size_t kMaxNetworks = 4096;  // virtual functions count
  if (machine.rdma.size() + machine.networks.size() < kMaxNetworks) return true;
  note("import.too-many-network-devices", line,
       "more network devices than any node has; the rest is not read", "give one file per node");
  return false;
}

std::unexpected<Error> Draft::nothing_read(std::string_view expected, std::string_view remedy) const {
  return fail(
      ErrorCode::kInvalidInput,
      fmt::format("{}: nothing could be read as {}: expected {}", name_,
                  std::string_view(machine.origin).substr(0, machine.origin.size() - name_.size() - 1),
                  expected),
      std::string(remedy));
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kReadable = 100;
  text = trim(text);
  const bool cut = text.size() > kReadable;
  return fmt::format("\"{}{}\"", printable(text.substr(0, kReadable)), cut ? "…" : "");
}

}  // namespace angio::import
