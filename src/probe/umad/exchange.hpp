// Keeps many questions of a FabricWalk under way at once: transactions, time, lost MADs. Pure but for the
// wire and the clock that it is given. Not a general MAD library.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/clock.hpp"
#include "probe/umad/mad.hpp"
#include "probe/umad/scan.hpp"
#include "probe/umad/walk.hpp"

namespace angio::probe::umad {

struct Outgoing {
  MadClass mad_class = MadClass::kDirected;
  std::uint16_t lid = kPermissive;
  std::chrono::milliseconds patience{0};  // after which the wire may hand the request back
  const MadBytes* mad = nullptr;
};

enum class Arrival : std::uint8_t {
  kNothing,   // in the time given
  kMad,       // an answer, or what claims to be one
  kReturned,  // the own request: the kernel waited for its answer in vain
  kShort,     // fewer bytes than a MAD has
  kBroken,    // the device does not receive any more
};

struct Incoming {
  Arrival arrival = Arrival::kNothing;
  MadBytes mad{};
  std::string why;  // of kBroken
};

class MadWire {
 public:
  MadWire() = default;
  MadWire(const MadWire&) = delete;
  MadWire& operator=(const MadWire&) = delete;
  virtual ~MadWire() = default;
  virtual Result<void> send(const Outgoing& outgoing) = 0;
  // Zero: what is there already.
  virtual void receive(std::chrono::milliseconds patience, Incoming& incoming) = 0;
};

class Exchange {
 public:
  Exchange(FabricWalk& walk, MadWire& wire, const ScanOptions& options, const host::Clock& clock);
  // Until nothing is left to ask, or an end that a note of the walk names.
  ScanWork run();

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Span = std::chrono::steady_clock::duration;

  struct Slot {
    Ask ask;
    bool used = false;
    std::uint32_t tries = 0;
    std::uint32_t first_serial = 0;  // of the first try: a late answer to it is an answer
    std::uint32_t serial = 0;        // of the latest
    Time sent;
    Time until;
  };

  void fill();
  bool send(std::uint32_t slot);
  void take(const Incoming& incoming);
  void settle(std::uint32_t slot, const AnswerHead& head, const MadBytes& mad);
  void lost(std::uint32_t slot);
  void expire(Time now);
  void release(std::uint32_t slot);
  bool must_end(Time now);
  void report(Time now);
  [[nodiscard]] std::optional<std::uint32_t> slot_of(std::uint32_t transaction, bool latest_only) const;
  [[nodiscard]] bool was_asked(std::uint32_t transaction) const;
  [[nodiscard]] Span patience(std::uint32_t tries) const;
  void learn(Span round_trip);

  FabricWalk& walk_;
  MadWire& wire_;
  const ScanOptions& options_;
  const host::Clock& clock_;
  ScanWork work_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
  std::uint32_t prompt_ = 0;  // used ones in their first try: only these fill the window
  double window_ = 0;         // how many may be, at most options.in_flight
  std::uint32_t serial_ = 0;
  Time begin_, next_expiry_, next_report_, next_shrink_;
  Span round_trip_{}, deviation_{};  // smoothed
  Span slowest_{};                   // of the answers to first tries
  std::uint32_t answers_ = 0;        // to first tries
  std::uint32_t failures_ = 0;       // of sending, in a row
  bool shrunk_ = false;              // an answer was lost on the way at least once
  bool broken_ = false;
};

}  // namespace angio::probe::umad
