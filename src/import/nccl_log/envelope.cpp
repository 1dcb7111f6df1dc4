#include "import/nccl_log/envelope.hpp"

#include <array>
#include <cstring>

#include "import/nccl_log/scan.hpp"

namespace angio::import::nccl_log {

namespace {

constexpr std::string_view kWord = "NCCL ";

// Behind "NCCL ": which level, and where the message begins.
std::optional<Anchor> anchor_at(std::string_view line, std::size_t at) {
  Scan scan(line.substr(at + kWord.size()));
  Level level = Level::kInfo;
  if (scan.eat("INFO")) {
    level = Level::kInfo;
  } else if (scan.eat("WARN")) {
    level = Level::kWarn;
  } else if (scan.eat("TRACE")) {
    level = Level::kTrace;
  } else if (scan.eat("CALL")) {
    level = Level::kCall;
  } else {
    return std::nullopt;
  }
  if (!scan.done() && !scan.eat(' ')) return std::nullopt;
  return Anchor{at, line.size() - scan.rest().size(), level};
}

const char* find_letter(const char* from, const char* end, char letter) {
  if (from >= end) return nullptr;
  return static_cast<const char*>(std::memchr(from, letter, static_cast<std::size_t>(end - from)));
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool is_host_letter(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '-' || letter == '_' || letter == '.';
}

// Takes a number off the end of text.
bool take_number(std::string_view& text, std::uint32_t& value) {
  std::size_t at = text.size();
  while (at > 0 && is_digit(text[at - 1]))
    --at;
  Scan digits(text.substr(at));
  if (!digits.number(value)) return false;
  text = text.substr(0, at);
  return true;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.back() != wanted) return false;
  text.remove_suffix(1);
  return true;
}

void take_blanks(std::string_view& text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
}

// "(function)"
void take_function(std::string_view& text, Envelope& envelope) {
  if (text.empty() || text.back() != ')') return;
  const auto open = text.rfind('(');
  if (open == std::string_view::npos) return;
  envelope.function = text.substr(open + 1, text.size() - open - 2);
  text = text.substr(0, open);
  take_blanks(text);
}

// "transport/net_ib.cc:789", and not the "host:pid:tid" of a line without device.
void take_location(std::string_view& text, Envelope& envelope) {
  auto rest = text;
  std::uint32_t line = 0;
  if (!take_number(rest, line) || !take(rest, ':')) return;
  const auto blank = rest.find_last_of(" \t");
  const auto name = blank == std::string_view::npos ? rest : rest.substr(blank + 1);
  if (name.empty() || is_digit(name.back())) return;
  const auto start = static_cast<std::size_t>(name.data() - text.data());
  envelope.location = text.substr(start);
  text = text.substr(0, start);
  take_blanks(text);
}

// "[0]", "[-1]"
void take_device(std::string_view& text, Envelope& envelope) {
  auto rest = text;
  std::uint32_t number = 0;
  if (!take(rest, ']') || !take_number(rest, number) || number > 0x7fffffffU) return;
  const bool negative = take(rest, '-');
  if (!take(rest, '[')) return;
  envelope.device = negative ? -static_cast<int>(number) : static_cast<int>(number);
  text = rest;
  take_blanks(text);
}

// "host:pid:tid". A container without a name prints "(none)".
bool take_thread(std::string_view& text, Envelope& envelope) {
  auto rest = text;
  std::uint32_t tid = 0;
  if (!take_number(rest, tid) || !take(rest, ':') || !take_number(rest, envelope.pid) || !take(rest, ':'))
    return false;
  constexpr std::string_view kNone = "(none)";
  std::size_t start = rest.size();
  if (rest.ends_with(kNone)) {
    start -= kNone.size();
  } else {
    while (start > 0 && is_host_letter(rest[start - 1]))
      --start;
  }
  if (start == rest.size()) return false;
  envelope.host = rest.substr(start);
  envelope.thread = text.substr(start);
  text = text.substr(0, start);
  return true;
}

// What may stand before "NCCL INFO" when somebody cut the envelope away: nothing, or a launcher's mark.
bool may_precede_bare(std::string_view text) {
  take_blanks(text);
  return text.empty() || text.ends_with("]:") || text.ends_with(">:") || text.ends_with("|");
}

bool parse_digits(std::string_view text, std::size_t at, std::size_t count, int& value) {
  if (at + count > text.size()) return false;
  value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return false;
    value = value * 10 + (text[i] - '0');
  }
  return true;
}

// Days since 1970-01-01 of the Gregorian calendar; H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
std::int64_t days_from_civil(int year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const int era = year / 400;
  const int year_of_era = year - era * 400;
  const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return std::int64_t{era} * 146097 + day_of_era - 719468;
}

// "2025-03-01 12:34:56.789" at `at`.
std::optional<std::int64_t> time_at(std::string_view text, std::size_t at) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!parse_digits(text, at, 4, year) || !parse_digits(text, at + 5, 2, month) ||
      !parse_digits(text, at + 8, 2, day) || !parse_digits(text, at + 11, 2, hour) ||
      !parse_digits(text, at + 14, 2, minute) || !parse_digits(text, at + 17, 2, second))
    return std::nullopt;
  if (text[at + 7] != '-' || (text[at + 10] != ' ' && text[at + 10] != 'T') || text[at + 13] != ':' ||
      text[at + 16] != ':' || month < 1 || month > 12 || day < 1 || day > 31)
    return std::nullopt;
  std::int64_t micros = ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
  micros *= 1000000;
  std::int64_t unit = 100000;
  for (std::size_t i = at + 20; i < text.size() && is_digit(text[i]) && unit > 0; ++i, unit /= 10) {
    if (text[at + 19] != '.' && text[at + 19] != ',') break;
    micros += (text[i] - '0') * unit;
  }
  return micros;
}

}  // namespace

