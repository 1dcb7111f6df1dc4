// Time: the wall clock for captions, the steady clock for durations. Tests pass their own.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace angio::host {

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::chrono::system_clock::time_point now() const = 0;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point steady_now() const = 0;
};

std::unique_ptr<Clock> make_system_clock();

// "2026-11-29T12:00:00Z" (RFC 3339).
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace angio::host
