// Messages between the processes of phantom nodes, for the network plugin: streams that one side opens and
// the other accepts, over one Unix socket a pair of processes and direction, however many streams there are.
// One thread of a process receives; it sleeps while nothing comes. Abstract addresses: no file, gone with the
// process, this network namespace only. Not a network: no bandwidth, no latency, no loss.
//
// A message that comes before its receive was posted is kept; a stream takes kWindow of each tag, then the
// sender is told to wait. Messages meet receives by their tag, in order. What is sent into a stream that the
// other side closed is dropped, and a receive from one gets 0 bytes: nodes may end in any order, even with
// work that their NCCL never took up, and a phantom's data is worth nothing. A process that vanished just
// stays silent: whoever started it sees that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace angio::phantom::net {

inline constexpr std::uint32_t kWindow = 64;  // messages of a tag that were sent but not yet received
inline constexpr int kMostParts = 8;

class Hub;
struct Link;

enum class State : int { kFree, kBusy, kDone, kFailed };

// One part of a grouped receive.
struct Part {
  void* data = nullptr;
  std::size_t size = 0;
  int tag = 0;
  std::size_t got = 0;
  bool matched = false;
  bool done = false;
};

// Lives in its sender or receiver. state is read without a lock.
struct Request {
  std::atomic<State> state = State::kFree;
  int count = 1;
  Part parts[kMostParts];
};

// A request of a sender needs no parts.
struct SendRequest {
  std::atomic<State> state = State::kFree;
  std::size_t size = 0;
};

struct Message {
  int tag = 0;
  std::vector<unsigned char> bytes;
};

// Messages under way, by their tag: a stream that is shared must not stop for all when one of them runs
// ahead.
class Counts {
 public:
  std::uint32_t& of(int tag);

 private:
  struct Entry {
    int tag;
    std::uint32_t count;
  };
  std::vector<Entry> entries_;  // few: NCCL's tags are ranks that share a connection
};

struct Listener {
  std::uint64_t id = 0;
  std::deque<struct Receiver*> arrived;
};

struct Receiver {
  Link* link = nullptr;
  std::uint64_t stream = 0;
  bool ended = false;  // nothing more can come
  Counts received;     // since the sender was told last
  std::deque<Request*> posted;
  std::deque<Message> early;
  std::deque<Request> requests;
};

struct Sender {
  Link* link = nullptr;
  std::uint64_t stream = 0;
  bool ended = false;  // nobody receives any more
  Counts waiting;      // sent and not yet received
  std::deque<SendRequest> requests;
};

// What a listener gives to those who connect; at most kHandleSize bytes.
struct Handle {
  std::uint64_t magic = 0;
  std::uint64_t process = 0;
  std::uint64_t listener = 0;
  char address[64] = {};  // of the process, without the leading zero byte
};

// Each returns nullptr with a problem, or without one when it is to be asked again.
Listener* make_listener(Handle& handle, std::string& problem);
Sender* connect_to(const Handle& handle, std::string& problem);
Receiver* accept_from(Listener& listener);

// nullptr: cannot be taken now, ask again.
SendRequest* send_message(Sender& sender, const void* data, std::size_t size, int tag);
Request* post_receive(Receiver& receiver, const Part* parts, int count);

// Sleeps for a moment if nothing has completed in this process for a while and this thread keeps asking.
void rest();

void close_sender(Sender* sender);
void close_receiver(Receiver* receiver);
void close_listener(Listener* listener);

// Sockets of this process between others and itself, for tests.
std::size_t link_count();

}  // namespace angio::phantom::net
