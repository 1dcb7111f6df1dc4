// Calls each version of the profiler interface as NCCL does, in C, with descriptors of their own
// (abi_common.h, abi_vN.c).
#include "abi_calls.h"

#include <dlfcn.h>

#include "abi_common.h"

typedef void (*Logger)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
static void log_nothing(int level, unsigned long flags, const char* file, int line, const char* format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
}

static int open_context(const struct Plugin* plugin, int version, void** context, int* mask) {
  if (version <= 3) return ((int (*)(void**, int*))plugin->init)(context, mask);
  if (version == 4)
    return ((int (*)(void**, int*, const char*, uint64_t, int, int, int, Logger))plugin->init)(
        context, mask, "world", ABI_HASH, 2, 16, ABI_RANK, log_nothing);
  return ((int (*)(void**, uint64_t, int*, const char*, int, int, int, Logger))plugin->init)(
      context, ABI_HASH, mask, "world", 2, 16, ABI_RANK, log_nothing);
}

int abi_call(void* library, int version, int* mask) {
  static int (*const kCalls[])(const struct Plugin*, void*) = {call_v1, call_v2, call_v3, call_v4,
                                                               call_v5, call_v6, call_v7};
  char symbol[] = "ncclProfiler_v0";
  symbol[sizeof symbol - 2] = (char)('0' + version);
  const struct Plugin* plugin = dlsym(library, symbol);
  if (plugin == NULL || strcmp(plugin->name, "Angio") != 0) return 1000;
  void* context = NULL;
  *mask = 0;
  const int opened = open_context(plugin, version, &context, mask);
  if (opened != 0) return 2000 + opened;
  if (context == NULL) return 3000;
  const int bad = kCalls[version - 1](plugin, context);
  return bad | plugin->finalize(context);
}

int abi_open_only(void* library, void** context, int* mask) {
  const struct Plugin* plugin = dlsym(library, "ncclProfiler_v5");
  return plugin == NULL ? 1000 : open_context(plugin, 5, context, mask);
}

void* abi_start(void* library, void* context) {
  return start_v5(dlsym(library, "ncclProfiler_v5"), context);
}

int abi_stop(void* library, void* handle) {
  return ((const struct Plugin*)dlsym(library, "ncclProfiler_v5"))->stopEvent(handle);
}

int abi_finalize(void* library, void* context) {
  return ((const struct Plugin*)dlsym(library, "ncclProfiler_v5"))->finalize(context);
}
