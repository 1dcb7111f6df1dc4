// Stands in for libnccl.so.2: ranks of one machine whose "GPU memory" is host memory (tests/peers/cuda). They
// meet in a shared file named by the unique id, and read each other's buffers with process_vm_readv. All
// calls of a communicator are made by all of its ranks, or hang. ANGIO_NCCL_STANDIN makes it fail:
//   "wrong": rank 1 receives one wrong byte in each collective; "die": rank 1 ends in its 40th call;
//   "no-init"
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kMostRanks = 16;
constexpr std::size_t kMostPieces = 64;

struct UniqueId {
  char internal[128];
};

struct Piece {
  int peer;
  const void* address;
  std::size_t bytes;
};

struct Desk {  // of one rank
  pid_t pid;
  std::size_t count;
  Piece sends[kMostPieces];
};

struct Shared {
  std::atomic<int> arrived;
  std::atomic<int> round;
  Desk desks[kMostRanks];
};

struct Communicator {
  Shared* shared = nullptr;
  int rank = 0;
  int ranks = 1;
  std::vector<Piece> sends;
  std::vector<Piece> receives;
  int calls = 0;
};

bool mood(std::string_view wanted) {
  const char* text = std::getenv("ANGIO_NCCL_STANDIN");
  return text != nullptr && wanted == text;
}

void meet(const Communicator& with) {
  const int round = with.shared->round;
  if (++with.shared->arrived == with.ranks) {
    with.shared->arrived = 0;
    ++with.shared->round;
    return;
  }
  while (with.shared->round == round)
    sched_yield();
}

int fetch(const Communicator& with, int from, const void* address, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{const_cast<void*>(address), bytes};
  if (bytes == 0) return 0;
  return process_vm_readv(with.shared->desks[from].pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes)
             ? 0
             : 2;
}

// ncclFloat32 7, ncclInt32 2, ncclUint8 1: what the tests use.
std::size_t width(int type) {
  return type == 7 || type == 2 ? 4 : 1;
}

template <typename Number>
void add(std::vector<char>& into, const std::vector<char>& more) {
  for (std::size_t i = 0; i + sizeof(Number) <= into.size(); i += sizeof(Number)) {
    Number a;
    Number b;
    std::memcpy(&a, into.data() + i, sizeof a);
    std::memcpy(&b, more.data() + i, sizeof b);
    a = static_cast<Number>(a + b);
    std::memcpy(into.data() + i, &a, sizeof a);
  }
}

void spoil(const Communicator& with, void* to, std::size_t bytes) {
  if (mood("wrong") && with.rank == 1 && bytes >= 64) static_cast<char*>(to)[40] ^= 1;
}

// Everybody's bytes from `offset` on, added or one after the other.
int collect(Communicator& with, const void* send, std::size_t offset, std::size_t bytes, int type, bool adds,
            void* to) {
  if (++with.calls == 40 && mood("die") && with.rank == 1) _exit(9);
  Desk& own = with.shared->desks[with.rank];
  own.pid = getpid();
  own.sends[0] = {0, send, bytes};
  meet(with);
  std::vector<char> all;
  int outcome = 0;
  for (int from = 0; from < with.ranks && outcome == 0; ++from) {
    std::vector<char> piece(bytes);
    outcome = fetch(with, from, static_cast<const char*>(with.shared->desks[from].sends[0].address) + offset,
                    piece.data(), bytes);
    if (adds && from > 0) {
      if (type == 7) add<float>(all, piece);
      if (type == 2) add<std::int32_t>(all, piece);
      if (type == 1) add<std::uint8_t>(all, piece);
    } else {
      all.insert(all.end(), piece.begin(), piece.end());
    }
  }
  meet(with);
  if (to != nullptr) {
    std::memcpy(to, all.data(), all.size());
    spoil(with, to, all.size());
  }
  return outcome;
}

int depth = 0;
Communicator* grouped = nullptr;

