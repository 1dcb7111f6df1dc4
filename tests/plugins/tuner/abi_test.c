/* Loads the tuner plugin as NCCL does and calls every version of its interface in NCCL's order: init, questions,
   destroy or finalize. The structs are declared here a second time, in C, so that a slip in the plugin's own
   declarations shows. usage: abi_test PLUGIN, in an empty folder that can be written to. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*logger_t)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

typedef struct {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, logger_t logger, void** context);
  int (*get)(void* context, int function, size_t bytes, int collnet, int nvls, int pipe_ops, int* algorithm,
             int* protocol, int* channels);
  int (*destroy)(void* context);
} tuner_v2;

typedef struct {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, logger_t logger, void** context);
  int (*get)(void* context, int function, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
             int* channels);
  int (*destroy)(void* context);
} tuner_v3;

typedef struct {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, logger_t logger, void** context);
  int (*get)(void* context, int function, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
             int registered, int* channels);
  int (*destroy)(void* context);
} tuner_v4;

typedef struct {
  const char* name;
  int (*init)(void** context, uint64_t id, size_t ranks, size_t nodes, logger_t logger, void* domains,
              void* constants);
  int (*get)(void* context, int function, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
             int registered, int* channels);
  int (*finalize)(void* context);
  int (*chunk)(void* context, int function, size_t bytes, int algorithm, int protocol, int channels, size_t* chunk);
} tuner_v6; /* version 5 ends before chunk */

enum { kReduce = 1, kAllGather = 2, kAllReduce = 4, kSendRecv = 5 };
enum { kTree = 0, kRing = 1, kNvls = 4, kNvlsTree = 5, kPat = 6 };
enum { kLl = 0, kLl128 = 1, kSimple = 2 };

static int failures = 0;
static int lines = 0;
static int warnings = 0;
static char log_text[16384];

static void record(int level, unsigned long flags, const char* file, int line, const char* format, ...) {
  va_list arguments;
  size_t used = strlen(log_text);
  (void)flags;
  (void)file;
  (void)line;
  va_start(arguments, format);
  vsnprintf(log_text + used, sizeof log_text - used - 2, format, arguments);
  va_end(arguments);
  strcat(log_text, "\n");
  ++lines;
  if (level == 2) ++warnings;
}

static void expect(int good, const char* what, const char* version, int line) {
  if (good) return;
  printf("abi_test.c:%d: %s: %s\n", line, version, what);
  ++failures;
}
#define EXPECT(condition) expect((condition), #condition, version, __LINE__)

static void write_file(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
    perror(path);
    exit(2);
  }
}

static const char* const kTable =
    "allreduce,0,4K,tree,ll,-1,2,16\n"
    "allreduce,4097,1M,ring,simple,7,2,16\n"
    "allreduce,1048577,2M,ring,ll128,-1,2,16\n"
    "allreduce,2097153,4M,nvlstree,simple,-1,2,16\n"
    "allgather,0,*,pat,simple,-1,*,*\n"
    "reduce,0,1M,ring,ll,3,*,*,2-4,1\n";

static void fill(float* costs, int count) {
  int i;
  for (i = 0; i < count; ++i) costs[i] = (float)(10 + i);
}

/* How many entries differ from what fill() wrote. */
static int changed(const float* costs, int count) {
  int i, differ = 0;
  for (i = 0; i < count; ++i) differ += costs[i] != (float)(10 + i);
  return differ;
}

typedef int (*ask_t)(const void* tuner, void* context, int function, size_t bytes, int pipe_ops, float** costs,
                     int algorithms, int registered, int* channels);

static int ask_v3(const void* tuner, void* context, int function, size_t bytes, int pipe_ops, float** costs,
                  int algorithms, int registered, int* channels) {
  (void)registered;
  return ((const tuner_v3*)tuner)->get(context, function, bytes, pipe_ops, costs, algorithms, 3, channels);
}
static int ask_v4(const void* tuner, void* context, int function, size_t bytes, int pipe_ops, float** costs,
                  int algorithms, int registered, int* channels) {
  return ((const tuner_v4*)tuner)->get(context, function, bytes, pipe_ops, costs, algorithms, 3, registered, channels);
}
static int ask_v6(const void* tuner, void* context, int function, size_t bytes, int pipe_ops, float** costs,
                  int algorithms, int registered, int* channels) {
  return ((const tuner_v6*)tuner)->get(context, function, bytes, pipe_ops, costs, algorithms, 3, registered, channels);
}

