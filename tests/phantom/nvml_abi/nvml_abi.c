/* The NVML stand-in as NCCL asks it, in C and with declarations of its own.
 *
 *   nvml_abi LIBRARY
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "nvml_abi, line %d: not so: %s\n", __LINE__, #condition);     \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

typedef struct {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
} PciInfo;

typedef struct {
  unsigned version, domain, bus, device, id, subsystem, base_class, sub_class;
  char address[32];
} PciInfoExt;

typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  union {
    unsigned number;
    unsigned long long big;
  } value;
} FieldValue;

typedef struct {
  unsigned environment, feature, tools;
} ConfidentialState;

static void* library;

static void* find(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "nvml_abi: no %s\n", name);
    exit(1);
  }
  return found;
}

/* A call by its name, with the arguments' types in front. */
#define CALL(name, types, ...) (((int(*) types)find(name))(__VA_ARGS__))

/* All that NCCL 2.18 to 2.32 look up. */
static const char* const kNames[] = {"nvmlInit", "nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetCount",
    "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetIndex",
    "nvmlErrorString", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo",
    "nvmlDeviceGetNvLinkCapability", "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetP2PStatus",
    "nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetPlatformInfo",
    "nvmlSystemGetConfComputeState", "nvmlSystemGetConfComputeSettings", "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetPciInfoExt", "nvmlDeviceGetPcieLinkMaxSpeed", "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetMemoryErrorCounter",
    "nvmlDeviceGetName", "nvmlSystemGetDriverVersion"};

static void publish_hardware(void) {
  static const char kText[] =
      "angio-phantom 1\n"
      "driver cuda=12040 version=550.54.15\n"
      "gpu bus=0000:17:00.0 name=Phantom%20H sm=90 memory=1073741824 nvlinks=4 nvlink=4 pcie=5 width=8\n"
      "link gpu=0000:17:00.0 index=0 remote=ffff:ff:ff.f class=0x068000\n"
      "link gpu=0000:17:00.0 index=2 remote=0001:2b:00.0 class=0x030200\n"
      "p2p gpu=0000:17:00.0 peer=0001:2b:00.0 status=4\n"
      "gpu bus=0001:2b:00.0 name=Phantom%20A sm=80 memory=2147483648 nvlinks=0\n";
  char path[64];
  const int file = memfd_create("hardware", 0);
  CHECK(file >= 0 && write(file, kText, sizeof kText - 1) == (ssize_t)(sizeof kText - 1));
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  setenv("ANGIO_PHANTOM_HARDWARE", path, 1);
}

static void check_node(void) {
  unsigned count = 0;
  char text[96];
  ConfidentialState state = {9, 9, 9};
  CHECK(CALL("nvmlInit_v2", (void)) == 0);
  CHECK(CALL("nvmlDeviceGetCount_v2", (unsigned*), &count) == 0 && count == 2);
  CHECK(CALL("nvmlSystemGetDriverVersion", (char*, unsigned), text, sizeof text) == 0);
  CHECK(strcmp(text, "550.54.15") == 0);
  CHECK(CALL("nvmlSystemGetConfComputeState", (ConfidentialState*), &state) == 0 && state.feature == 0);
}

static void* check_device(void) {
  void* gpu = NULL;
  void* other = NULL;
  unsigned index = 9;
  int major = 0;
  int minor = 9;
  char text[96];
  CHECK(CALL("nvmlDeviceGetHandleByPciBusId", (const char*, void**), "00000001:2B:00.0", &other) == 0);
  CHECK(CALL("nvmlDeviceGetIndex", (void*, unsigned*), other, &index) == 0 && index == 1);
  CHECK(CALL("nvmlDeviceGetHandleByPciBusId", (const char*, void**), "0000:18:00.0", &other) == 6);
  CHECK(CALL("nvmlDeviceGetHandleByPciBusId", (const char*, void**), "nonsense", &other) == 2);
  CHECK(CALL("nvmlDeviceGetHandleByIndex", (unsigned, void**), 2, &gpu) == 2);
  CHECK(CALL("nvmlDeviceGetHandleByIndex", (unsigned, void**), 0, &gpu) == 0);
  CHECK(CALL("nvmlDeviceGetCudaComputeCapability", (void*, int*, int*), gpu, &major, &minor) == 0);
  CHECK(major == 9 && minor == 0);
  CHECK(CALL("nvmlDeviceGetName", (void*, char*, unsigned), gpu, text, 5) == 7);
  CHECK(CALL("nvmlDeviceGetName", (void*, char*, unsigned), gpu, text, sizeof text) == 0);
  CHECK(strcmp(text, "Phantom H") == 0);
  CHECK(CALL("nvmlDeviceGetName", (void*, char*, unsigned), text, text, sizeof text) == 2); /* no handle */
  return gpu;
}

