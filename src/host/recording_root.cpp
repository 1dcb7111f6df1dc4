#include "host/root.hpp"

namespace angio::host {

Answers& RecordingRoot::at(std::string_view path) const {
  const auto found = recording_.find(path);
  return found != recording_.end() ? found->second : recording_[std::string(path)];
}

Read<std::string> RecordingRoot::read(std::string_view path) const {
  std::optional<Read<std::string>>& slot = at(path).content;
  if (!slot) slot = inner_.read(path);
  return *slot;
}

Read<Names> RecordingRoot::list(std::string_view path) const {
  std::optional<Read<Names>>& slot = at(path).names;
  if (!slot) slot = inner_.list(path);
  return *slot;
}

Read<std::string> RecordingRoot::read_link(std::string_view path) const {
  std::optional<Read<std::string>>& slot = at(path).link;
  if (!slot) slot = inner_.read_link(path);
  return *slot;
}

bool RecordingRoot::exists(std::string_view path) const {
  std::optional<bool>& slot = at(path).exists;
  if (!slot) slot = inner_.exists(path);
  return *slot;
}

void MountedRoot::mount(std::string prefix, std::unique_ptr<Root> root) {
  mounts_.emplace_back(std::move(prefix), std::move(root));
}

std::pair<const Root*, std::string_view> MountedRoot::resolve(std::string_view path) const {
  const std::pair<std::string, std::unique_ptr<Root>>* best = nullptr;
  for (const auto& mount : mounts_) {
    const std::string& prefix = mount.first;
    const bool below =
        path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
    if (below && (best == nullptr || prefix.size() > best->first.size())) best = &mount;
  }
  if (best == nullptr) return {base_.get(), path};
  const std::string_view rest = path.substr(best->first.size());
  return {best->second.get(), rest.empty() ? "/" : rest};
}

Read<std::string> MountedRoot::read(std::string_view path) const {
  const auto [root, rest] = resolve(path);
  return root->read(rest);
}

Read<Names> MountedRoot::list(std::string_view path) const {
  const auto [root, rest] = resolve(path);
  return root->list(rest);
}

Read<std::string> MountedRoot::read_link(std::string_view path) const {
  const auto [root, rest] = resolve(path);
  return root->read_link(rest);
}

bool MountedRoot::exists(std::string_view path) const {
  const auto [root, rest] = resolve(path);
  return root->exists(rest);
}

}  // namespace angio::host
