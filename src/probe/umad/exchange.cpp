#include "probe/umad/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace angio::probe::umad {
namespace {

using namespace std::chrono_literals;

// A transaction id is 20 bits of serial number over 12 bits of slot.
constexpr std::uint32_t kSlotBits = 12;
constexpr std::uint32_t kMostSlots = 1U << kSlotBits;
constexpr std::uint32_t kSerials = 1U << (32 - kSlotBits);
constexpr std::uint32_t kMostWindow = kMostSlots / 4;
// Questions that wait for a silent node beside the window, in windows.
constexpr std::uint32_t kLateWindows = 3;
constexpr double kFirstWindow = 8;
constexpr double kLeastWindow = 4;
constexpr std::uint32_t kSendFailures = 20;  // in a row
constexpr auto kSendPause = 20ms;
constexpr std::uint32_t kManyAnswers = 256;  // from here on the slowest of them is slow

std::chrono::milliseconds whole(std::chrono::steady_clock::duration span) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(span), 1ms);
}

}  // namespace

Exchange::Exchange(FabricWalk& walk, MadWire& wire, const ScanOptions& options, const host::Clock& clock)
    : walk_(walk), wire_(wire), options_(options), clock_(clock) {
  const std::uint32_t window = std::clamp<std::uint32_t>(options.in_flight, 1, kMostWindow);
  slots_.resize(window * (kLateWindows + 1));
  for (auto i = static_cast<std::uint32_t>(slots_.size()); i > 0; --i)
    free_.push_back(i - 1);
  window_ = std::min<double>(kFirstWindow, window);
}

ScanWork Exchange::run() {
  begin_ = clock_.steady_now();
  next_expiry_ = next_report_ = next_shrink_ = begin_;
  Incoming incoming;
  Time now = begin_;
  while (!must_end(now)) {
    fill();
    if (used_ == 0) break;  // nothing is left to ask
    // Not longer than a person waits for Ctrl-C.
    const auto wait = std::clamp<Span>(next_expiry_ - clock_.steady_now(), 1ms, 100ms);
    wire_.receive(whole(wait), incoming);
    for (int more = 0; incoming.arrival != Arrival::kNothing && more < 256 && !broken_; ++more) {
      take(incoming);
      if (prompt_ == 0) break;
      wire_.receive(0ms, incoming);
    }
    now = clock_.steady_now();
    if (now >= next_expiry_) expire(now);
    report(now);
  }
  work_.seconds = std::chrono::duration<double>(clock_.steady_now() - begin_).count();
  return work_;
}

bool Exchange::must_end(Time now) {
  if (broken_) return true;
  if (now - begin_ > options_.limit) {
    walk_.note("scan.time-limit",
               fmt::format("the scan ended at its limit of {} s; it is not whole", options_.limit.count()));
    return true;
  }
  if (options_.stop && options_.stop()) {
    walk_.note("scan.stopped", "the scan was stopped; it is not whole");
    return true;
  }
  return false;
}

void Exchange::report(Time now) {
  if (!options_.progress || now < next_report_) return;
  next_report_ = now + 100ms;
  options_.progress(walk_.nodes(), used_);
}

void Exchange::fill() {
  while (!free_.empty() && prompt_ < static_cast<std::uint32_t>(window_)) {
    const std::optional<Ask> ask = walk_.next();
    if (!ask) return;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {*ask, true, 0, 0, 0, {}, {}};
    ++used_;
    ++prompt_;
    if (!send(slot)) return;
  }
}

// False when the device refuses: nothing more is sent until something came back.
bool Exchange::send(std::uint32_t index) {
  Slot& slot = slots_[index];
  serial_ = (serial_ + 1) % kSerials;
  if (slot.tries == 0) slot.first_serial = serial_;
  slot.serial = serial_;
  ++slot.tries;
  const MadBytes mad = walk_.request(slot.ask, slot.serial << kSlotBits | index);
  const Span span = patience(slot.tries);
  slot.sent = clock_.steady_now();
  // Longer than the kernel waits: it says by itself that no answer came.
  slot.until = slot.sent + span + std::max<Span>(span / 2, 50ms);
  next_expiry_ = used_ == 1 ? slot.until : std::min(next_expiry_, slot.until);
  ++work_.sent;
  const Result<void> sent =
      wire_.send({class_of(slot.ask.question), walk_.lid_of(slot.ask), whole(span), &mad});
  if (sent) {
    failures_ = 0;
    return true;
  }
  // A full queue empties; a device that went away does not come back.
  slot.until = slot.sent + kSendPause;
  next_expiry_ = std::min(next_expiry_, slot.until);
  if (++failures_ < kSendFailures) return false;
  broken_ = true;
  walk_.note("scan.send", sent.error().message, sent.error().hint);
  return false;
}

