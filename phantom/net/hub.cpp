#include "net/hub.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

namespace angio::phantom::net {
namespace {

constexpr std::uint64_t kMagic = 0x616e67696f6e6574U;  // "angionet"
// Beyond this a sender waits: whoever does not read must not eat the memory of those who write.
constexpr std::size_t kMostOut = std::size_t{8} << 20U;  // bytes
constexpr std::size_t kBlock = std::size_t{64} << 10U;   // bytes of one read

sockaddr_un to_address(const std::string& name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A leading zero byte: abstract, see unix(7).
  const std::size_t taken = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), taken);
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + taken);
  return address;
}

// Abstract addresses are open to every user of the machine.
bool is_mine(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

std::string in_words(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

Hub* Hub::make(std::string& problem) {
  auto* const hub = new Hub;
  if (::getrandom(&hub->process_, sizeof hub->process_, 0) != sizeof hub->process_) {
    problem = in_words("getrandom");
  }
  hub->address_ = "angio-phantom-" + std::to_string(::getpid()) + "-" + std::to_string(hub->process_);
  hub->listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  hub->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  socklen_t size = 0;
  const sockaddr_un address = to_address(hub->address_, size);
  if (hub->listening_ < 0 || hub->wake_ < 0) {
    problem = in_words("socket");
  } else if (::bind(hub->listening_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
             ::listen(hub->listening_, SOMAXCONN) != 0) {
    problem = in_words("listen");
  }
  if (!problem.empty()) {
    delete hub;
    return nullptr;
  }
  try {
    std::thread([hub] {
      pthread_setname_np(pthread_self(), "angio net");
      hub->run();
      delete hub;
    }).detach();
  } catch (const std::exception& error) {  // no thread, no memory: C is above us
    problem = std::string("no thread: ") + error.what();
    delete hub;
    return nullptr;
  }
  return hub;
}

Hub::~Hub() {
  for (const auto& link : links_) {
    if (link->fd >= 0) {
      ::close(link->fd);
    }
  }
  if (listening_ >= 0) {
    ::close(listening_);
  }
  if (wake_ >= 0) {
    ::close(wake_);
  }
}

void Hub::fill(Handle& handle) const {
  handle.magic = kMagic;
  handle.process = process_;
  std::memcpy(handle.address, address_.data(), std::min(address_.size(), sizeof handle.address - 1));
}

void Hub::wake() const {
  const std::uint64_t one = 1;
  // A counter that is full wakes as well.
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void Hub::end() {
  ending_ = true;
  wake();
}

bool Hub::flushed() {
  return std::all_of(links_.begin(), links_.end(),
                     [](const auto& link) { return link->dead || link->out.empty(); });
}

void Hub::run() {
  // Who does not read within this time after the end gets no more.
  constexpr std::chrono::seconds kLongestEnd{2};
  auto give_up = std::chrono::steady_clock::time_point::max();
  std::vector<pollfd> waits;
  std::unique_lock lock(mutex_);
  while (!ending_ || !flushed()) {
    if (ending_ && give_up == std::chrono::steady_clock::time_point::max()) {
      give_up = std::chrono::steady_clock::now() + kLongestEnd;
    }
    if (std::chrono::steady_clock::now() > give_up) {
      return;
    }
    // Without a descriptor left those who wait stay readable, and poll would never rest.
    waits.assign({{wake_, POLLIN, 0}, {full_ ? -1 : listening_, POLLIN, 0}});
    const std::size_t count = links_.size();
    for (const auto& link : links_) {
      const short out = link->out.empty() ? 0 : POLLOUT;
      waits.push_back({link->dead ? -1 : link->fd, static_cast<short>(POLLIN | out), 0});
    }
    constexpr int kEndPoll = 100;  // ms
    constexpr int kFullPoll = 50;  // ms: descriptors come back without a word to us
    const int longest = ending_ ? kEndPoll : full_ ? kFullPoll : -1;
    full_ = false;
    lock.unlock();
    ::poll(waits.data(), waits.size(), longest);
    lock.lock();
    std::uint64_t woken = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &woken, sizeof woken);
    if ((waits[1].revents & POLLIN) != 0) {
      accept_link();
    }
    for (std::size_t index = 0; index < count; ++index) {
      Link& link = *links_[index];
      const short events = waits[index + 2].revents;
      if (!link.dead && (events & POLLOUT) != 0) {
        flush(link);
      }
      if (!link.dead && (events & (POLLIN | POLLHUP | POLLERR)) != 0) {
        receive(link);
      }
    }
  }
}

Link* Hub::add_link(int fd) {
  links_.push_back(std::make_unique<Link>());
  links_.back()->fd = fd;
  wake();
  return links_.back().get();
}

void Hub::accept_link() {
  while (true) {
    const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      full_ = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
      return;
    }
    if (is_mine(fd)) {
      add_link(fd);
    } else {
      ::close(fd);
    }
  }
}

Link* Hub::connect_link(const Handle& handle, std::string& problem) {
  if (const auto known = to_.find(handle.process); known != to_.end() && !known->second->dead) {
    return known->second;
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    problem = in_words("socket");
    return nullptr;
  }
  socklen_t size = 0;
  const std::string name(handle.address, ::strnlen(handle.address, sizeof handle.address));
  const sockaddr_un address = to_address(name, size);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    // EAGAIN: its queue of those who wait to be accepted is full.
    if (errno != EAGAIN) {
      problem = in_words("the process of the other node does not answer");
    }
    ::close(fd);
    return nullptr;
  }
  if (!is_mine(fd)) {
    problem = "the process of the other node belongs to another user";
    ::close(fd);
    return nullptr;
  }
  Link* const link = add_link(fd);
  to_[handle.process] = link;
  return link;
}

Listener* Hub::add_listener() {
  auto* const listener = new Listener;
  listener->id = next_++;
  listeners_[listener->id] = listener;
  return listener;
}

Sender* Hub::add_sender(const Handle& handle, std::string& problem) {
  if (handle.magic != kMagic) {
    problem = "the handle is not one of this plugin";
    return nullptr;
  }
  Link* const link = connect_link(handle, problem);
  if (link == nullptr) {
    return nullptr;
  }
  auto* const sender = new Sender;
  sender->link = link;
  sender->stream = next_++;
  senders_[sender->stream] = sender;
  send(*link, {.kind = FrameKind::kOpen, .tag = 0, .stream = sender->stream, .size = handle.listener},
       nullptr);
  return sender;
}

// The frame and its bytes go to the socket as far as it takes them, the rest is kept.
bool Hub::send(Link& link, const Frame& frame, const void* data) {
  if (link.dead || (frame.kind == FrameKind::kData && link.out.size() - link.out_done > kMostOut)) {
    return false;
  }
  const std::size_t size = frame.kind == FrameKind::kData ? frame.size : 0;
  iovec pieces[2] = {{const_cast<Frame*>(&frame), sizeof frame}, {const_cast<void*>(data), size}};
  std::size_t taken = 0;
  if (link.out.empty()) {
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = size == 0 ? 1 : 2;
    const ssize_t sent = ::sendmsg(link.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      kill(link);
      return false;
    }
    taken = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  const bool was_empty = link.out.empty();
  for (const iovec& piece : pieces) {
    const std::size_t skipped = std::min(taken, piece.iov_len);
    const auto* const bytes = static_cast<const unsigned char*>(piece.iov_base);
    if (bytes != nullptr) {
      link.out.insert(link.out.end(), bytes + skipped, bytes + piece.iov_len);
    }
    taken -= skipped;
  }
  if (was_empty && !link.out.empty()) {
    wake();
  }
  return true;
}

void Hub::flush(Link& link) {
  while (link.out_done < link.out.size()) {
    const ssize_t sent = ::send(link.fd, link.out.data() + link.out_done, link.out.size() - link.out_done,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) {
        kill(link);
      }
      return;
    }
    link.out_done += static_cast<std::size_t>(sent);
    if (link.out_done > kMostOut) {
      link.out.erase(link.out.begin(), link.out.begin() + static_cast<std::ptrdiff_t>(link.out_done));
      link.out_done = 0;
    }
  }
  link.out.clear();
  link.out_done = 0;
  completed();
}

// The other process is gone, or speaks nonsense. Its streams stay as they are: see messages.hpp.
void Hub::kill(Link& link) {
  link.dead = true;
  ::close(link.fd);
  link.fd = -1;
  link.out.clear();
  link.out_done = 0;
  link.left = 0;
  link.into = nullptr;
  link.request = nullptr;
  link.part = nullptr;
}

void Hub::receive(Link& link) {
  unsigned char block[kBlock];
  // Not for ever: others wait for the lock.
  constexpr int kMostReads = 16;
  for (int count = 0; count < kMostReads && !link.dead; ++count) {
    // The bytes of a message go where they belong without a stop between.
    if (link.left > 0 && link.part != nullptr) {
      auto* const to = static_cast<unsigned char*>(link.part->data) + link.at;
      const ssize_t got = ::recv(link.fd, to, link.left, MSG_DONTWAIT);
      if (got > 0) {
        link.at += static_cast<std::size_t>(got);
        link.left -= static_cast<std::uint64_t>(got);
        if (link.left == 0) {
          finish_message(link);
        }
        continue;
      }
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        kill(link);
      }
      return;
    }
    const ssize_t got = ::recv(link.fd, block, sizeof block, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      kill(link);
      return;
    }
    if (got < 0) {
      return;
    }
    for (std::size_t done = 0; done < static_cast<std::size_t>(got) && !link.dead;) {
      done += take(link, block + done, static_cast<std::size_t>(got) - done);
    }
  }
}

// Takes some of the bytes and says how many.
std::size_t Hub::take(Link& link, const unsigned char* bytes, std::size_t size) {
  if (link.left > 0) {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(link.left, size));
    if (link.part != nullptr) {
      std::memcpy(static_cast<unsigned char*>(link.part->data) + link.at, bytes, taken);
    } else if (link.into != nullptr) {
      std::vector<unsigned char>& early = link.into->early.back().bytes;
      early.insert(early.end(), bytes, bytes + taken);
    }
    link.at += taken;
    link.left -= taken;
    if (link.left == 0) {
      finish_message(link);
    }
    return taken;
  }
  const std::size_t taken = std::min(sizeof(Frame) - link.in.size(), size);
  link.in.insert(link.in.end(), bytes, bytes + taken);
  if (link.in.size() == sizeof(Frame)) {
    Frame frame;
    std::memcpy(&frame, link.in.data(), sizeof frame);
    link.in.clear();
    start_frame(link, frame);
  }
  return taken;
}

}  // namespace angio::phantom::net
