// Observed<T>: what Angio knows of one attribute. Known, absent (looked, not there) or unreadable (why).
// Unknown is a value: no rule concludes from unreadable data. Each carries where it was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace angio::model {

// Where a value was read: a place of the machine's table (a directory, a library, a file), the leaf
// below it (always a string literal) and, for foreign files, the line.
struct Source {
  std::uint32_t place = 0;
  std::uint32_t line = 0;
  const char* leaf = "";
};

// The places of one machine, so that a million Sources cost 16 bytes each.
class Places {
 public:
  // joint: what stands between the place and a leaf below it, a literal; ", " for "NVML, nvmlInit".
  std::uint32_t add(std::string place, const char* joint = "/") {
    texts_.push_back(std::move(place));
    joints_.push_back(joint);
    return static_cast<std::uint32_t>(texts_.size() - 1);
  }
  // "/sys/bus/pci/devices/0000:1b:00.0/numa_node", "topo.txt:12".
  [[nodiscard]] std::string text(const Source& source) const;

 private:
  std::vector<std::string> texts_{std::string("unknown")};  // place 0
  std::vector<const char*> joints_{"/"};
};

enum class Presence : std::uint8_t { kUnreadable, kKnown, kAbsent };

enum class Reason : std::uint8_t {
  kNotCollected,  // nobody asked, or the source has no such statement
  kDenied,        // permission: root would see it
  kFailed,        // the read failed (errno kept)
  kUnparsable,    // read, but not what the format says
  kUnsupported,   // the library or device says it cannot tell
};

template <typename T>
class Observed {
 public:
  Observed() = default;  // unreadable: not collected
  static Observed known(T value, Source source) {
    Observed observed;
    observed.value_ = std::move(value);
    observed.presence_ = Presence::kKnown;
    observed.source_ = source;
    return observed;
  }
  static Observed absent(Source source) {
    Observed observed;
    observed.presence_ = Presence::kAbsent;
    observed.source_ = source;
    return observed;
  }
  static Observed unreadable(Reason reason, Source source, int error = 0) {
    Observed observed;
    observed.reason_ = reason;
    observed.error_ = error;
    observed.source_ = source;
    return observed;
  }

  [[nodiscard]] bool is_known() const { return presence_ == Presence::kKnown; }
  [[nodiscard]] bool is_absent() const { return presence_ == Presence::kAbsent; }
  [[nodiscard]] bool is_unreadable() const { return presence_ == Presence::kUnreadable; }
  [[nodiscard]] Presence presence() const { return presence_; }
  [[nodiscard]] Reason reason() const { return reason_; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const Source& source() const { return source_; }

  // Null unless known: `if (const auto* node = device.numa.get()) ...`.
  [[nodiscard]] const T* get() const { return is_known() ? &value_ : nullptr; }
  [[nodiscard]] T value_or(T fallback) const { return is_known() ? value_ : std::move(fallback); }
  [[nodiscard]] bool is(const T& expected) const { return is_known() && value_ == expected; }

 private:
  T value_{};
  Source source_;
  int error_ = 0;
  Presence presence_ = Presence::kUnreadable;
  Reason reason_ = Reason::kNotCollected;
};

}  // namespace angio::model