Exchange::Span Exchange::patience(std::uint32_t tries) const {
  const Span most = options_.patience;
  if (tries == 1 && round_trip_ == Span{}) return most;
  if (tries >= options_.tries) {
    // Whoever is silent for eight times the slowest of many answers, three times over, is dead. Where answers
    // are lost or few came, silence says less.
    const bool sure = tries > 1 && !shrunk_ && answers_ >= kManyAnswers;
    return sure ? std::clamp<Span>(8 * slowest_, most / 4, most) : most;
  }
  // The tries before the last may be short: MADs are lost, and most answer at once.
  const Span usual = (round_trip_ + 4 * deviation_) * 4;
  return tries == 1 ? std::clamp<Span>(usual, most / 8, most) : std::clamp<Span>(2 * usual, most / 4, most);
}

void Exchange::learn(Span round_trip) {
  ++answers_;
  slowest_ = std::max(slowest_, round_trip);
  if (round_trip_ == Span{}) {
    round_trip_ = std::max<Span>(round_trip, 1us);
    deviation_ = round_trip / 2;
    return;
  }
  const Span off = round_trip > round_trip_ ? round_trip - round_trip_ : round_trip_ - round_trip;
  deviation_ += (off - deviation_) / 4;
  round_trip_ += (round_trip - round_trip_) / 8;
}

std::optional<std::uint32_t> Exchange::slot_of(std::uint32_t transaction, bool latest_only) const {
  const std::uint32_t index = transaction % kMostSlots;
  if (index >= slots_.size() || !slots_[index].used) return std::nullopt;
  const Slot& slot = slots_[index];
  const std::uint32_t serial = transaction >> kSlotBits;
  if (latest_only) return serial == slot.serial ? std::optional(index) : std::nullopt;
  const std::uint32_t age = (serial + kSerials - slot.first_serial) % kSerials;
  const std::uint32_t most = (slot.serial + kSerials - slot.first_serial) % kSerials;
  return age <= most ? std::optional(index) : std::nullopt;
}

bool Exchange::was_asked(std::uint32_t transaction) const {
  const std::uint32_t serial = transaction >> kSlotBits;
  const bool known = transaction % kMostSlots < slots_.size();
  return known && (serial_ + kSerials - serial) % kSerials < work_.sent;
}

void Exchange::take(const Incoming& incoming) {
  switch (incoming.arrival) {
    case Arrival::kNothing:
      return;
    case Arrival::kShort:
      walk_.note("scan.short-answer", "an answer with fewer bytes than a MAD has was left out");
      return;
    case Arrival::kBroken:
      broken_ = true;
      walk_.note("scan.receive", incoming.why,
                 "The adapter was reset or taken away: look at the kernel's log");
      return;
    case Arrival::kReturned:
      if (const auto slot = slot_of(transaction_of(incoming.mad), true)) lost(*slot);
      return;
    case Arrival::kMad:
      break;
  }
  const auto slot = slot_of(transaction_of(incoming.mad), false);
  if (!slot) {
    if (was_asked(transaction_of(incoming.mad))) return;  // late: another try was answered or it was given up
    walk_.note("scan.stray-answer", "an answer to a question that nobody asked was left out");
    return;
  }
  const Ask& ask = slots_[*slot].ask;
  const AnswerHead head = read_head(incoming.mad, ask.question, static_cast<std::uint8_t>(ask.port));
  if (head.fits) return settle(*slot, head, incoming.mad);
  walk_.note("scan.misfit",
             fmt::format("an answer to {} does not fit the question and was left out", name_of(ask.question)),
             "A device answers what it was not asked: its firmware");
}

void Exchange::settle(std::uint32_t index, const AnswerHead& head, const MadBytes& mad) {
  constexpr std::uint16_t kBusy = 1;
  if ((head.status & kBusy) != 0) return;  // it is asked again when its time is over
  const Slot slot = slots_[index];
  const Time now = clock_.steady_now();
  const double most = std::clamp<std::uint32_t>(options_.in_flight, 1, kMostWindow);
  if (slot.tries == 1) {
    learn(now - slot.sent);
    window_ = std::min(most, window_ + (shrunk_ ? 1.0 / window_ : 1.0));
  } else if (now >= next_shrink_) {  // it was lost on the way: somewhere a queue is too short
    shrunk_ = true;
    window_ = std::max(std::min(kLeastWindow, most), window_ / 2);
    next_shrink_ = now + 8 * round_trip_;
  }
  release(index);
  ++work_.answered;
  if (head.status == 0) {
    walk_.answer(slot.ask, payload_of(mad));
  } else {
    walk_.refuse(slot.ask, head.status);
  }
}

void Exchange::lost(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.tries < std::max<std::uint32_t>(options_.tries, 1)) {
    if (slot.tries == 1) --prompt_;
    ++work_.resent;
    send(index);
    return;
  }
  const Slot gone = slot;
  release(index);
  ++work_.given_up;
  walk_.give_up(gone.ask, gone.tries);
}

void Exchange::release(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.tries <= 1) --prompt_;
  slot.used = false;
  --used_;
  free_.push_back(index);
}

void Exchange::expire(Time now) {
  next_expiry_ = now + 10s;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].used && slots_[i].until <= now) lost(i);
    if (slots_[i].used) next_expiry_ = std::min(next_expiry_, slots_[i].until);
  }
}

}  // namespace angio::probe::umad
