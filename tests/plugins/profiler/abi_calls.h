/* NCCL's part, played in C; see abi_calls.c. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define ABI_HASH 0x1234567890ABCDEFULL
#define ABI_RANK 3

/* One communicator by this version of the interface: group, collective with its proxy operation, step and
   kernel, point-to-point, stops, finalize. 0 when every call gave ncclSuccess and unknown types no handle. */
int abi_call(void* library, int version, int* mask);

/* Single calls, by version 5. */
int abi_open_only(void* library, void** context, int* mask);
void* abi_start(void* library, void* context);
int abi_stop(void* library, void* handle);
int abi_finalize(void* library, void* context);

#ifdef __cplusplus
}
#endif