std::optional<Anchor> find_anchor(std::string_view line, std::size_t from) {
  if (from >= line.size()) return std::nullopt;
  const char* begin = line.data();
  const char* end = begin + line.size();
  for (const char* at = begin + from; (at = find_letter(at, end, kWord.front())) != nullptr; ++at) {
    if (end - at < static_cast<std::ptrdiff_t>(kWord.size()) ||
        std::memcmp(at, kWord.data(), kWord.size()) != 0)
      continue;
    if (const auto anchor = anchor_at(line, static_cast<std::size_t>(at - begin))) return anchor;
  }
  return std::nullopt;
}

std::optional<Envelope> parse_envelope(std::string_view before) {
  Envelope envelope;
  take_blanks(before);
  take_function(before, envelope);
  take_location(before, envelope);
  take_device(before, envelope);
  if (!take_thread(before, envelope)) {
    if (!envelope.device && !may_precede_bare(before)) return std::nullopt;
    envelope.cut = envelope.device.has_value() || !before.empty();
  }
  envelope.prefix = before;
  return envelope;
}

std::optional<std::int64_t> find_time(std::string_view prefix) {
  constexpr std::size_t kLength = 19;
  for (std::size_t at = 0; at + kLength <= prefix.size(); ++at) {
    if (prefix[at + 4] != '-' || !is_digit(prefix[at])) continue;
    if (const auto time = time_at(prefix, at)) return time;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> find_launcher_rank(std::string_view prefix) {
  std::uint32_t rank = 0;
  Scan torch(prefix);
  if (torch.skip_past("[rank") && torch.number(rank) && torch.eat(']')) return rank;
  Scan mpirun(prefix);  // "[job,rank]<stdout>:"
  std::uint32_t job = 0;
  if (mpirun.skip_past("[") && mpirun.number(job) && mpirun.eat(',') && mpirun.number(rank) &&
      mpirun.eat("]<"))
    return rank;
  Scan srun(prefix);
  srun.blanks();
  if (srun.number(rank) && (srun.rest() == ": " || srun.rest().starts_with(": ["))) return rank;
  return std::nullopt;
}

}  // namespace angio::import::nccl_log
