#include "mesh/perftest_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "import/perftest/perftest.hpp"
#include "mesh/expectation.hpp"
#include "mesh/launcher.hpp"

namespace angio::mesh {
namespace {

using model::MeshMeasure;
using model::MeshResult;
using model::PerftestRun;

constexpr std::size_t kMostFiles = 65536;

bool is_name(std::string_view word) {
  constexpr std::size_t kLongest = 253;
  return !word.empty() && word.size() <= kLongest && word[0] != '-' && std::ranges::all_of(word, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_' || c == ':';
  });
}

// "[root@gpu-a ~]# ib_write_bw -d mlx5_0 gpu-b": the host of the prompt.
std::string prompt_host(std::string_view line) {
  const std::size_t at = line.find('@');
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + 1);
  const std::string_view host = rest.substr(0, rest.find_first_of(" :]~$#\t"));
  return is_name(host) ? std::string(host) : std::string();
}

// The last word of a command that is no option and no option's value: the server.
std::string server_of(std::string_view command) {
  const auto words = split_words(command);
  std::string server;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word[0] == '|' || word[0] == '>' || word[0] == '&' || word[0] == ';') break;
    if (word[0] == '-') {
      // Short options with a value of their own word; --long=value holds its value.
      static constexpr std::string_view kWithValue = "cdDfIilLmnpqQSstTuwxyWr";
      const bool short_one =
          word.size() == 2 && word[1] != '-' && kWithValue.find(word[1]) != std::string_view::npos;
      if (short_one) ++i;
      continue;
    }
    if (is_name(word)) server = std::string(word);
  }
  return server;
}

struct Ends {
  std::string own, other;
};

// From the command in the text: the prompt's host is the one that ran it.
Ends ends_of_command(std::string_view bytes) {
  for (const std::string_view line : split_lines(bytes.substr(0, 1U << 16U))) {
    for (const std::string_view program : {"ib_write_", "ib_read_", "ib_send_", "ib_atomic_"}) {
      const std::size_t at = line.find(program);
      if (at == std::string_view::npos) continue;
      return {prompt_host(line.substr(0, at)), server_of(line.substr(at))};
    }
  }
  return {};
}

// "LID 0x12 QPN …" names a port of InfiniBand; on RoCE the GID does.
std::string address_name(const std::string& address) {
  const std::size_t gid = address.find("GID:");
  if (gid != std::string::npos) return "GID " + std::string(trim(std::string_view(address).substr(gid + 4)));
  const auto words = split_words(address);
  if (words.size() >= 2 && words[0] == "LID") return "LID " + std::string(words[1]);
  return {};
}

class Gather {
 public:
  explicit Gather(MeshResult& result) : result_(result) {}

  void add(const PerftestFile& file) {
    const auto runs = import::perftest::parse(file.bytes);
    const auto [name_own, name_other] = ends_of_name(file.name);
    const Ends command = ends_of_command(file.bytes);
    std::size_t used = 0;
    for (const PerftestRun& run : runs) {
      // A server's text has itself at the far end of the name.
      const bool server = run.side == model::PerftestSide::kServer;
      std::string own = server ? name_other : name_own;
      std::string other = server ? name_own : name_other;
      if (own.empty() || other.empty()) {
        own = command.own;
        other = server ? std::string() : command.other;
      }
      if (own.empty()) own = address_name(run.local);
      if (other.empty()) other = address_name(run.remote);
      used += take(file, run, own, other, server) ? 1 : 0;
    }
    if (used == 0) result_.notes.push_back(file.name + ": " + why_unused(runs));
  }

 private:
  static std::string why_unused(const std::vector<PerftestRun>& runs) {
    if (runs.empty()) return "no text of perftest";
    const bool any = std::ranges::any_of(
        runs, [](const PerftestRun& run) { return !run.rows.empty() || !run.errors.empty(); });
    if (!any) return "no table and no error of perftest in it";
    return "which hosts it is of cannot be told: name it CLIENT-to-SERVER.txt";
  }

  static bool is_sound(const model::PerftestRow& row) { return row.doubt.empty(); }

