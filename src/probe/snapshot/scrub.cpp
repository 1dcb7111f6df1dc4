#include "probe/snapshot/scrub.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"
#include "probe/snapshot/pseudonyms.hpp"

namespace angio::probe {
namespace {

using snapshot::Identifier;
using snapshot::IdentifierKind;
using snapshot::Pseudonyms;
using Word = Pseudonyms::Word;

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Texts of people and programs hold names; the kernel's own files hold numbers only, and a host named "vm"
// must not change /proc/sys/vm.
bool is_free_text(std::string_view path) {
  constexpr std::array<std::string_view, 4> kNamed{"/proc/cmdline", "/proc/sys/kernel/hostname",
                                                   "/proc/sys/kernel/domainname", "/proc/version"};
  if (std::ranges::find(kNamed, path) != kNamed.end()) return true;
  if (path.ends_with("/node_desc") || path.starts_with("/proc/net/") || path.starts_with("/proc/self/"))
    return true;
  if (path.starts_with("/proc/"))
    return path.size() > 6 && std::isdigit(static_cast<unsigned char>(path[6])) != 0;
  constexpr std::array<std::string_view, 8> kKernel{"/sys/",    "/dev/",   "/@nvml",    "/@verbs",
                                                    "/@limits", "/@uname", "/@ethtool", "/@clock"};
  return !std::ranges::any_of(kKernel, [&](std::string_view prefix) { return path.starts_with(prefix); });
}

// Calls use("NAME", "value") for each entry NAME=value of a text, one a line or ended by NUL.
template <typename Use>
void for_each_setting(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    std::string_view name = entry.substr(0, equals);
    name.remove_prefix(std::min(name.find_last_of(" \t") + 1, name.size()));  // "export NAME=value"
    use(name, trim(entry.substr(equals + 1)));
  }
}

// "gpu-[001-003,007],login": how Slurm writes many hosts.
class HostList {
 public:
  // Length of the bracket form at the start of text ("gpu-[001-003]"); 0: none.
  static std::size_t length_of(std::string_view text) {
    constexpr std::size_t kLongest = 1024;  // looked at from every position: must stay bounded
    text = text.substr(0, kLongest);
    const std::size_t open =
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    if (open == text.npos || open == 0 || open > 200 || text[open] != '[') return 0;
    const std::size_t close = text.find_first_not_of("0123456789-,", open + 1);
    return close == text.npos || text[close] != ']' ? 0 : close + 1;
  }

  static std::vector<std::string> expand(std::string_view text) {
    constexpr std::size_t kMaxHosts = 4096;
    std::vector<std::string> hosts;
    while (!text.empty() && hosts.size() < kMaxHosts) {
      const std::size_t brackets = length_of(text);
      const std::size_t end = brackets > 0 ? brackets : std::min(text.find(','), text.size());
      const std::string_view item = text.substr(0, end);
      if (brackets > 0) {
        const std::size_t open = item.find('[');
        for (const std::string_view range : split(item.substr(open + 1, item.size() - open - 2), ',')) {
          append_range(hosts, item.substr(0, open), range, kMaxHosts);
        }
      } else if (!item.empty()) {
        hosts.emplace_back(item);
      }
      text.remove_prefix(end);
      while (text.starts_with(','))
        text.remove_prefix(1);
    }
    return hosts;
  }

 private:
  static void append_range(std::vector<std::string>& hosts, std::string_view prefix, std::string_view range,
                           std::size_t most) {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const auto from = parse_integer<std::uint64_t>(first);
    const auto to = dash == range.npos ? from : parse_integer<std::uint64_t>(range.substr(dash + 1));
    if (!from || !to || first.size() > 12) return;
    for (std::uint64_t number = *from; number <= *to && hosts.size() < most; ++number) {
      std::string digits = std::to_string(number);
      digits.insert(0, first.size() > digits.size() ? first.size() - digits.size() : 0, '0');
      hosts.push_back(std::string(prefix) + digits);
    }
  }
};

bool is_serial_leaf(std::string_view path) {
  return contains(path.substr(path.rfind('/') + 1), "serial");
}

// First pass: what is there to hide.
class Collector {
 public:
  explicit Collector(Pseudonyms& names) : names_(names) {}

  void structured(const Snapshot& snapshot) {
    names_.note_own_host(snapshot.host);
    for (const auto& [path, answers] : snapshot.recording) {
      if (!answers.content || !*answers.content) continue;
      const std::string& text = **answers.content;
      if (path == "/proc/sys/kernel/hostname")
        snapshot.host.empty() ? names_.note_own_host(trim(text)) : names_.note_word(Word::kHost, text);
      if (path == "/proc/sys/kernel/domainname") names_.note_word(Word::kDomain, text);
      if (is_serial_leaf(path)) names_.note_word(Word::kSerial, text);
      if (path.starts_with("/@env/")) setting(std::string_view(path).substr(6), text);
      if (!is_free_text(path)) continue;
      for_each_setting(text, [&](std::string_view name, std::string_view value) { setting(name, value); });
      lines(text);
    }
  }

