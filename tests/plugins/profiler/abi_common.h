// What the versions of the profiler interface share when NCCL's part is played: the members of descriptors
// that never changed, states, and the calls that follow a collective. Declared from the public headers
// (NVIDIA/nccl src/include/plugin/profiler/profiler_v1.h to v7.h) and not from the plugin's own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "abi_calls.h"

enum {
  kGroup = 1,
  kColl = 2,
  kP2p = 4,
  kProxyOp = 8,
  kProxyStep = 16,
  kKernelCh = 64,
  kGroupApi = 256,
  kCollApi = 512
};
enum { kGpuWait = 8, kSendWait = 9, kPeerWait = 20, kKernelStop = 22 };

struct ProxyOp {
  pid_t pid;
  uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
};
struct KernelCh {
  uint8_t channelId;
  uint64_t pTimer;
};

union Args {
  size_t transSize;
  uint64_t pTimer;
  struct {
    size_t transSize;
    int steps;
  } proxyOp;
};

// The members of every version but init, which differs.
struct Plugin {
  const char* name;
  void* init;
  int (*startEvent)(void* context, void** handle, void* descr);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, int state, union Args* args);
  int (*finalize)(void* context);
};

// What every collective and point-to-point operation of the test has.
#define COLLECTIVE_NUMBERS(d) \
  (d).type = kColl;           \
  (d).rank = ABI_RANK;        \
  (d).parentObj = group;      \
  (d).coll.seqNumber = 41;    \
  (d).coll.count = 1000;      \
  (d).coll.root = 2;          \
  (d).coll.nMaxChannels = 12; \
  (d).coll.nWarps = 16
#define COLLECTIVE_WORDS(d)          \
  (d).coll.func = "AllReduce";       \
  (d).coll.datatype = "ncclFloat32"; \
  (d).coll.algo = "RING";            \
  (d).coll.proto = "SIMPLE"
#define POINT_TO_POINT_NUMBERS(d) \
  memset(&(d), 0, sizeof(d));     \
  (d).type = kP2p;                \
  (d).rank = ABI_RANK;            \
  (d).parentObj = group;          \
  (d).p2p.count = 500;            \
  (d).p2p.peer = 9
#define POINT_TO_POINT_WORDS(d) \
  (d).p2p.func = "Send";        \
  (d).p2p.datatype = "ncclBfloat16"

// The parts that do not depend on the version: proxy operation, step, states, kernel.
#define CHILDREN(N)                                                            \
  {                                                                            \
    struct Descr##N d;                                                         \
    union Args args;                                                           \
    void *op = NULL, *step = NULL, *kernel = NULL;                             \
    memset(&d, 0, sizeof d);                                                   \
    d.type = kProxyOp;                                                         \
    d.parentObj = coll;                                                        \
    d.rank = ABI_RANK;                                                         \
    d.proxyOp = (struct ProxyOp){getpid(), 5, 6, 8, 524288, 1};                \
    bad |= plugin->startEvent(context, &op, &d);                               \
    memset(&d, 0, sizeof d);                                                   \
    d.type = kProxyStep;                                                       \
    d.parentObj = op;                                                          \
    d.rank = ABI_RANK;                                                         \
    d.step = 3;                                                                \
    bad |= plugin->startEvent(context, &step, &d);                             \
    memset(&args, 0, sizeof args);                                             \
    args.transSize = 4096;                                                     \
    bad |= plugin->recordEventState(step, kGpuWait, N <= 3 ? NULL : &args);    \
    if (N >= 4) bad |= plugin->recordEventState(step, kPeerWait, &args);       \
    bad |= plugin->recordEventState(step, kSendWait, N <= 3 ? NULL : &args);   \
    bad |= plugin->stopEvent(step);                                            \
    bad |= plugin->stopEvent(op);                                              \
    if (N >= 3) {                                                              \
      memset(&d, 0, sizeof d);                                                 \
      d.type = kKernelCh;                                                      \
      d.parentObj = coll;                                                      \
      d.kernelCh.channelId = 7;                                                \
      if (N >= 4) d.kernelCh.pTimer = 111;                                     \
      bad |= plugin->startEvent(context, &kernel, &d);                         \
      args.pTimer = 222;                                                       \
      if (N >= 4) bad |= plugin->recordEventState(kernel, kKernelStop, &args); \
      bad |= plugin->stopEvent(kernel);                                        \
    }                                                                          \
    bad |= plugin->stopEvent(coll);                                            \
    bad |= plugin->stopEvent(coll);                                            \
    bad |= plugin->stopEvent(NULL);                                            \
  }

// One communicator's events by a version; bits of what went wrong.
int call_v1(const struct Plugin* plugin, void* context);
int call_v2(const struct Plugin* plugin, void* context);
int call_v3(const struct Plugin* plugin, void* context);
int call_v4(const struct Plugin* plugin, void* context);
int call_v5(const struct Plugin* plugin, void* context);
int call_v6(const struct Plugin* plugin, void* context);
int call_v7(const struct Plugin* plugin, void* context);
// A collective alone; its handle.
void* start_v5(const struct Plugin* plugin, void* context);
