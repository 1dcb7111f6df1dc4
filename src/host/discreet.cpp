#include "host/discreet.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "base/text.hpp"

namespace angio::host {
namespace {

constexpr std::string_view kRemoved = "...";

constexpr std::array<std::string_view, 13> kPrefixes{
    "NCCL_",     "UCX_", "TORCH_NCCL_", "CUDA_",     "OMP_", "SLURM_", "SLURMD_", "GLOO_", "OMPI_COMM_WORLD_",
    "OMPI_MCA_", "PMI_", "PMIX_RANK",   "MPI_LOCAL",
};
constexpr std::array<std::string_view, 21> kNames{
    "PYTORCH_CUDA_ALLOC_CONF",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MKL_NUM_THREADS",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "container",
    "RCCL_MSCCL_ENABLE",
};
constexpr std::array<std::string_view, 12> kSecretWords{
    "TOKEN", "SECRET",     "PASSWORD", "PASSWD", "PASSPHRASE", "KEY",
    "JWT",   "CREDENTIAL", "CRED_",    "AUTH",   "COOKIE",     "PRIVATE",
};

std::string to_upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

bool speaks_of_secret(std::string_view name) {
  std::string upper = to_upper(name);
  std::ranges::replace(upper, '-', '_');
  return std::ranges::any_of(kSecretWords, [&](std::string_view word) { return contains(upper, word); });
}

bool is_number(std::string_view text) {
  constexpr std::size_t kLongest = 20;  // digits of 2^64; longer ones are codes
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of("0123456789.,-+eE") == text.npos &&
         std::isdigit(static_cast<unsigned char>(text.back())) != 0;
}

// Calls use(part) for each part ended by separator; the last need not be.
template <typename Use>
void for_each_part(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool looks_like_program_file(std::string_view word) {
  constexpr std::array<std::string_view, 6> kEndings{".py", ".sh", ".pl", ".jl", ".R", ".lua"};
  constexpr std::size_t kLongest = 512;
  if (word.size() > kLongest || word.find_first_of(" \t\n=;(") != word.npos) return false;
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return word.ends_with(ending); });
}

bool is_option_name(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return std::ranges::all_of(word.substr(1), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// Words of one command line, in order; remembers what the word before announced.
class ArgumentFilter {
 public:
  std::string shareable(std::string_view word) {
    if (first_) {
      first_ = false;
      return std::string(word.substr(0, word.find_first_of(" =:")));  // "sshd: user", "postgres: db"
    }
    const bool secret = std::exchange(secret_follows_, false);
    const bool module = std::exchange(module_follows_, false);
    if (word.starts_with('-') && !is_number(word)) return option(word);
    if (secret) return std::string(kRemoved);
    if (is_number(word) || module || looks_like_program_file(word)) return std::string(word);
    return setting(word);
  }

 private:
  std::string option(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    // A word behind "-p" can be glued to it: only long names are names.
    constexpr std::size_t kLongestShort = 3;
    const bool is_name =
        is_option_name(name) && (name.starts_with("--") || name.size() <= kLongestShort ||
                                 equals != word.npos || name.find_first_of("0123456789") == name.npos);
    if (!is_name || name.size() > 64) return std::string(kRemoved);
    secret_follows_ = speaks_of_secret(name);
    module_follows_ = name == "-m";
    if (equals == word.npos) return std::string(name);
    const std::string_view value = word.substr(equals + 1);
    const bool keep = !secret_follows_ && is_number(value);
    secret_follows_ = false;
    return std::string(name) + "=" + std::string(keep ? value : kRemoved);
  }

  static std::string setting(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || !is_shareable_setting(word.substr(0, equals))) return std::string(kRemoved);
    return std::string(word.substr(0, equals + 1)) + shareable_value(word.substr(equals + 1));
  }

  bool first_ = true;
  bool secret_follows_ = false;
  bool module_follows_ = false;
};

}  // namespace

bool is_shareable_setting(std::string_view name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (name.empty() || !std::ranges::all_of(name, plain) || speaks_of_secret(name)) return false;
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::ranges::any_of(kPrefixes, begins) || std::ranges::find(kNames, name) != kNames.end();
}

std::string shareable_value(std::string_view value) {
  std::string kept;
  for (std::size_t scheme = value.find("://"); scheme != value.npos; scheme = value.find("://")) {
    kept += value.substr(0, scheme + 3);
    value.remove_prefix(scheme + 3);
    const std::size_t end = std::min(value.find_first_of("/ ,;\"'"), value.size());
    const std::size_t at = value.substr(0, end).rfind('@');
    if (at == value.npos) continue;
    kept += kRemoved;
    value.remove_prefix(at);
  }
  return kept.append(value);
}

std::string shareable_settings(std::string_view entries, char separator) {
  std::string kept;
  for_each_part(entries, separator, [&](std::string_view entry) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos || !is_shareable_setting(trim(entry.substr(0, equals)))) {
      if (separator == '\n') kept += separator;  // the numbers of the lines behind stay true
      return;
    }
    kept += entry.substr(0, equals + 1);
    kept += shareable_value(entry.substr(equals + 1));
    kept += separator;
  });
  return kept;
}

