// The streams of a hub: what a frame means, and which message meets which receive. Sockets: hub.cpp.
#include <algorithm>
#include <cstring>

#include "net/hub.hpp"

namespace angio::phantom::net {
namespace {

Part* find_part(Request& request, int tag) {
  for (int index = 0; index < request.count; ++index) {
    if (!request.parts[index].matched && request.parts[index].tag == tag) {
      return &request.parts[index];
    }
  }
  return nullptr;
}

void finish_if_whole(Request& request) {
  for (int index = 0; index < request.count; ++index) {
    if (!request.parts[index].done) {
      return;
    }
  }
  State expected = State::kBusy;
  request.state.compare_exchange_strong(expected, State::kDone, std::memory_order_release);
  completed();
}

void fail(Request& request) {
  request.state.store(State::kFailed, std::memory_order_release);
  completed();
}

// Takes requests off the list that nothing more can come for.
void drop_matched(Receiver& receiver) {
  std::erase_if(receiver.posted, [](const Request* request) {
    return std::all_of(request->parts, request->parts + request->count,
                       [](const Part& part) { return part.matched; });
  });
}

// Nothing more comes: what still waits gets nothing.
void finish_empty(Request& request) {
  for (int index = 0; index < request.count; ++index) {
    Part& part = request.parts[index];
    part.done = part.done || !part.matched;
    part.matched = true;
  }
  finish_if_whole(request);
}

}  // namespace

void Hub::start_frame(Link& link, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kOpen:
      open_stream(link, frame);
      return;
    case FrameKind::kData:
      start_message(link, frame);
      return;
    case FrameKind::kClose:
      if (const auto found = receivers_.find({&link, frame.stream}); found != receivers_.end()) {
        end(*found->second);
      }
      return;
    case FrameKind::kReceived:
      if (const auto found = senders_.find(frame.stream); found != senders_.end()) {
        std::uint32_t& waiting = found->second->waiting.of(frame.tag);
        waiting -= static_cast<std::uint32_t>(std::min<std::uint64_t>(waiting, frame.size));
        completed();
      }
      return;
    case FrameKind::kGone:
      if (const auto found = senders_.find(frame.stream); found != senders_.end()) {
        found->second->ended = true;
        completed();
      }
      return;
  }
  kill(link);
}

void Hub::end(Receiver& receiver) {
  receiver.ended = true;
  for (Request* const request : receiver.posted) {
    finish_empty(*request);
  }
  receiver.posted.clear();
}

void Hub::open_stream(Link& link, const Frame& frame) {
  const auto found = listeners_.find(frame.size);
  if (found == listeners_.end()) {
    send(link, {.kind = FrameKind::kGone, .tag = 0, .stream = frame.stream, .size = 0}, nullptr);
    return;
  }
  auto* const receiver = new Receiver;
  receiver->link = &link;
  receiver->stream = frame.stream;
  receivers_[{&link, frame.stream}] = receiver;
  found->second->arrived.push_back(receiver);
  completed();
}

// Where the bytes of the message go: to a receive that waits for it, or aside.
void Hub::start_message(Link& link, const Frame& frame) {
  link.left = frame.size;
  link.at = 0;
  link.into = nullptr;
  link.request = nullptr;
  link.part = nullptr;
  if (const auto found = receivers_.find({&link, frame.stream}); found != receivers_.end()) {
    Receiver& receiver = *found->second;
    link.into = &receiver;
    for (Request* const request : receiver.posted) {
      link.part = find_part(*request, frame.tag);
      if (link.part != nullptr) {
        link.request = request;
        break;
      }
    }
    if (link.part != nullptr && frame.size > link.part->size) {
      // More than the receiver has room for: a bug of the caller, as it is with real networks.
      fail(*link.request);
      std::erase(receiver.posted, link.request);
      link.into = nullptr;
      link.request = nullptr;
      link.part = nullptr;
    } else if (link.part != nullptr) {
      link.part->matched = true;
      drop_matched(receiver);
    } else {
      receiver.early.push_back({.tag = frame.tag, .bytes = {}});
    }
  }
  if (link.left == 0) {
    finish_message(link);
  }
}

void Hub::finish_message(Link& link) {
  if (link.part != nullptr) {
    link.part->got = link.at;
    link.part->done = true;
    finish_if_whole(*link.request);
    count_received(*link.into, link.part->tag);
  } else if (link.into != nullptr) {
    // A receive may have been posted while the bytes arrived.
    match(*link.into);
  }
  link.into = nullptr;
  link.request = nullptr;
  link.part = nullptr;
}

// The sender needs to know only now and then: half a window is enough to go on.
void Hub::count_received(Receiver& receiver, int tag) {
  std::uint32_t& received = receiver.received.of(tag);
  if (++received >= kWindow / 2) {
    const std::uint32_t count = received;
    received = 0;
    send(*receiver.link, {.kind = FrameKind::kReceived, .tag = tag, .stream = receiver.stream, .size = count},
         nullptr);
  }
}

// Gives early messages to the receives that wait.
void Hub::match(Receiver& receiver) {
  // The last one may still be arriving.
  const bool arriving =
      receiver.link->left > 0 && receiver.link->into == &receiver && receiver.link->part == nullptr;
  std::size_t whole = receiver.early.size() - (arriving ? 1 : 0);
  for (std::size_t index = 0; index < whole && !receiver.posted.empty();) {
    Message& message = receiver.early[index];
    Part* part = nullptr;
    Request* request = nullptr;
    for (Request* const posted : receiver.posted) {
      part = find_part(*posted, message.tag);
      if (part != nullptr) {
        request = posted;
        break;
      }
    }
    if (part == nullptr) {
      ++index;
      continue;
    }
    part->matched = true;
    const int tag = message.tag;
    if (message.bytes.size() > part->size) {
      fail(*request);
      std::erase(receiver.posted, request);
    } else {
      if (!message.bytes.empty()) {
        std::memcpy(part->data, message.bytes.data(), message.bytes.size());
      }
      part->got = message.bytes.size();
      part->done = true;
      drop_matched(receiver);
      finish_if_whole(*request);
    }
    receiver.early.erase(receiver.early.begin() + static_cast<std::ptrdiff_t>(index));
    --whole;
    count_received(receiver, tag);
  }
}

void Hub::remove(Sender& sender) {
  senders_.erase(sender.stream);
  send(*sender.link, {.kind = FrameKind::kClose, .tag = 0, .stream = sender.stream, .size = 0}, nullptr);
  delete &sender;
}

void Hub::remove(Receiver& receiver) {
  Link& link = *receiver.link;
  receivers_.erase({&link, receiver.stream});
  if (link.into == &receiver) {
    // What still arrives of it goes nowhere.
    link.into = nullptr;
    link.request = nullptr;
    link.part = nullptr;
  }
  if (!receiver.ended) {
    send(link, {.kind = FrameKind::kGone, .tag = 0, .stream = receiver.stream, .size = 0}, nullptr);
  }
  delete &receiver;
}

void Hub::remove(Listener& listener) {
  listeners_.erase(listener.id);
  for (Receiver* const receiver : listener.arrived) {
    remove(*receiver);
  }
  delete &listener;
}

}  // namespace angio::phantom::net