  bool take(const PerftestFile& file, const PerftestRun& run, const std::string& own,
            const std::string& other, bool server) {
    if (own.empty() || other.empty() || own == other) return false;
    if (run.rows.empty() && run.errors.empty()) return false;
    // Data go from the client to the server; ib_read fetches them.
    const bool reads = run.program.starts_with("ib_read");
    const bool own_sends = server == reads;
    const std::uint32_t a = host(own_sends ? own : other);
    const std::uint32_t b = host(own_sends ? other : own);
    if (run.bidirectional) {
      result_.notes.push_back(file.name +
                              ": both directions at once, whose sum is no figure of one: left out");
      return true;
    }
    for (const model::PerftestRow& row : run.rows) {
      if (!row.doubt.empty())
        result_.notes.push_back(fmt::format("{}:{}: {}: left out", file.name, row.line, row.doubt));
    }
    const bool all_doubted = !run.rows.empty() && std::ranges::none_of(run.rows, &is_sound);
    if (all_doubted) return true;
    put(a, b, run);
    if (run.latency) put(b, a, run);
    return true;
  }

  std::uint32_t host(const std::string& name) {
    const auto [place, is_new] = hosts_.try_emplace(name, static_cast<std::uint32_t>(result_.hosts.size()));
    if (is_new) {
      model::MeshHost& host = result_.hosts.emplace_back();
      host.name = name;
      host.facts = "perftest's text";
      host.tested = true;
      host.rdma.emplace_back();
    }
    return place->second;
  }

  // One rail: which NICs two texts of the same pair used is not told for both ends.
  void put(std::uint32_t from, std::uint32_t to, const PerftestRun& run) {
    const auto [place, is_new] = places_.try_emplace({from, to}, result_.measures.size());
    if (is_new) {
      MeshMeasure measure;
      measure.transport = model::MeshTransport::kRdma;
      measure.from = from;
      measure.to = to;
      result_.measures.push_back(measure);
    }
    MeshMeasure& measure = result_.measures[place->second];
    if (run.rows.empty()) {
      if (measure.state == model::MeshState::kDone) return;
      measure.state = model::MeshState::kFailed;
      measure.trouble = run.errors.back();
      return;
    }
    measure.state = model::MeshState::kDone;
    measure.trouble.clear();
    if (run.latency) {
      const model::PerftestRow& first = run.rows.front();
      measure.latency_us = first.typical_us ? first.typical_us : first.average_us;
      measure.latency_99_us = first.percentile_99_us;
      return;
    }
    // Of many sizes (-a) the best of those that show bytes and not messages.
    const auto best = std::ranges::max_element(run.rows, {}, [](const model::PerftestRow& row) {
      const bool counts = row.average && is_sound(row);
      return counts ? std::pair(!is_small(row.size), row.average->value) : std::pair(false, 0.0);
    });
    measure.bandwidth = best->average;
    measure.message = best->size;
    measure.messages_per_second = best->messages_per_second;
  }

  MeshResult& result_;
  std::map<std::string, std::uint32_t> hosts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places_;
};

}  // namespace

std::pair<std::string, std::string> ends_of_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  for (const std::string_view ending : {".txt", ".log", ".out"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  for (const std::string_view mark : {"-to-", "_to_", "__", ".."}) {
    const std::size_t at = name.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view first = name.substr(0, at);
    const std::string_view second = name.substr(at + mark.size());
    if (is_name(first) && is_name(second)) return {std::string(first), std::string(second)};
  }
  return {};
}

MeshResult mesh_of_files(const std::vector<PerftestFile>& files) {
  MeshResult result;
  result.launcher = "perftest texts";
  result.plan.tcp = false;
  result.plan.rdma = true;
  Gather gather(result);
  for (std::size_t i = 0; i < std::min(files.size(), kMostFiles); ++i)
    gather.add(files[i]);
  std::vector<std::string> names;
  for (const model::MeshHost& host : result.hosts)
    names.push_back(host.name);
  result.name = fold_hosts(names);
  return result;
}

}  // namespace angio::mesh
