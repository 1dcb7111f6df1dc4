// Version 4 of the interface as NCCL calls it.
#include "abi_common.h"

struct Descr4 {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
    } p2p;
    struct ProxyOp proxyOp;
    int step;
    struct KernelCh kernelCh;
  };
};

int call_v4(const struct Plugin* plugin, void* context) {
  int bad = 0;
  void *group = NULL, *coll = NULL, *p2p = NULL;
  struct Descr4 d;
  memset(&d, 0, sizeof d);
  d.type = kGroup;
  bad |= plugin->startEvent(context, &group, &d);
  COLLECTIVE_NUMBERS(d);
  COLLECTIVE_WORDS(d);
  bad |= plugin->startEvent(context, &coll, &d);
  CHILDREN(4)
  POINT_TO_POINT_NUMBERS(d);
  POINT_TO_POINT_WORDS(d);
  d.p2p.nChannels = 4;
  bad |= plugin->startEvent(context, &p2p, &d);
  bad |= plugin->stopEvent(p2p);
  bad |= plugin->stopEvent(group);
  d.type = 0;
  bad |= plugin->startEvent(context, &p2p, &d);
  if (p2p != NULL) bad |= 64;
  return bad;
}
