// One rank of `angio bench collective` over NCCL, as the command (or srun, mpirun ...) starts it: hidden word
// collective-rank.
#pragma once

namespace angio::app {

// argv: "collective-rank" and the work as JSON. Ends the process: NCCL's threads outlive a normal end.
int run_collective_rank_words(int argc, char** argv);

// Set by the command: the topology of phantom GPUs, and a folder for what NCCL would put into /dev/shm.
inline constexpr const char* kPhantomVariable = "ANGIO_COLLECTIVE_PHANTOM";
inline constexpr const char* kPhantomSharedVariable = "ANGIO_COLLECTIVE_SHM";
// Set where somebody watches: rank 0 says what it measures, one line each that begins so.
inline constexpr const char* kProgressVariable = "ANGIO_COLLECTIVE_PROGRESS";
inline constexpr const char* kProgressMark = "angio-collective-at: ";

}  // namespace angio::app