/* The same questions to every version that has a table of costs. */
static void ask_all(const char* version, const void* tuner, void* context, ask_t ask, int knows_registered) {
  float costs[21];
  float** table = (float**)costs;
  int channels = 0;

  fill(costs, 21);
  EXPECT(ask(tuner, context, kAllReduce, 4096, 1, table, 7, 0, &channels) == 0);
  EXPECT(costs[kTree * 3 + kLl] == 0.0f && changed(costs, 21) == 1 && channels == 0);

  fill(costs, 21);
  EXPECT(ask(tuner, context, kAllReduce, 4097, 1, table, 7, 0, &channels) == 0);
  EXPECT(costs[kRing * 3 + kSimple] == 0.0f && changed(costs, 21) == 1 && channels == 7);

  /* Not available: nothing is touched. */
  channels = 0;
  fill(costs, 21);
  costs[kRing * 3 + kSimple] = -1.0f;
  EXPECT(ask(tuner, context, kAllReduce, 8192, 1, table, 7, 0, &channels) == 0);
  EXPECT(costs[kRing * 3 + kSimple] == -1.0f && changed(costs, 21) == 1 && channels == 0);

  fill(costs, 21);
  EXPECT(ask(tuner, context, kAllReduce, 1048577, 1, table, 7, 0, &channels) == 0);
  EXPECT(costs[kRing * 3 + kLl128] == 0.0f && changed(costs, 21) == 1);

  /* NCCL up to 2.22 has six algorithms: PAT is beyond its table. */
  fill(costs, 21);
  EXPECT(ask(tuner, context, kAllGather, 64, 1, table, 6, 0, &channels) == 0);
  EXPECT(changed(costs, 21) == 0);
  EXPECT(ask(tuner, context, kAllGather, 64, 1, table, 7, 0, &channels) == 0);
  EXPECT(costs[kPat * 3 + kSimple] == 0.0f && changed(costs, 21) == 1);

  fill(costs, 21);
  EXPECT(ask(tuner, context, kReduce, 64, 2, table, 7, 1, &channels) == 0);
  EXPECT(changed(costs, 21) == knows_registered && channels == (knows_registered ? 3 : 0));

  /* Sizes and functions without a row, and numbers that no NCCL has today. */
  channels = 0;
  fill(costs, 21);
  EXPECT(ask(tuner, context, kAllReduce, (size_t)1 << 40, 1, table, 7, 0, &channels) == 0);
  EXPECT(ask(tuner, context, kSendRecv, 64, 1, table, 7, 0, &channels) == 0);
  EXPECT(ask(tuner, context, 99, 64, 1, table, 7, 0, &channels) == 0);
  EXPECT(ask(tuner, context, -1, 64, 0, table, 7, 0, &channels) == 0);
  EXPECT(ask(tuner, NULL, kAllReduce, 64, 1, table, 7, 0, &channels) == 0);
  EXPECT(ask(tuner, context, kAllReduce, 64, 1, NULL, 7, 0, &channels) == 0);
  EXPECT(changed(costs, 21) == 0 && channels == 0);
}

static void use_v2(void* library) {
  const char* const version = "v2";
  const tuner_v2* tuner = dlsym(library, "ncclTunerPlugin_v2");
  void* context = NULL;
  int algorithm = -1, protocol = -1, channels = 0;
  EXPECT(tuner != NULL);
  if (tuner == NULL) return;
  EXPECT(strcmp(tuner->name, "angio") == 0);
  EXPECT(tuner->init(16, 2, record, &context) == 0 && context != NULL);
  EXPECT(tuner->get(context, kAllReduce, 4096, 0, 0, 1, &algorithm, &protocol, &channels) == 0);
  EXPECT(algorithm == kTree && protocol == kLl && channels == 0);
  EXPECT(tuner->get(context, kAllReduce, 8192, 0, 0, 1, &algorithm, &protocol, &channels) == 0);
  EXPECT(algorithm == kRing && protocol == kSimple && channels == 7);
  /* LL128 is never taken without NCCL's word that it is safe; NVLS only with its support. */
  algorithm = protocol = -1;
  EXPECT(tuner->get(context, kAllReduce, 1048577, 1, 1, 1, &algorithm, &protocol, &channels) == 0);
  EXPECT(tuner->get(context, kAllReduce, 4194304, 0, 0, 1, &algorithm, &protocol, &channels) == 0);
  EXPECT(tuner->get(context, kAllGather, 64, 1, 1, 1, &algorithm, &protocol, &channels) == 0);
  EXPECT(algorithm == -1 && protocol == -1);
  EXPECT(tuner->get(context, kAllReduce, 4194304, 0, 1, 1, &algorithm, &protocol, &channels) == 0);
  EXPECT(algorithm == kNvlsTree && protocol == kSimple);
  EXPECT(tuner->destroy(context) == 0);
}

