// Ranks that meet over TCP: rank 0 has a connection to each of the others. One thread reads them all, so that
// a rank that goes or falls silent is noticed while the others wait for its data in a library that does not
// notice.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "collective/meeting.hpp"
#include "collective/meeting_wire.hpp"

namespace angio::collective {
namespace {

using Clock = std::chrono::steady_clock;
using host::Descriptor;

constexpr std::string_view kGreeting = "angio meeting 1";  // protocol
constexpr std::chrono::milliseconds kBeat{1000};           // between two signs of life
constexpr std::chrono::milliseconds kLater{5000};          // rank 0's words are to come before a rank's own

struct Peer {
  std::uint32_t rank = 0;
  Descriptor socket;
  std::string bytes;             // not a whole frame yet
  std::deque<std::string> data;  // of exchanges, in their order
  std::string work;              // what it said it works on
  SteadyTime heard;
  bool gone = false;
};

std::string ranks_in_words(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i)
    words += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > kShown) words += fmt::format(" and {} more", ranks.size() - kShown);
  return words;
}

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

class TcpMeeting final : public Meeting {
 public:
  TcpMeeting(const MeetingPlace& place, std::vector<Peer> peers)
      : place_(place), root_(place.rank == 0), peers_(std::move(peers)) {
    for (Peer& peer : peers_)
      peer.heard = Clock::now();
  }
  TcpMeeting(const TcpMeeting&) = delete;
  TcpMeeting& operator=(const TcpMeeting&) = delete;
  ~TcpMeeting() override {
    ending_ = true;
    if (reader_.joinable()) reader_.join();
  }

  Result<void> begin() {
    if (peers_.empty()) return {};
    try {
      reader_ = std::thread([this] { read_all(); });
    } catch (const std::system_error& error) {
      return fail(ErrorCode::kIo, fmt::format("no thread for the meeting of the ranks: {}", error.what()));
    }
    return {};
  }

  [[nodiscard]] std::uint32_t rank() const override { return place_.rank; }
  [[nodiscard]] std::uint32_t ranks() const override { return place_.ranks; }

  Result<std::vector<std::string>> exchange(const std::string& own) override {
    if (peers_.empty()) return std::vector<std::string>{own};
    return root_ ? gather(own) : ask(own);
  }

  bool give_up(const std::string& words) override {
    when_lost({});
    if (root_) {
      tell_lost(words);
    } else {
      (void)send(peers_.front(), write_frame(FrameKind::kLost, words));
    }
    return true;
  }

  void working_on(const std::string& what) override {
    const std::lock_guard lock(mutex_);
    work_ = what;
  }

  void when_lost(std::function<void(const std::string&)> callback) override {
    std::string words;
    {
      const std::lock_guard lock(mutex_);
      words = lost_;
      if (words.empty()) {
        when_lost_ = std::move(callback);
        return;
      }
    }
    if (callback) callback(words);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] std::vector<std::uint32_t> missing() const {
    std::vector<std::uint32_t> ranks;
    for (const Peer& peer : peers_) {
      if (peer.data.empty()) ranks.push_back(peer.rank);
    }
    std::ranges::sort(ranks);
    return ranks;
  }

  // Until every peer has said something, one that has not has gone, or patience ends.
  void wait_for_all(Lock& lock, SteadyTime until) {
    news_.wait_until(lock, until, [this] { return missing().empty() || !lost_.empty(); });
  }

  [[nodiscard]] std::string absent_words(std::chrono::milliseconds patience) const {
    const std::vector<std::uint32_t> ranks = missing();
    std::string words =
        fmt::format("{} did not come within {:g} s", ranks_in_words(ranks), seconds(patience));
    const auto late = std::ranges::find_if(peers_, [](const Peer& peer) { return peer.data.empty(); });
    if (late != peers_.end() && !late->work.empty())
      words += fmt::format("; rank {} is at: {}", late->rank, printable(late->work));
    return words;
  }