static void check_pci(void* gpu) {
  PciInfo info;
  PciInfoExt ext = {.version = (unsigned)sizeof ext | 1U << 24U};
  unsigned value = 0;
  memset(&info, 0x55, sizeof info);
  CHECK(CALL("nvmlDeviceGetPciInfo_v3", (void*, PciInfo*), gpu, &info) == 0);
  CHECK(strcmp(info.legacy, "0000:17:00.0") == 0 && strcmp(info.address, "00000000:17:00.0") == 0);
  CHECK(info.bus == 0x17 && info.domain == 0 && info.device == 0);
  CHECK(CALL("nvmlDeviceGetPciInfoExt", (void*, PciInfoExt*), gpu, &ext) == 0);
  CHECK(ext.base_class == 3 && ext.sub_class == 2 && strcmp(ext.address, "00000000:17:00.0") == 0);
  ext.version = 1;
  CHECK(CALL("nvmlDeviceGetPciInfoExt", (void*, PciInfoExt*), gpu, &ext) == 25);
  CHECK(CALL("nvmlDeviceGetPcieLinkMaxSpeed", (void*, unsigned*), gpu, &value) == 0 && value == 5);
  CHECK(CALL("nvmlDeviceGetCurrPcieLinkWidth", (void*, unsigned*), gpu, &value) == 0 && value == 8);
}

static void check_links(void* gpu) {
  int state = 9;
  unsigned has = 9;
  int type = 9;
  PciInfo remote;
  CHECK(CALL("nvmlDeviceGetNvLinkState", (void*, unsigned, int*), gpu, 0, &state) == 0 && state == 1);
  CHECK(CALL("nvmlDeviceGetNvLinkState", (void*, unsigned, int*), gpu, 1, &state) == 0 && state == 0);
  CHECK(CALL("nvmlDeviceGetNvLinkState", (void*, unsigned, int*), gpu, 4, &state) == 2);
  CHECK(CALL("nvmlDeviceGetNvLinkCapability", (void*, unsigned, int, unsigned*), gpu, 2, 0, &has) == 0 && has == 1);
  CHECK(CALL("nvmlDeviceGetNvLinkCapability", (void*, unsigned, int, unsigned*), gpu, 1, 0, &has) == 0 && has == 0);
  CHECK(CALL("nvmlDeviceGetNvLinkVersion", (void*, unsigned, unsigned*), gpu, 0, &has) == 0 && has == 6); /* 4.0 */
  /* The call without a version must not write beyond the older structure's common part. */
  memset(&remote, 0x55, sizeof remote);
  CHECK(CALL("nvmlDeviceGetNvLinkRemotePciInfo", (void*, unsigned, PciInfo*), gpu, 0, &remote) == 0);
  CHECK(strcmp(remote.legacy, "FFFF:FF:FF.F") == 0 && remote.address[0] == 0x55);
  CHECK(CALL("nvmlDeviceGetNvLinkRemotePciInfo_v2", (void*, unsigned, PciInfo*), gpu, 2, &remote) == 0);
  CHECK(strcmp(remote.address, "00000001:2B:00.0") == 0);
  CHECK(CALL("nvmlDeviceGetNvLinkRemotePciInfo", (void*, unsigned, PciInfo*), gpu, 1, &remote) == 3);
  CHECK(CALL("nvmlDeviceGetNvLinkRemoteDeviceType", (void*, unsigned, int*), gpu, 0, &type) == 0 && type == 2);
  CHECK(CALL("nvmlDeviceGetNvLinkRemoteDeviceType", (void*, unsigned, int*), gpu, 2, &type) == 0 && type == 0);
}

static void check_fields(void* gpu) {
  FieldValue values[5] = {{.field = 165, .scope = 2}, {.field = 165, .scope = 3}, {.field = 170}, {.field = 91},
                          {.field = 82}};
  CHECK(sizeof values[0] == 40);
  CHECK(CALL("nvmlDeviceGetFieldValues", (void*, int, FieldValue*), gpu, 5, values) == 0);
  CHECK(values[0].result == 0 && values[0].value.number == 1);
  CHECK(values[1].result == 0 && values[1].value.number == 0);
  CHECK(values[2].result == 0 && values[2].value.number == 0); /* no C2C */
  CHECK(values[3].result == 0 && values[3].value.number == 4);
  CHECK(values[4].result == 3);
}

static void check_peers(void* gpu) {
  void* other = NULL;
  int status = 9;
  CHECK(CALL("nvmlDeviceGetHandleByIndex", (unsigned, void**), 1, &other) == 0);
  CHECK(CALL("nvmlDeviceGetP2PStatus", (void*, void*, int, int*), gpu, other, 0, &status) == 0 && status == 4);
  CHECK(CALL("nvmlDeviceGetP2PStatus", (void*, void*, int, int*), other, gpu, 1, &status) == 0 && status == 0);
  CHECK(CALL("nvmlDeviceGetNvLinkState", (void*, unsigned, int*), other, 0, &status) == 3); /* built without */
  CHECK(CALL("nvmlDeviceGetGpuFabricInfoV", (void*, void*), gpu, &status) == 3);
}

int main(int count, char** words) {
  if (count != 2) {
    fprintf(stderr, "nvml_abi LIBRARY\n");
    return 2;
  }
  publish_hardware();
  library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  for (unsigned at = 0; at < sizeof kNames / sizeof kNames[0]; ++at) {
    find(kNames[at]);
  }
  check_node();
  void* gpu = check_device();
  check_pci(gpu);
  check_links(gpu);
  check_fields(gpu);
  check_peers(gpu);
  printf("NVML: as NCCL asks\n");
  return 0;
}