std::string shareable_arguments(std::string_view arguments) {
  std::string kept;
  ArgumentFilter filter;
  for_each_part(arguments, '\0', [&](std::string_view word) {
    kept += filter.shareable(word);
    kept += '\0';
  });
  return kept;
}

std::string shareable_artefact(std::string_view text) {
  constexpr std::string_view kNameCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    // "export NAME=value" and "declare -x NAME=value": the name is the word before the sign.
    const std::size_t before =
        equals == line.npos ? line.npos : line.substr(0, equals).find_last_not_of(kNameCharacters);
    const std::size_t begin = before == line.npos ? 0 : before + 1;
    const bool secret = equals != line.npos && speaks_of_secret(line.substr(begin, equals - begin));
    kept += secret ? std::string(line.substr(0, equals + 1)) + std::string(kRemoved) : shareable_value(line);
    if (end < text.size()) kept += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kept;
}

std::string shareable_kernel_options(std::string_view options) {
  std::string kept;
  for_each_part(options, ' ', [&](std::string_view option) {
    if (!kept.empty()) kept += ' ';
    const std::size_t equals = option.find('=');
    const bool secret = equals != option.npos && speaks_of_secret(option);
    kept +=
        secret ? std::string(option.substr(0, equals + 1)) + std::string(kRemoved) : shareable_value(option);
    if (secret && options.ends_with('\n') && option.ends_with('\n')) kept += '\n';
  });
  return kept;
}

bool is_training_segment(std::string_view name) {
  return name.starts_with("nccl-") || name.starts_with("torch_");
}

std::string reduced_maps(std::string_view maps) {
  constexpr std::string_view kShared = "/dev/shm/";
  std::set<std::string_view> files;
  for_each_part(maps, '\n', [&](std::string_view line) {
    const std::size_t slash = line.find('/');
    if (slash == line.npos) return;
    const std::string_view file = line.substr(slash);
    const bool segment = file.starts_with(kShared) && is_training_segment(file.substr(kShared.size()));
    if (segment || contains(line.substr(line.rfind('/')), ".so")) files.insert(file);
  });
  std::string kept;
  for (const std::string_view file : files)
    kept.append("0-0 r-xp 0 00:00 0 ").append(file).append("\n");
  return kept;
}

namespace {

// Digits and dots, or hexadecimal digits and colons: no host name is either.
bool is_address(std::string_view text) {
  const bool ipv6 = contains(text, ":");
  const bool fits = text.find_first_not_of(ipv6 ? "0123456789abcdefABCDEF:." : "0123456789.") == text.npos;
  return fits && (ipv6 || contains(text, ".")) && text.find_first_of("0123456789") != text.npos;
}

// Of a file system over the network: its type, the addresses and the transport. No names, no paths.
std::string network_mount(std::string_view type, std::string_view source, std::string_view options) {
  const std::string_view server = source.substr(0, source.find_first_of("@:/"));
  const std::string_view net = contains(source, "@o2ib") ? "@o2ib" : "";  // Lustre: "10.1.1.1@o2ib:/scratch"
  std::string kept;
  for_each_part(options, ',', [&](std::string_view option) {
    const std::size_t equals = option.find('=');
    const std::string_view name = option.substr(0, equals);
    const std::string_view value = equals == option.npos ? std::string_view() : option.substr(equals + 1);
    const bool address = (name == "addr" || name == "clientaddr") && is_address(value);
    if (option == "rdma" || name == "proto" || address) kept.append(",").append(option);
  });
  if (kept.empty() && !is_address(server)) return {};  // nothing that tells which way it takes
  std::string line = "0 0 0:0 / /... rw - ";
  line.append(type).append(" ").append(is_address(server) ? server : "...").append(net).append(" rw");
  line += kept;
  return line + "\n";
}

}  // namespace

