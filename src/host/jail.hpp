// Opening a path inside a directory that plays the part of "/", so that no link and no ".." leads out of it.
// The kernel does it with openat2(RESOLVE_IN_ROOT); a walk in user space serves where that call is missing.
// Used by the directory root only.
#pragma once

#include <string>

namespace angio::host {

// A file descriptor, or -1 with errno. flags as for open(2); O_CLOEXEC is added.
int open_in_root(int directory, const std::string& path, int flags);

// The same by walking component by component: for kernels before 5.6, gVisor and strict seccomp filters.
int walk_in_root(int directory, const std::string& path, int flags);

}  // namespace angio::host