  void identifiers(std::string_view text, bool free_text) {
    for (std::size_t at = 0; at < text.size();) {
      if (free_text) names_at(text, at);
      const std::optional<Identifier> found = snapshot::find_identifier(text, at);
      if (found && (free_text || found->kind != IdentifierKind::kIpv4) &&
          (free_text || found->kind != IdentifierKind::kHexId)) {
        names_.note(*found, text.substr(at, found->length));
      }
      at += found ? found->length : 1;
    }
  }

 private:
  void setting(std::string_view name, std::string_view value) {
    constexpr std::array<std::string_view, 6> kHosts{
        "SLURM_SUBMIT_HOST", "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR",
        "MASTER_ADDR",       "HOSTNAME",        "SLURM_LAUNCH_NODE"};
    if (std::ranges::find(kHosts, name) != kHosts.end()) names_.note_word(Word::kHost, value);
    if (name.ends_with("NODELIST")) {
      for (const std::string& host : HostList::expand(value))
        names_.note_word(Word::kHost, host);
    }
    if (name == "USER" || name == "LOGNAME" || name == "SLURM_JOB_USER") names_.note_word(Word::kUser, value);
    if (name == "SLURM_JOB_ACCOUNT") names_.note_word(Word::kAccount, value);
    if (name == "SLURM_CLUSTER_NAME") names_.note_word(Word::kCluster, value);
  }

  // What programs print: "host:pid:tid [0] NCCL INFO", "Serial Number : 1652922010".
  void lines(std::string_view text) {
    for (const std::string_view line : split_lines(text)) {
      if (contains(line.substr(0, 512), " NCCL ")) nccl_line(line);
      const std::size_t serial = line.substr(0, 512).find("Serial Number");
      const std::size_t colon = serial == line.npos ? serial : line.find(':', serial);
      if (colon != line.npos) names_.note_word(Word::kSerial, line.substr(colon + 1));
    }
  }

  void nccl_line(std::string_view line) {
    std::string_view head = line.substr(0, line.find(" ["));
    if (const std::size_t blank = head.rfind(' '); blank != head.npos) head.remove_prefix(blank + 1);
    const std::vector<std::string_view> parts = split(head, ':');
    const bool numbers =
        parts.size() == 3 && parse_integer<std::uint64_t>(parts[1]) && parse_integer<std::uint64_t>(parts[2]);
    if (numbers) names_.note_word(Word::kHost, parts[0]);
  }

  // "/home/NAME", hosts of a known domain or of a known row of names.
  void names_at(std::string_view text, std::size_t at) {
    constexpr std::array<std::string_view, 3> kHomes{"/home/", "/Users/", "/users/"};
    const std::string_view rest = text.substr(at);
    for (const std::string_view home : kHomes) {
      if (!rest.starts_with(home)) continue;
      const std::size_t end = rest.find_first_of(std::string_view("/ \t\n\"':;,=()\0", 13), home.size());
      names_.note_word(Word::kUser, rest.substr(home.size(), std::min<std::size_t>(end - home.size(), 64)));
    }
    if (!is_alnum(text[at]) ||
        (at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '-')))
      return;
    constexpr std::size_t kLongest = 253;
    const std::string_view window = rest.substr(0, kLongest);
    const std::size_t end =
        std::ranges::find_if(window, [](char c) { return !is_alnum(c) && c != '-' && c != '.'; }) -
        window.begin();
    std::string_view word = rest.substr(0, end);
    while (word.ends_with('.') || word.ends_with('-'))
      word.remove_suffix(1);
    if (names_.is_in_domain(word) || names_.is_family(word.substr(0, word.find('.'))))
      names_.note_word(Word::kHost, word);
    if (const std::size_t list = HostList::length_of(rest);
        list > 0 && names_.is_family_prefix(rest.substr(0, rest.find('[')))) {
      for (const std::string& host : HostList::expand(rest.substr(0, list)))
        names_.note_word(Word::kHost, host);
    }
  }

  Pseudonyms& names_;
};

// Second pass: text with stand-ins.
class Replacer {
 public:
  explicit Replacer(Pseudonyms& names) : names_(names) {}

  std::string text(std::string_view original, bool free_text) {
    std::string result;
    result.reserve(original.size());
    for (std::size_t at = 0; at < original.size();)
      at += step(original, at, free_text, result);
    return result;
  }

