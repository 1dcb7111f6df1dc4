// Version 1 of the interface as NCCL calls it.
#include "abi_common.h"

struct Descr1 {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash;
      uint64_t seqNumber;
      uint8_t func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      uint8_t datatype;
      uint32_t op;
      size_t trafficBytes;
      uint8_t nMaxChannels;
      uint8_t nWarps;
      uint8_t algo;
      uint8_t proto;
      int isCollnet;
      int isNvls;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      uint8_t func;
      void* buff;
      uint8_t datatype;
      size_t count;
      int peer;
    } p2p;
    struct ProxyOp proxyOp;
    int step;
    struct KernelCh kernelCh;
  };
};

int call_v1(const struct Plugin* plugin, void* context) {
  int bad = 0;
  void *group = NULL, *coll = NULL, *p2p = NULL;
  struct Descr1 d;
  memset(&d, 0, sizeof d);
  d.type = kGroup;
  bad |= plugin->startEvent(context, &group, &d);
  COLLECTIVE_NUMBERS(d);
  d.coll.name = "world";
  d.coll.commHash = ABI_HASH;
  d.coll.func = 4;
  d.coll.datatype = 7;
  d.coll.algo = 1;
  d.coll.proto = 2;
  bad |= plugin->startEvent(context, &coll, &d);
  CHILDREN(1)
  POINT_TO_POINT_NUMBERS(d);
  d.p2p.func = 6;
  d.p2p.datatype = 9;
  bad |= plugin->startEvent(context, &p2p, &d);
  bad |= plugin->stopEvent(p2p);
  bad |= plugin->stopEvent(group);
  d.type = 0;
  bad |= plugin->startEvent(context, &p2p, &d);
  if (p2p != NULL) bad |= 64;
  return bad;
}
