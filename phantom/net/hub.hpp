// The sockets behind messages.hpp: the process's address, its links, and the thread that receives. Exists
// while there is a listener, a sender or a receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/messages.hpp"

namespace angio::phantom::net {

enum class FrameKind : std::uint32_t { kOpen = 1, kData = 2, kClose = 3, kReceived = 4, kGone = 5 };

struct Frame {
  FrameKind kind = FrameKind::kOpen;
  std::int32_t tag = 0;
  std::uint64_t stream = 0;  // number of the side that sends messages
  std::uint64_t size = 0;    // kData: bytes that follow; kOpen: listener; kReceived: messages
};
static_assert(sizeof(Frame) == 24);

struct Link {
  int fd = -1;
  bool dead = false;
  std::vector<unsigned char> out;  // what the socket did not take yet, from out_done on
  std::size_t out_done = 0;
  std::vector<unsigned char> in;  // the beginning of a frame
  // The message whose bytes are arriving: to a part of a request, to an early message, or to nowhere.
  std::uint64_t left = 0;
  Receiver* into = nullptr;
  Request* request = nullptr;
  Part* part = nullptr;
  std::size_t at = 0;
};

class Hub {
 public:
  static Hub* make(std::string& problem);  // with its thread running

  std::mutex& mutex() { return mutex_; }
  // All below with the lock held.
  void fill(Handle& handle) const;
  Listener* add_listener();
  Sender* add_sender(const Handle& handle, std::string& problem);
  bool send(Link& link, const Frame& frame, const void* data);
  void match(Receiver& receiver);
  void end(Receiver& receiver);  // what waits gets nothing
  void remove(Sender& sender);
  void remove(Receiver& receiver);
  void remove(Listener& listener);
  void end();  // the thread sends what is left, closes, and deletes the hub
  std::size_t links() const { return links_.size(); }

 private:
  Hub() = default;
  ~Hub();
  void run();
  bool flushed();
  void wake() const;
  void accept_link();
  void flush(Link& link);
  void receive(Link& link);
  std::size_t take(Link& link, const unsigned char* bytes, std::size_t size);
  void start_frame(Link& link, const Frame& frame);
  void start_message(Link& link, const Frame& frame);
  void open_stream(Link& link, const Frame& frame);
  void finish_message(Link& link);
  void kill(Link& link);
  void count_received(Receiver& receiver, int tag);
  Link* connect_link(const Handle& handle, std::string& problem);
  Link* add_link(int fd);

  std::mutex mutex_;
  std::uint64_t process_ = 0;
  std::string address_;
  int listening_ = -1;
  int wake_ = -1;
  bool ending_ = false;
  bool full_ = false;  // the process has no descriptor left: not now
  std::uint64_t next_ = 1;
  std::vector<std::unique_ptr<Link>> links_;
  std::map<std::uint64_t, Link*> to_;  // process to the link that leads there
  std::map<std::uint64_t, Listener*> listeners_;
  std::map<std::pair<const Link*, std::uint64_t>, Receiver*> receivers_;
  std::map<std::uint64_t, Sender*> senders_;
};

// Something completed: threads that rest look again.
void completed();

}  // namespace angio::phantom::net