int flush(Communicator& with) {
  Desk& own = with.shared->desks[with.rank];
  own.pid = getpid();
  own.count = with.sends.size();
  for (std::size_t i = 0; i < with.sends.size(); ++i)
    own.sends[i] = with.sends[i];
  meet(with);
  int outcome = 0;
  std::vector<std::vector<char>> got;
  for (const Piece& wanted : with.receives) {
    const Desk& desk = with.shared->desks[wanted.peer];
    bool found = false;
    for (std::size_t i = 0; i < desk.count && !found; ++i) {
      if (desk.sends[i].peer != with.rank) continue;
      found = true;
      std::vector<char> bytes(wanted.bytes);
      outcome = outcome != 0 ? outcome
                             : fetch(with, wanted.peer, desk.sends[i].address, bytes.data(), wanted.bytes);
      got.push_back(std::move(bytes));
    }
    if (!found) outcome = 3;
  }
  meet(with);
  for (std::size_t i = 0; i < got.size(); ++i) {
    std::memcpy(const_cast<void*>(with.receives[i].address), got[i].data(), got[i].size());
    spoil(with, const_cast<void*>(with.receives[i].address), got[i].size());
  }
  with.sends.clear();
  with.receives.clear();
  return outcome;
}

}  // namespace

EXPORT int ncclGetVersion(int* version) {
  *version = 22805;
  return 0;
}
EXPORT const char* ncclGetErrorString(int outcome) {
  return outcome == 0 ? "no error" : "stand-in error";
}
EXPORT const char* ncclGetLastError(void*) {
  return "the stand-in was told to";
}
EXPORT int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 0, sizeof *id);
  const char* folder = std::getenv("TMPDIR");
  std::snprintf(id->internal, sizeof id->internal, "%s/nccl-standin-XXXXXX",
                folder != nullptr ? folder : "/tmp");
  const int file = mkstemp(id->internal);
  const bool made = file >= 0 && ftruncate(file, sizeof(Shared)) == 0;
  if (file >= 0) close(file);
  return made ? 0 : 2;
}
EXPORT int ncclCommInitRank(void** to, int ranks, UniqueId id, int rank) {
  if (mood("no-init") && rank == 1) return 2;
  (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const int file = open(id.internal, O_RDWR | O_CLOEXEC);
  if (file < 0 || ranks > kMostRanks) return 2;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return 2;
  auto* made = new Communicator;
  made->shared = static_cast<Shared*>(memory);
  made->rank = rank;
  made->ranks = ranks;
  meet(*made);
  if (rank == 0) unlink(id.internal);
  *to = made;
  return 0;
}
EXPORT int ncclCommDestroy(void* communicator) {
  delete static_cast<Communicator*>(communicator);
  return 0;
}
EXPORT int ncclGroupStart() {
  ++depth;
  return 0;
}
EXPORT int ncclGroupEnd() {
  if (--depth > 0 || grouped == nullptr) return 0;
  Communicator& with = *grouped;
  grouped = nullptr;
  return flush(with);
}
EXPORT int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int, void* with, void*) {
  return collect(*static_cast<Communicator*>(with), from, 0, count * width(type), type, true, to);
}
EXPORT int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* with, void*) {
  return collect(*static_cast<Communicator*>(with), from, 0, count * width(type), type, false, to);
}
EXPORT int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int, void* with,
                             void*) {
  auto& one = *static_cast<Communicator*>(with);
  const std::size_t bytes = count * width(type);
  return collect(one, from, static_cast<std::size_t>(one.rank) * bytes, bytes, type, true, to);
}
EXPORT int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, void* with,
                         void*) {
  auto& one = *static_cast<Communicator*>(with);
  std::vector<char> all(count * width(type) * static_cast<std::size_t>(one.ranks));
  const int outcome = collect(one, from, 0, count * width(type), type, false, all.data());
  std::memcpy(to, all.data() + static_cast<std::size_t>(root) * count * width(type), count * width(type));
  return outcome;
}
EXPORT int ncclReduce(const void* from, void* to, std::size_t count, int type, int, int root, void* with,
                      void*) {
  auto& one = *static_cast<Communicator*>(with);
  return collect(one, from, 0, count * width(type), type, true, one.rank == root ? to : nullptr);
}
EXPORT int ncclSend(const void* from, std::size_t count, int type, int peer, void* with, void*) {
  grouped = static_cast<Communicator*>(with);
  grouped->sends.push_back({peer, from, count * width(type)});
  return 0;
}
EXPORT int ncclRecv(void* to, std::size_t count, int type, int peer, void* with, void*) {
  grouped = static_cast<Communicator*>(with);
  grouped->receives.push_back({peer, to, count * width(type)});
  return 0;
}
