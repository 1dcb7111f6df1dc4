// Paths as somebody means them who works in a folder. A host::Root begins at "/", so what a user names is
// made a path from there first. No symbolic link is followed: the library stays known under the name it was
// given.
#pragma once

#include <string>
#include <string_view>

namespace angio::nccl_run {

// "/home/u" and "./a/../b" give "/home/u/a/../b"; a path from the root stays.
std::string path_in(std::string_view folder, std::string_view path);
// In the folder of this process; as it is where that folder is gone.
std::string path_from_here(std::string_view path);

}  // namespace angio::nccl_run
