#include "probe/place.hpp"

#include <cerrno>

namespace angio::probe {

Place::Place(const host::Root& root, model::Machine& machine, std::string directory)
    : root_(root), directory_(std::move(directory)), id_(machine.places.add(directory_)) {}

std::string Place::path(std::string_view leaf) const {
  if (leaf.empty()) return directory_;
  std::string full;
  full.reserve(directory_.size() + 1 + leaf.size());
  return full.append(directory_).append("/").append(leaf);
}

Observed<std::string> Place::text(const char* leaf) const {
  return parsed(leaf, [](std::string_view text) { return std::optional(std::string(text)); });
}

Observed<host::Names> Place::names(const char* leaf) const {
  host::Read<host::Names> names = root_.list(path(leaf));
  if (!names) return missing<host::Names>(leaf, names.error());
  return Observed<host::Names>::known(std::move(*names), source(leaf));
}

bool Place::is_absence(const host::ReadError& error) {
  return error.error == ENOENT || error.error == ENOTDIR || error.error == ENODEV;
}

model::Reason Place::reason_of(const host::ReadError& error) {
  switch (error.error) {
    case host::kNotCollected:
      return model::Reason::kNotCollected;
    case EACCES:
    case EPERM:
      return model::Reason::kDenied;
    case EOPNOTSUPP:
    case ENOSYS:
      return model::Reason::kUnsupported;
    default:
      return model::Reason::kFailed;
  }
}

}  // namespace angio::probe
