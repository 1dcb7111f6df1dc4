#include "nccl_run/working_folder.hpp"

#include <unistd.h>

#include <array>
#include <climits>

#include "base/text.hpp"

namespace angio::nccl_run {

std::string path_in(std::string_view folder, std::string_view path) {
  if (path.empty() || path.starts_with('/')) return std::string(path);
  std::string result = folder == "/" ? std::string() : std::string(folder);
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    result += '/';
    result += part;
  }
  return result.empty() ? "/" : result;
}

std::string path_from_here(std::string_view path) {
  std::array<char, PATH_MAX> folder{};
  return getcwd(folder.data(), folder.size()) == nullptr ? std::string(path) : path_in(folder.data(), path);
}

}  // namespace angio::nccl_run
