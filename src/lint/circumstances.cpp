#include "lint/circumstances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/versions.hpp"

namespace angio::lint {
namespace {

struct Found {
  std::string version;
  std::size_t offset = 0;
};

// The dotted number behind a marker: "nvidia-nccl-cu12==2.27.3", "nccl_2.21.5".
std::optional<Found> version_behind(std::string_view text, std::string_view marker, std::size_t from) {
  const std::size_t at = text.find(marker, from);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = at + marker.size();
  std::size_t end = begin;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.'))
    ++end;
  while (end > begin && text[end - 1] == '.')
    --end;
  return Found{std::string(text.substr(begin, end - begin)), at};
}

std::size_t line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// The first release that a marker names. Two different ones prove nothing.
std::optional<Found> stated_nccl(std::string_view text) {
  constexpr std::array<std::string_view, 6> kMarkers{
      "nvidia-nccl-cu11==", "nvidia-nccl-cu12==", "nvidia-nccl-cu13==", "libnccl2=", "libnccl.so.", "nccl_"};
  std::optional<Found> found;
  for (const std::string_view marker : kMarkers) {
    std::size_t from = 0;
    while (const auto next = version_behind(text, marker, from)) {
      from = next->offset + marker.size();
      // "libnccl.so.2" is no release.
      if (split(next->version, '.').size() < 3 || !next->version.starts_with("2.")) continue;
      if (found && found->version != next->version) return std::nullopt;
      if (!found) found = next;
    }
  }
  return found;
}

std::string newest_release() {
  std::string_view newest;
  for (const knowledge::NcclRelease& release : knowledge::nccl_releases()) {
    if (newest.empty() || knowledge::compare_versions(release.version, newest).value_or(0) > 0)
      newest = release.version;
  }
  return std::string(newest);
}

void add_version(const Script& script, Context& context) {
  if (!context.nccl_version.empty()) return;
  if (const auto found = stated_nccl(script.text)) {
    context.nccl_version = found->version;
    context.nccl_version_source = fmt::format("{}:{}", script.name, line_of(script.text, found->offset));
    return;
  }
  if (const std::string newest = newest_release(); !newest.empty()) {
    context.nccl_version = newest;
    context.nccl_version_source = "assumed: the newest in the catalogue";
  }
}

std::optional<long> number_behind(std::string_view text, std::string_view option) {
  if (!text.starts_with(option)) return std::nullopt;
  text.remove_prefix(option.size());
  if (text.starts_with('=')) text.remove_prefix(1);
  return parse_integer<long>(trim(text));
}

// Who reads the short options: -N of srun counts nodes, of mpirun ranks a node, of numactl names a node.
enum class Reader : std::uint8_t { kOther, kSlurm, kMpi };

Reader reader_at(std::string_view word, Reader before) {
  const std::string_view program = word.substr(word.rfind('/') + 1);
  if (program == "srun" || program == "salloc" || program == "sbatch") return Reader::kSlurm;
  if (program == "mpirun" || program == "mpiexec" || program == "orterun") return Reader::kMpi;
  for (const std::string_view other : {"numactl", "taskset", "bash", "sh", "python", "python3", "torchrun"})
    if (program == other) return Reader::kOther;
  return before;
}

// "--nodes=4", "--nnodes 2"; none when it is no such option or no number.
std::optional<bool> several_by_option(std::string_view text, std::string_view next, Reader reader) {
  if (text == "-N" && reader == Reader::kSlurm) {
    if (const auto count = parse_integer<long>(next)) return *count > 1;
  }
  for (const std::string_view option : {"--nodes", "--nnodes", "--num_nodes", "--num-nodes"}) {
    const auto count = text == option ? parse_integer<long>(next) : number_behind(text, option);
    if (count) return *count > 1;
  }
  const bool hosts = reader == Reader::kMpi && (text == "-H" || text == "--host" || text == "-host");
  if (hosts && !next.empty() && next.find('$') == std::string_view::npos)
    return next.find(',') != std::string_view::npos;
  return std::nullopt;
}

std::optional<bool> several_by_words(const std::vector<Word>& words) {
  Reader reader = Reader::kOther;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view next =
        i + 1 < words.size() ? std::string_view(words[i + 1].text) : std::string_view();
    reader = reader_at(words[i].text, reader);
    if (const auto several = several_by_option(words[i].text, next, reader)) return several;
  }
  return std::nullopt;
}

// torchrun without --nnodes is for one node, unless something starts it on several.
bool is_one_node(const std::vector<Word>& words) {
  bool ranks = false;
  for (const Word& word : words) {
    const std::string_view program = std::string_view(word.text).substr(word.text.rfind('/') + 1);
    for (const std::string_view other :
         {"srun", "mpirun", "mpiexec", "orterun", "pdsh", "clush", "ssh", "--nnodes", "--nodes"})
      if (program.starts_with(other)) return false;
    ranks = ranks || word.text == "--standalone" || word.text.starts_with("--nproc_per_node") ||
            word.text.starts_with("--nproc-per-node");
  }
  return ranks;
}

std::optional<bool> several_by_directives(const Script& script) {
  for (const Directive& directive : script.directives) {
    if (directive.late) continue;
    const auto words = split_words(directive.text);
    for (std::size_t i = 1; i < words.size(); ++i) {
      auto count = number_behind(words[i], "--nodes");
      if (words[i] == "-N" && i + 1 < words.size()) count = parse_integer<long>(words[i + 1]);
      if (words[i] == "--nodes" && i + 1 < words.size()) count = parse_integer<long>(words[i + 1]);
      if (count) return *count > 1;
    }
  }
  return std::nullopt;
}

void add_nodes(const Script& script, Context& context) {
  if (context.several_nodes) return;
  context.several_nodes = several_by_directives(script);
  if (context.several_nodes) return;
  for (const Command& command : script.commands) {
    const auto several = several_by_words(command.words);
    if (several && (!context.several_nodes || *several)) context.several_nodes = several;
  }
}

}  // namespace

std::optional<bool> several_nodes_of(const Command& command) {
  if (const auto several = several_by_words(command.words)) return several;
  return is_one_node(command.words) ? std::optional(false) : std::nullopt;
}

Context circumstances_of(const Script& script, const Context& context) {
  Context result;
  result.nccl_version = context.nccl_version;
  result.nccl_version_source = context.nccl_version_source;
  result.several_nodes = context.several_nodes;
  add_version(script, result);
  add_nodes(script, result);
  return result;
}

}  // namespace angio::lint
