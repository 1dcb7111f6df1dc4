/* Binds the calling process to the place of its rank, for code that cannot be started by `angio run`.
 * Call it first thing in main, before threads exist, memory is touched and CUDA is initialised: threads that
 * exist get the CPU mask too, but their memory policy and the pages they touched stay as they are.
 * Fails open: whatever goes wrong, the process runs on unbound and the message says why. Never prints, exits
 * or throws. Not thread-safe against itself. */
#ifndef ANGIO_H
#define ANGIO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum angio_result {
  ANGIO_BOUND = 0,   /* CPUs and memory are as planned */
  ANGIO_PARTLY = 1,  /* something was refused or reduced */
  ANGIO_UNBOUND = 2  /* nothing was changed */
};

/* local_rank, local_size: -1 takes them from the launcher's variables (LOCAL_RANK, SLURM_LOCALID,
 * OMPI_COMM_WORLD_LOCAL_RANK …). message receives one sentence of at most size bytes, ended by NUL; it may be
 * NULL with size 0. Policies as `angio run` without options: a share of the node's cores, memory preferred. */
int angio_bind(int local_rank, int local_size, char* message, size_t size);

/* "0.1.0" */
const char* angio_version(void);

#ifdef __cplusplus
}
#endif
#endif
