#include "settings.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>

#include "profile_ring/layout.hpp"

namespace angio::profiler {
namespace {

using profile_ring::EventKind;

constexpr std::uint64_t bit(EventKind kind) {
  return std::uint64_t{1} << static_cast<unsigned>(kind);
}

struct Word {
  std::string_view word;
  std::uint64_t bits;
};

// Operations, their kernels and network operations: a few events an operation and channel. Steps are one
// event a network transfer, so they are asked for.
constexpr std::uint64_t kDefault = bit(EventKind::kCollective) | bit(EventKind::kPointToPoint) |
                                   bit(EventKind::kKernel) | bit(EventKind::kProxyOp);
constexpr std::uint64_t kAll = (std::uint64_t{1} << profile_ring::kKinds) - 1;

constexpr std::array<Word, 16> kWords = {{
    {"default", kDefault},
    {"all", kAll},
    {"none", 0},
    {"group", bit(EventKind::kGroup)},
    {"coll", bit(EventKind::kCollective)},
    {"p2p", bit(EventKind::kPointToPoint)},
    {"proxy-op", bit(EventKind::kProxyOp)},
    {"proxy-step", bit(EventKind::kProxyStep)},
    {"proxy-ctrl", bit(EventKind::kProxyControl)},
    {"kernel", bit(EventKind::kKernel)},
    {"phase", bit(EventKind::kKernelPhase)},
    {"network", bit(EventKind::kNetwork)},
    {"api", bit(EventKind::kGroupApi) | bit(EventKind::kCollectiveApi) | bit(EventKind::kPointToPointApi)},
    {"launch", bit(EventKind::kKernelLaunch)},
    {"copy", bit(EventKind::kCopyCollective) | bit(EventKind::kCopySync) | bit(EventKind::kCopyBatch)},
    {"steps", kDefault | bit(EventKind::kProxyStep)},
}};

constexpr std::uint64_t kEvents = 16384;  // 2 MiB a communicator and rank
constexpr std::uint64_t kLeastEvents = 256;
constexpr std::uint64_t kMostEvents = profile_ring::kMostSlots;
constexpr std::uint64_t kTotal = std::uint64_t{1} << 30U;

const Word* find_word(std::string_view word) {
  for (const Word& known : kWords)
    if (known.word == word) return &known;
  return nullptr;
}

std::string known_words() {
  std::string text;
  for (const Word& known : kWords)
    text.append(text.empty() ? "" : " ").append(known.word);
  return text;
}

std::string read_count(const char* name, std::uint64_t least, std::uint64_t most, std::uint64_t& value) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? std::string{} : parse_count(name, text, least, most, value);
}

}  // namespace

std::string parse_events(std::string_view text, std::uint64_t& mask) {
  mask = 0;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(", ");
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (word.empty()) continue;
    const Word* known = find_word(word);
    if (known == nullptr)
      return "ANGIO_PROFILER_EVENTS: \"" + std::string(word) + "\" is no event; there are " + known_words();
    mask |= known->bits;
  }
  // A child says little without its parent, which knows the peer and the channel.
  if ((mask & bit(EventKind::kNetwork)) != 0) mask |= bit(EventKind::kProxyStep);
  if ((mask & bit(EventKind::kProxyStep)) != 0) mask |= bit(EventKind::kProxyOp);
  if ((mask & bit(EventKind::kKernelPhase)) != 0) mask |= bit(EventKind::kKernel);
  return {};
}

std::string parse_count(std::string_view name, std::string_view text, std::uint64_t least, std::uint64_t most,
                        std::uint64_t& value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::size_t power = unit.empty() ? 0 : std::string_view("-KMG").find(unit);
  const bool good = error == std::errc{} && power != std::string_view::npos && unit != "-" &&
                    unit.size() < 2 && number <= (most >> (10 * power));
  const std::uint64_t whole = good ? number << (10 * power) : 0;
  if (!good || whole < least || whole > most)
    return std::string(name) + ": \"" + std::string(text) + "\" is no number from " + std::to_string(least) +
           " to " + std::to_string(most) + "; K, M and G may follow it";
  value = whole;
  return {};
}

std::string read_settings(Settings& settings) {
  settings.mask = kDefault;
  settings.events = kEvents;
  settings.total = kTotal;
  const char* directory = std::getenv("ANGIO_PROFILER_DIR");
  settings.own_directory = directory == nullptr || *directory == '\0';
  settings.directory = settings.own_directory ? "/dev/shm/angio-profiler-" + std::to_string(geteuid())
                                              : std::string(directory);
  if (const char* events = std::getenv("ANGIO_PROFILER_EVENTS"); events != nullptr && *events != '\0') {
    if (std::string wrong = parse_events(events, settings.mask); !wrong.empty()) return wrong;
  }
  std::string wrong = read_count("ANGIO_PROFILER_EVENTS_MAX", kLeastEvents, kMostEvents, settings.events);
  if (wrong.empty())
    wrong = read_count("ANGIO_PROFILER_TOTAL_MAX", 1, std::uint64_t{1} << 50U, settings.total);
  settings.events = std::bit_floor(settings.events);
  return wrong;
}

}  // namespace angio::profiler