  Result<std::vector<std::string>> gather(const std::string& own) {
    std::vector<std::string> texts(place_.ranks);
    texts[0] = own;
    {
      Lock lock(mutex_);
      wait_for_all(lock, Clock::now() + place_.patience);
      if (!missing().empty()) {
        if (lost_.empty()) lost_ = absent_words(place_.patience);
        const std::string words = lost_;
        lock.unlock();
        tell_lost(words);
        return fail(ErrorCode::kIo, words);
      }
      for (Peer& peer : peers_) {
        texts[peer.rank] = std::move(peer.data.front());
        peer.data.pop_front();
      }
    }
    const std::string frame = write_frame(FrameKind::kData, pack(texts));
    for (const Peer& peer : peers_) {
      if (!send(peer, frame)) return fail(ErrorCode::kIo, fmt::format("rank {} has gone", peer.rank));
    }
    return texts;
  }

  Result<std::vector<std::string>> ask(const std::string& own) {
    Peer& root = peers_.front();
    // What rank 0 said before it went is better than that it went.
    const bool sent = send(root, write_frame(FrameKind::kData, own));
    const std::chrono::milliseconds patience = sent ? place_.patience + kLater : kLater;
    Lock lock(mutex_);
    wait_for_all(lock, Clock::now() + patience);
    if (root.data.empty()) return fail(ErrorCode::kIo, lost_.empty() ? absent_words(patience) : lost_);
    const std::string bytes = std::move(root.data.front());
    root.data.pop_front();
    lock.unlock();
    auto texts = unpack(bytes);
    if (texts && texts->size() == place_.ranks) return std::move(*texts);
    return fail(ErrorCode::kIo, "rank 0 sent what is no exchange of this program");
  }

  bool send(const Peer& peer, const std::string& frame) {
    const std::lock_guard lock(sending_);
    return send_all(peer.socket.get(), frame, Clock::now() + place_.patience);
  }

  void tell_lost(const std::string& words) {
    if (!root_) return;
    const std::lock_guard lock(sending_);
    for (const Peer& peer : peers_) {
      if (!peer.gone) (void)send_all(peer.socket.get(), write_frame(FrameKind::kLost, words), Clock::now());
    }
  }

  // The thread.
  void read_all() {
    SteadyTime beat = Clock::now();
    while (!ending_) {
      poll_once();
      std::string words = look_at_all();
      if (!words.empty()) lose(std::move(words));
      if (Clock::now() < beat) continue;
      beat = Clock::now() + kBeat;
      say_alive();
    }
  }

  void poll_once() {
    constexpr int kStep = 50;  // ms: how long the end of the meeting may wait
    std::vector<pollfd> wanted;
    for (const Peer& peer : peers_)
      wanted.push_back({peer.gone ? -1 : peer.socket.get(), POLLIN, 0});
    (void)poll(wanted.data(), wanted.size(), kStep);
  }

  // Reads what is there. Not empty: a peer has gone, or says that another one has.
  std::string look_at_all() {
    const Lock lock(mutex_);
    std::string words;
    bool news = false;
    for (Peer& peer : peers_) {
      if (peer.gone) continue;
      const std::size_t had = peer.bytes.size();
      const bool open = receive_some(peer.socket.get(), peer.bytes);
      if (peer.bytes.size() != had) peer.heard = Clock::now();
      std::vector<Frame> frames;
      const bool ours = take_frames(peer.bytes, kLongestFrame, frames);
      for (Frame& frame : frames) {
        news = true;
        if (frame.kind == FrameKind::kData) peer.data.push_back(std::move(frame.text));
        if (frame.kind == FrameKind::kAlive) peer.work = std::move(frame.text);
        if (frame.kind == FrameKind::kLost && words.empty()) words = std::move(frame.text);
      }
      const bool silent = Clock::now() - peer.heard > place_.patience;
      if (open && ours && !silent) continue;
      peer.gone = true;
      if (words.empty()) words = gone_words(peer, open, ours);
    }
    if (news) news_.notify_all();
    return words;
  }