 private:
  // Copies or replaces what stands at `at`; returns its length.
  std::size_t step(std::string_view original, std::size_t at, bool free_text, std::string& result) {
    const std::string_view rest = original.substr(at);
    const bool begins = at == 0 || !is_alnum(original[at - 1]);
    if (begins && is_alnum(original[at])) {
      if (const std::size_t list = free_text ? host_list(rest, result) : 0; list > 0) return list;
      std::string replacement;
      if (const std::size_t length = names_.find_word(rest, !free_text, replacement); length > 0) {
        result += replacement;
        return length;
      }
    }
    const std::optional<Identifier> found = begins ? snapshot::find_identifier(original, at) : std::nullopt;
    const bool applies =
        found &&
        (free_text || (found->kind != IdentifierKind::kIpv4 && found->kind != IdentifierKind::kHexId));
    if (!applies) {
      result += original[at];
      return 1;
    }
    result += names_.replace(*found, rest.substr(0, found->length));
    return found->length;
  }

  std::size_t host_list(std::string_view rest, std::string& result) {
    const std::size_t length = HostList::length_of(rest);
    if (length == 0 || !names_.is_family_prefix(rest.substr(0, rest.find('[')))) return 0;
    std::vector<std::string> hosts = HostList::expand(rest.substr(0, length));
    for (std::string& host : hosts)
      host = names_.word(host);
    result += join(hosts, ",");
    return length;
  }

  Pseudonyms& names_;
};

// PCI Express device serial numbers (capability 3) hold a MAC or GUID: include/uapi/linux/pci_regs.h.
void erase_pci_serial(std::string& config) {
  constexpr std::size_t kExtended = 0x100;
  constexpr std::uint32_t kSerialNumber = 3;
  constexpr int kMaxCapabilities = 256;
  std::size_t at = kExtended;
  for (int i = 0; i < kMaxCapabilities && at >= kExtended && at + 12 <= config.size(); ++i) {
    const auto byte = [&](std::size_t k) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(config[at + k]));
    };
    const std::uint32_t head = byte(0) | (byte(1) << 8U) | (byte(2) << 16U) | (byte(3) << 24U);
    if ((head & 0xFFFFU) == kSerialNumber)
      std::fill_n(config.begin() + static_cast<std::ptrdiff_t>(at) + 4, 8, '\0');
    at = (head >> 20U) & 0xFFCU;
  }
}

class Scrubber {
 public:
  explicit Scrubber(std::uint64_t seed) : names_(seed), collector_(names_), replacer_(names_) {}

  Snapshot run(Snapshot snapshot) {
    collector_.structured(snapshot);
    for (const auto& [path, answers] : snapshot.recording)
      collect(path, answers);
    names_.settle();
    host::Recording scrubbed;
    for (auto& [path, answers] : snapshot.recording) {
      replace(path, answers);
      scrubbed.try_emplace(replacer_.text(path, is_free_text(path)), std::move(answers));
    }
    snapshot.recording = std::move(scrubbed);
    snapshot.host = replacer_.text(snapshot.host, true);
    snapshot.scrubbed = true;
    return snapshot;
  }

 private:
  static bool is_configuration(std::string_view path) { return path.ends_with("/config"); }
  static bool is_vital_product_data(std::string_view path) { return path.ends_with("/vpd"); }

  void collect(std::string_view path, const host::Answers& answers) {
    const bool free_text = is_free_text(path);
    collector_.identifiers(path, free_text);
    if (answers.content && *answers.content && !is_configuration(path))
      collector_.identifiers(**answers.content, free_text);
    if (answers.content && !*answers.content) collector_.identifiers(answers.content->error().detail, false);
    if (answers.link && *answers.link) collector_.identifiers(**answers.link, free_text);
    if (!answers.names || !*answers.names) return;
    for (const std::string& name : **answers.names)
      collector_.identifiers(name, free_text);
  }

  void replace(std::string_view path, host::Answers& answers) {
    const bool free_text = is_free_text(path);
    if (is_vital_product_data(path)) answers.content.reset();
    if (answers.content && *answers.content) {
      std::string& content = **answers.content;
      if (is_configuration(path)) {
        erase_pci_serial(content);
      } else {
        content = replacer_.text(content, free_text);
      }
    }
    if (answers.content && !*answers.content) replace(answers.content->error(), path);
    if (answers.names && !*answers.names) replace(answers.names->error(), path);
    if (answers.link && *answers.link) **answers.link = replacer_.text(**answers.link, free_text);
    if (!answers.names || !*answers.names) return;
    for (std::string& name : **answers.names)
      name = replacer_.text(name, free_text);
    std::ranges::sort(**answers.names);
  }

  void replace(host::ReadError& error, std::string_view path) {
    error.detail = replacer_.text(error.detail, is_free_text(path));
  }

  Pseudonyms names_;
  Collector collector_;
  Replacer replacer_;
};

}  // namespace

Snapshot scrub(Snapshot snapshot, std::uint64_t seed) {
  return Scrubber(seed).run(std::move(snapshot));
}

}  // namespace angio::probe
