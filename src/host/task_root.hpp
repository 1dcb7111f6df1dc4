// What the kernel tells of other processes and of /dev/shm by a call and not by a file, as a Root to be
// mounted ("/@tasks"). Live only; a snapshot never holds it. Safe to ask from several threads.
//
//   /affinity/TID   CPUs the thread may use, as a list: sched_getaffinity(2), a tenth of the time of its
//                   status file, which matters at a thousand processes
//   /owner/PID      number of the user
//   /shm            names of the segments of NCCL and PyTorch; /shm/NAME answers "bytes user"
#pragma once

#include <memory>

#include "host/root.hpp"

namespace angio::host {

std::unique_ptr<Root> make_task_root();

}  // namespace angio::host