  [[nodiscard]] std::string gone_words(const Peer& peer, bool open, bool ours) const {
    const std::string at = peer.work.empty() ? "" : fmt::format(" (it was at: {})", printable(peer.work));
    if (!ours) return fmt::format("rank {} sent what is no message of this program", peer.rank);
    if (!open) return fmt::format("rank {} has ended before its work was done{}", peer.rank, at);
    return fmt::format("rank {} has not been heard for {:g} s: it is stopped, or its host is gone{}",
                       peer.rank, seconds(place_.patience), at);
  }

  void lose(std::string words) {
    std::function<void(const std::string&)> callback;
    {
      const Lock lock(mutex_);
      if (!lost_.empty()) return;
      lost_ = words;
      callback = std::exchange(when_lost_, nullptr);
      news_.notify_all();
    }
    if (!callback) return;
    tell_lost(words);
    callback(words);
  }

  void say_alive() {
    std::string work;
    {
      const Lock lock(mutex_);
      work = work_;
    }
    const std::unique_lock lock(sending_, std::try_to_lock);
    if (!lock.owns_lock()) return;  // a larger message is under way, which says the same
    for (const Peer& peer : peers_) {
      // A peer that does not read has its window full: it is noticed by its silence.
      if (!peer.gone && wait_for(peer.socket.get(), true, std::chrono::milliseconds(0)))
        (void)send_all(peer.socket.get(), write_frame(FrameKind::kAlive, work), Clock::now() + kBeat);
    }
  }

  MeetingPlace place_;
  bool root_;
  std::mutex mutex_;    // peers_, work_, lost_, when_lost_
  std::mutex sending_;  // one frame after the other
  std::condition_variable news_;
  std::vector<Peer> peers_;
  std::string work_;
  std::string lost_;
  std::function<void(const std::string&)> when_lost_;
  std::atomic<bool> ending_ = false;
  std::thread reader_;
};

struct Guest {
  Descriptor socket;
  std::string bytes;
};

std::string hello_of(const MeetingPlace& place) {
  return fmt::format("{} {} {}", kGreeting, place.rank, place.ranks);
}

// Who that is; none: nobody of this program. An error: one of ours that belongs to another job.
Result<std::optional<std::uint32_t>> read_hello(std::string_view text, const MeetingPlace& place) {
  const auto words = split_words(text);
  if (!text.starts_with(kGreeting) || words.size() != 5) return std::nullopt;
  const auto rank = parse_integer<std::uint32_t>(words[3]);
  const auto ranks = parse_integer<std::uint32_t>(words[4]);
  if (!rank || !ranks) return std::nullopt;
  if (*ranks != place.ranks || *rank == 0 || *rank >= place.ranks) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("rank {} of {} came to the meeting of {} ranks", *rank, *ranks, place.ranks),
                "Two jobs on one port? Set MASTER_PORT");
  }
  return rank;
}

class Door {
 public:
  Door(const MeetingPlace& place, Descriptor listener) : place_(place), listener_(std::move(listener)) {
    here_.resize(place.ranks);
    here_[0] = true;
  }

  Result<std::vector<Peer>> let_all_in() {
    const SteadyTime until = Clock::now() + place_.patience;
    while (peers_.size() + 1 < place_.ranks) {
      if (Clock::now() >= until) return nobody_else();
      if (wait_for_any()) accept_all();
      if (auto heard = hear_all(); !heard) return std::unexpected(std::move(heard.error()));
    }
    return std::move(peers_);
  }

