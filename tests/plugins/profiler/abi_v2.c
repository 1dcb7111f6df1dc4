// Version 2 of the interface as NCCL calls it.
#include "abi_common.h"

struct Descr2 {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash;
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      size_t trafficBytes;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      const char* algo;
      const char* proto;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
    } p2p;
    struct ProxyOp proxyOp;
    int step;
    struct KernelCh kernelCh;
  };
};

int call_v2(const struct Plugin* plugin, void* context) {
  int bad = 0;
  void *group = NULL, *coll = NULL, *p2p = NULL;
  struct Descr2 d;
  memset(&d, 0, sizeof d);
  d.type = kGroup;
  bad |= plugin->startEvent(context, &group, &d);
  COLLECTIVE_NUMBERS(d);
  d.coll.name = "world";
  d.coll.commHash = ABI_HASH;
  COLLECTIVE_WORDS(d);
  bad |= plugin->startEvent(context, &coll, &d);
  CHILDREN(2)
  POINT_TO_POINT_NUMBERS(d);
  POINT_TO_POINT_WORDS(d);
  bad |= plugin->startEvent(context, &p2p, &d);
  bad |= plugin->stopEvent(p2p);
  bad |= plugin->stopEvent(group);
  d.type = 0;
  bad |= plugin->startEvent(context, &p2p, &d);
  if (p2p != NULL) bad |= 64;
  return bad;
}