bool is_network_file_system(std::string_view type) {
  constexpr std::array<std::string_view, 9> kTypes{"nfs",  "nfs4", "lustre", "beegfs", "ceph",
                                                   "gpfs", "cifs", "smb3",   "wekafs"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

std::string reduced_mounts(std::string_view mountinfo) {
  std::string kept;
  for_each_part(mountinfo, '\n', [&](std::string_view line) {
    // "36 35 98:0 /root /mount options optional - type source super": Documentation/filesystems/proc.rst.
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 7) return;
    const std::string_view point = words[4];
    const auto dash = std::ranges::find(words, "-");
    const bool groups = dash != words.end() && dash + 1 != words.end() && (dash + 1)->starts_with("cgroup");
    if (point == "/" || point == "/dev/shm" || groups) {
      kept.append(line).append("\n");
    } else if (words.end() - dash >= 3 && is_network_file_system(dash[1])) {
      kept += network_mount(dash[1], dash[2], words.end() - dash >= 4 ? dash[3] : std::string_view());
    }
  });
  return kept;
}

std::string reduced_status(std::string_view status) {
  constexpr std::array<std::string_view, 11> kKept{"Name:",
                                                   "Cpus_allowed:",
                                                   "Cpus_allowed_list:",
                                                   "Mems_allowed:",
                                                   "Mems_allowed_list:",
                                                   "Threads:",
                                                   "VmRSS:",
                                                   "State:",
                                                   "PPid:",
                                                   "VmLck:",
                                                   "VmPin:"};
  std::string kept;
  for_each_part(status, '\n', [&](std::string_view line) {
    const auto begins = [&](std::string_view key) { return line.starts_with(key); };
    if (std::ranges::any_of(kKept, begins)) kept.append(line).append("\n");
  });
  return kept;
}

std::string reduced_stat(std::string_view stat) {
  constexpr std::size_t kProcessor = 39;  // proc(5); fields are counted from 1, the name is the second
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return {};
  const std::vector<std::string_view> fields = split_words(stat.substr(name_end + 1));
  std::string kept(stat.substr(0, name_end + 1));
  for (std::size_t i = 0; i < fields.size() && i + 3 <= kProcessor; ++i) {
    const bool told = i == 0 || i + 3 == kProcessor;
    kept.append(" ").append(told ? fields[i] : std::string_view("0"));
  }
  return kept.append("\n");
}

namespace {

// The lines of the ofed_info script that name the release; the rest lists packages.
std::string reduced_ofed_info(std::string_view script) {
  constexpr std::array<std::string_view, 4> kMarks{"MLNX_OFED_LINUX-", "OFED-internal-", "DOCA-OFED",
                                                   "DOCA_OFED"};
  std::string kept;
  for_each_part(script, '\n', [&](std::string_view line) {
    const bool marked =
        std::ranges::any_of(kMarks, [&](std::string_view mark) { return contains(line, mark); });
    if (marked && kept.empty()) kept.append(line.substr(0, 256)).append("\n");
  });
  return kept;
}

class DiscreetRoot final : public Root {
 public:
  DiscreetRoot(std::unique_ptr<Root> inner, std::vector<std::string> settings_files)
      : inner_(std::move(inner)), settings_files_(std::move(settings_files)) {}

  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    Read<std::string> content = inner_->read(path);
    if (content) reduce(path, *content);
    return content;
  }
  [[nodiscard]] Read<Names> list(std::string_view path) const override { return inner_->list(path); }
  [[nodiscard]] Read<std::string> read_link(std::string_view path) const override {
    return inner_->read_link(path);
  }
  [[nodiscard]] bool exists(std::string_view path) const override { return inner_->exists(path); }
  [[nodiscard]] bool is_live() const override { return inner_->is_live(); }

 private:
  void reduce(std::string_view path, std::string& content) const {
    const std::string_view leaf = path.substr(path.rfind('/') + 1);
    if (path == "/proc/cmdline") {
      content = shareable_kernel_options(content);
    } else if (path.starts_with("/proc/")) {
      if (leaf == "environ") content = shareable_settings(content, '\0');
      if (leaf == "cmdline") content = shareable_arguments(content);
      if (leaf == "maps") content = reduced_maps(content);
      if (leaf == "numa_maps") content = reduced_numa_maps(content);
      if (leaf == "status") content = reduced_status(content);
      if (leaf == "stat" && path != "/proc/stat") content = reduced_stat(content);
      if (leaf == "mountinfo") content = reduced_mounts(content);
    } else if (leaf == "nccl.conf" || leaf == ".nccl.conf" ||
               std::ranges::find(settings_files_, path) != settings_files_.end()) {
      content = shareable_settings(content, '\n');
    } else if (leaf == "ofed_info") {
      content = reduced_ofed_info(content);
    }
  }

  std::unique_ptr<Root> inner_;
  std::vector<std::string> settings_files_;
};

}  // namespace

std::unique_ptr<Root> make_discreet_root(std::unique_ptr<Root> inner,
                                         std::vector<std::string> settings_files) {
  return std::make_unique<DiscreetRoot>(std::move(inner), std::move(settings_files));
}

}  // namespace angio::host