 private:
  std::unexpected<Error> nobody_else() const {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t i = 0; i < place_.ranks; ++i) {
      if (!here_[i]) ranks.push_back(i);
    }
    const std::string words =
        fmt::format("{} did not come to {} port {} within {:g} s", ranks_in_words(ranks),
                    printable(place_.address), place_.port, seconds(place_.patience));
    for (const Peer& peer : peers_)
      (void)send_all(peer.socket.get(), write_frame(FrameKind::kLost, words), Clock::now());
    return fail(ErrorCode::kIo, words, "Did every rank start? May its host reach that port?");
  }

  bool wait_for_any() const {
    constexpr int kStep = 50;  // ms
    std::vector<pollfd> wanted{{listener_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_)
      wanted.push_back({guest.socket.get(), POLLIN, 0});
    return poll(wanted.data(), wanted.size(), kStep) > 0;
  }

  void accept_all() {
    constexpr std::size_t kMostGuests = 65536;
    while (guests_.size() < kMostGuests) {
      Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.get() < 0) return;
      guests_.push_back({std::move(socket), {}});
    }
  }

  Result<void> hear_all() {
    for (Guest& guest : guests_) {
      if (auto heard = hear(guest); !heard) return heard;
    }
    std::erase_if(guests_, [](const Guest& guest) { return guest.socket.get() < 0; });
    return {};
  }

  Result<void> hear(Guest& guest) {
    const bool open = receive_some(guest.socket.get(), guest.bytes);
    std::vector<Frame> frames;
    const bool ours = take_frames(guest.bytes, kLongestHello, frames) && guest.bytes.size() <= kLongestHello;
    if (frames.empty() && open && ours) return {};
    Descriptor socket = std::move(guest.socket);
    guest.socket = Descriptor();
    if (frames.empty() || frames.front().kind != FrameKind::kHello) return {};  // a stranger
    auto rank = read_hello(frames.front().text, place_);
    if (!rank) return refuse(socket, rank.error());
    if (!*rank) return {};
    if (here_[**rank]) {
      return refuse(socket,
                    {ErrorCode::kInvalidInput, fmt::format("two processes say they are rank {}", **rank),
                     "Two jobs on one port? Set MASTER_PORT"});
    }
    here_[**rank] = true;
    Peer peer;
    peer.rank = **rank;
    peer.socket = std::move(socket);
    // What it sent behind its hello.
    peer.bytes = std::move(guest.bytes);
    for (Frame& frame : std::span(frames).subspan(1)) {
      if (frame.kind == FrameKind::kData) peer.data.push_back(std::move(frame.text));
    }
    peers_.push_back(std::move(peer));
    return {};
  }

  static Result<void> refuse(const Descriptor& socket, const Error& error) {
    (void)send_all(socket.get(), write_frame(FrameKind::kLost, error.message), Clock::now());
    return std::unexpected(error);
  }

  const MeetingPlace& place_;
  Descriptor listener_;
  std::vector<bool> here_;
  std::vector<Guest> guests_;
  std::vector<Peer> peers_;
};

Result<std::vector<Peer>> invite(const MeetingPlace& place) {
  auto listener = listen_at(place.address, place.port);
  if (!listener) return std::unexpected(std::move(listener.error()));
  return Door(place, std::move(*listener)).let_all_in();
}

Result<std::vector<Peer>> visit(const MeetingPlace& place) {
  auto socket = connect_at(place.address, place.port, Clock::now() + place.patience);
  if (!socket) return std::unexpected(std::move(socket.error()));
  const std::string hello = write_frame(FrameKind::kHello, hello_of(place));
  if (!send_all(socket->get(), hello, Clock::now() + kLater))
    return fail(ErrorCode::kIo, "rank 0 closed the connection at once");
  std::vector<Peer> peers(1);
  peers.front().socket = std::move(*socket);
  return peers;
}

}  // namespace

Result<std::unique_ptr<Meeting>> meet_over_tcp(const MeetingPlace& place) {
  if (place.ranks == 0 || place.rank >= place.ranks)
    return fail(ErrorCode::kInvalidInput, fmt::format("rank {} of {}", place.rank, place.ranks));
  std::vector<Peer> peers;
  if (place.ranks > 1) {
    auto found = place.rank == 0 ? invite(place) : visit(place);
    if (!found) return std::unexpected(std::move(found.error()));
    peers = std::move(*found);
  }
  auto meeting = std::make_unique<TcpMeeting>(place, std::move(peers));
  if (auto begun = meeting->begin(); !begun) return std::unexpected(std::move(begun.error()));
  // Nobody works before all are here: who does not come is named now, not in a library that waits for ever.
  if (auto here = meeting->exchange(""); !here) return std::unexpected(std::move(here.error()));
  return meeting;
}

}  // namespace angio::collective