static void use_v3_v4(void* library) {
  const char* version = "v3";
  const tuner_v3* three = dlsym(library, "ncclTunerPlugin_v3");
  const tuner_v4* four = dlsym(library, "ncclTunerPlugin_v4");
  void* context = NULL;
  EXPECT(three != NULL && four != NULL);
  if (three == NULL || four == NULL) return;
  EXPECT(three->init(16, 2, record, &context) == 0 && context != NULL);
  ask_all(version, three, context, ask_v3, 0);
  EXPECT(three->destroy(context) == 0);
  version = "v4";
  EXPECT(four->init(16, 2, record, &context) == 0 && context != NULL);
  ask_all(version, four, context, ask_v4, 1);
  EXPECT(four->destroy(context) == 0);
}

static void use_v5_and_newer(void* library, const char* symbol, int has_chunk) {
  const char* const version = symbol;
  const tuner_v6* tuner = dlsym(library, symbol);
  double constants[512];
  int domains[3] = {1, 8, 8};
  void* context = NULL;
  size_t i;
  EXPECT(tuner != NULL);
  if (tuner == NULL) return;
  for (i = 0; i < 512; ++i) constants[i] = 1.5;
  EXPECT(strcmp(tuner->name, "angio") == 0);
  EXPECT(tuner->init(&context, 0x1234, 16, 2, record, domains, constants) == 0 && context != NULL);
  for (i = 0; i < 512; ++i) EXPECT(constants[i] == 1.5);
  ask_all(version, tuner, context, ask_v6, 1);
  if (has_chunk) EXPECT(tuner->chunk == NULL);
  EXPECT(tuner->finalize(context) == 0);
}

/* Several communicators of one process, and what the plugin says about a table that it cannot use. */
static void use_without_table(void* library, const char* version, const char* expected) {
  const tuner_v4* tuner = dlsym(library, "ncclTunerPlugin_v4");
  float costs[21];
  void* contexts[3];
  int channels = 0, i;
  EXPECT(tuner != NULL);
  if (tuner == NULL) return;
  for (i = 0; i < 3; ++i) EXPECT(tuner->init(16, 2, record, &contexts[i]) == 0);
  fill(costs, 21);
  for (i = 0; i < 3; ++i)
    EXPECT(tuner->get(contexts[i], kAllReduce, 64, 1, (float**)costs, 7, 3, 0, &channels) == 0);
  EXPECT(changed(costs, 21) == 0 && channels == 0);
  for (i = 0; i < 3; ++i) EXPECT(tuner->destroy(contexts[i]) == 0);
  EXPECT(lines == 1 && warnings == 1);
  EXPECT(strstr(log_text, expected) != NULL);
  if (strstr(log_text, expected) == NULL) printf("%s", log_text);
}

static void* load(const char* plugin) {
  void* library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
  lines = warnings = 0;
  log_text[0] = '\0';
  return library;
}

static void without_table(const char* plugin, const char* table, const char* expected) {
  void* library;
  if (table == NULL) unsetenv("ANGIO_TUNER_TABLE");
  else setenv("ANGIO_TUNER_TABLE", table, 1);
  library = load(plugin);
  use_without_table(library, table == NULL ? "no table" : table, expected);
  if (dlclose(library) != 0) ++failures;
}

int main(int argc, char** argv) {
  const char* const version = "all";
  void* library;
  if (argc != 2) return 2;
  write_file("tuner_abi_good.csv", kTable);
  write_file("tuner_abi_bad.csv", "allreduce,0,4K,tree,ll,-1,2,16\nallreduce,0,4K,rin,ll,-1,2,16\n");
  setenv("ANGIO_TUNER_TABLE", "tuner_abi_good.csv", 1);
  library = load(argv[1]);
  use_v2(library);
  use_v3_v4(library);
  use_v5_and_newer(library, "ncclTunerPlugin_v5", 0);
  use_v5_and_newer(library, "ncclTunerPlugin_v6", 1);
  use_v5_and_newer(library, "ncclTunerPlugin_v7", 1);
  EXPECT(warnings == 0);
  EXPECT(strstr(log_text, "table tuner_abi_good.csv, hash ") != NULL);
  EXPECT(strstr(log_text, "line 2: allreduce of 8192 B -> ring simple, channels 7") != NULL);
  EXPECT(dlclose(library) == 0);

  without_table(argv[1], NULL, "ANGIO_TUNER_TABLE names no table: NCCL's own choices stand");
  without_table(argv[1], "nowhere.toml", "nowhere.toml: cannot read: No such file or directory (ENOENT)");
  without_table(argv[1], ".", ".: is not a regular file");
  without_table(argv[1], "tuner_abi_bad.csv",
                "tuner_abi_bad.csv:2: there is no algorithm \"rin\" (did you mean ring?): NCCL's own choices stand");
  remove("tuner_abi_good.csv");
  remove("tuner_abi_bad.csv");
  if (failures == 0) printf("6 versions of the interface: all as expected\n");
  return failures == 0 ? 0 : 1;
}
