// Version 7 of the interface as NCCL calls it.
#include "abi_common.h"

struct Descr7 {
  uint64_t type;
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
      void* parentGroup;
      const char* kernelVariant;
      bool isSymColl;
      uint64_t userTag;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
      void* parentGroup;
      uint64_t userTag;
    } p2p;
    struct ProxyOp proxyOp;
    int step;
    struct KernelCh kernelCh;
    struct {
      bool graphCaptured;
      int groupDepth;
    } groupApi;
  };
};

int call_v7(const struct Plugin* plugin, void* context) {
  int bad = 0;
  void *group = NULL, *coll = NULL, *p2p = NULL;
  struct Descr7 d;
  memset(&d, 0, sizeof d);
  d.type = kGroup;
  bad |= plugin->startEvent(context, &group, &d);
  void* api = NULL;
  d.type = kGroupApi;
  d.groupApi.groupDepth = 2;
  bad |= plugin->startEvent(context, &api, &d);
  bad |= plugin->recordEventState(api, 23, NULL);
  bad |= plugin->recordEventState(api, 24, NULL);
  memset(&d, 0, sizeof d);
  COLLECTIVE_NUMBERS(d);
  COLLECTIVE_WORDS(d);
  d.coll.parentGroup = group;
  d.coll.userTag = 77;
  d.coll.isSymColl = true;
  bad |= plugin->startEvent(context, &coll, &d);
  CHILDREN(7)
  POINT_TO_POINT_NUMBERS(d);
  POINT_TO_POINT_WORDS(d);
  d.p2p.nChannels = 4;
  bad |= plugin->startEvent(context, &p2p, &d);
  bad |= plugin->stopEvent(p2p);
  bad |= plugin->stopEvent(group);
  bad |= plugin->stopEvent(api);
  d.type = 0;
  bad |= plugin->startEvent(context, &p2p, &d);
  if (p2p != NULL) bad |= 64;
  d.type = (uint64_t)1 << 40;
  bad |= plugin->startEvent(context, &p2p, &d);
  if (p2p != NULL) bad |= 64;
  return bad;
}
