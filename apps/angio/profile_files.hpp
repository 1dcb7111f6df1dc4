// The ring files of the profiler plugin on this machine: where they are, whose process lives, which may go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "profile/profile.hpp"

namespace angio::app {

// ANGIO_PROFILER_DIR, or the plugin's default for this user.
std::string default_profile_directory();

// Paths of files, folders stand for their *.ring. Empty: the default folder.
Result<std::vector<std::string>> find_profile_files(const std::vector<std::string>& named);
// What cannot be read is said in problems; an error when nothing could.
Result<std::vector<profile::Input>> read_profile_files(const std::vector<std::string>& paths,
                                                       std::vector<std::string>& problems);

struct Cleaned {
  std::size_t removed = 0;
  std::uint64_t bytes = 0;
  std::size_t running = 0;  // kept: the process lives
  std::size_t unknown = 0;  // kept: of another host, container or user, or no ring file
};
Result<Cleaned> clean_profile_files(const std::string& directory);

}  // namespace angio::app
