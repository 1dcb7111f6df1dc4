// Why a protocol is off, and why an operation got its choice.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::dryrun {
namespace {

using model::DryRunOperation;
using model::NcclPattern;
using model::NcclTuningCell;
using nccl::NodeKind;
using nccl::PathType;

// NCCL 2.32 prints -1 where older releases print 0.
bool is_cell_off(const NcclTuningCell& cell) {
  return cell.bandwidth <= 0 || cell.latency_us < 0;
}

// Whether every cell of that protocol, over ring and tree, has no bandwidth; none: the log has no such cell.
std::optional<bool> is_off(const model::NcclCommunicator& world, std::string_view protocol) {
  std::optional<bool> off;
  for (const NcclTuningCell& cell : world.tuning) {
    if (!same_word(cell.protocol, protocol)) continue;
    if (!same_word(cell.algorithm, "Ring") && !same_word(cell.algorithm, "Tree")) continue;
    off = off.value_or(true) && is_cell_off(cell);
  }
  return off;
}

bool beyond(std::string_view type, PathType limit) {
  PathType read{};
  return nccl::parse_path_type(type, read) && read > limit;
}

// The conditions under which NCCL enables LL128 by itself (src/graph/tuning.cc).
std::optional<Answer> why_no_ll128(const Case& one, const Answers& answers) {
  constexpr int kVolta = 70;
  constexpr int kHopper = 90;
  const auto [least, most] = capabilities(one);
  if (least > 0 && least < kVolta)
    return Answer{"LL128 needs GPUs of compute capability 7.0 or newer.",
                  {fmt::format("topology: <gpu sm=\"{}\">", least)}};
  if (least > 0 && least != most && least < kHopper)
    return Answer{"LL128 needs GPUs of one compute capability below 9.0, and these differ.",
                  {fmt::format("topology: sm {} to {}", least, most)}};
  const auto used = used_graph(*one.world, GraphKind::kRing);
  if (!used) return std::nullopt;
  const NcclPattern* ring = &used->graph;
  const std::string cited = answers.cite(ring->source, "ring: " + graph_in_words(*ring, one.between_nodes));
  if (beyond(ring->type_intra, PathType::kNvb))
    return Answer{fmt::format("LL128 is for NVLink: within the node the ring takes paths of class {}.",
                              printable(ring->type_intra)),
                  {cited}};
  const PathType limit = least >= kHopper ? PathType::kPxn : PathType::kPxb;
  if (one.between_nodes && beyond(ring->type_inter, limit))
    return Answer{fmt::format("Between GPU and NIC the ring takes paths of class {}, beyond {}.",
                              printable(ring->type_inter), nccl::label(limit)),
                  {cited}};
  return std::nullopt;
}

}  // namespace

void explain_protocols(const Case& one, Answers& answers) {
  if (one.world == nullptr) return;
  for (const std::string_view protocol : {"LL", "LL128", "Simple"}) {
    if (is_off(*one.world, protocol) != true) continue;
    const std::string question = fmt::format("Why is {} off?", protocol);
    const std::string* list = value_of(one, "NCCL_PROTO");
    if (list != nullptr && excludes(*list, protocol)) {
      answers.add(question, "NCCL_PROTO leaves it out.", {answers.cite_setting("NCCL_PROTO")});
      continue;
    }
    const auto why = protocol == "LL128" && list == nullptr ? why_no_ll128(one, answers) : std::nullopt;
    if (why)
      answers.add(question, why->text, why->evidence);
    else
      answers.add(question,
                  kCannotTell +
                      std::string("its cells of the tuning table have no bandwidth, and no "
                                  "condition that is known here says why.") +
                      (one.run.settings.empty() ? "" : " A run without settings beside this one may tell."),
                  {answers.cite(one.world->tuning_source, "tuning table")});
  }
}

// ---- choices

namespace {

enum class Measure : std::uint8_t { kLatency, kBandwidth };

const NcclTuningCell* cell_of(const model::NcclCommunicator& world, const DryRunOperation& operation) {
  const auto found = std::ranges::find_if(world.tuning, [&](const NcclTuningCell& cell) {
    return same_word(cell.function, operation.collective) && same_word(cell.algorithm, operation.algorithm) &&
           same_word(cell.protocol, operation.protocol);
  });
  return found == world.tuning.end() ? nullptr : &*found;
}

// The setting that forbids the cell; null: none. NCCL 2.32 prints the table as if there were none.
const char* forbids(const Case& one, const NcclTuningCell& cell) {
  for (const auto& [name, word] :
       {std::pair{"NCCL_ALGO", &cell.algorithm}, std::pair{"NCCL_PROTO", &cell.protocol}}) {
    const std::string* list = value_of(one, name);
    if (list != nullptr && excludes(*list, *word)) return name;
  }
  return nullptr;
}

// The best of the others that are enabled.
struct Rival {
  const NcclTuningCell* cell = nullptr;
  const char* setting = nullptr;  // leaves out others
};

Rival rival_of(const Case& one, const NcclTuningCell& chosen, Measure by) {
  Rival rival;
  for (const NcclTuningCell& cell : one.world->tuning) {
    if (&cell == &chosen || !same_word(cell.function, chosen.function) || is_cell_off(cell)) continue;
    if (const char* name = forbids(one, cell)) {
      rival.setting = name;
      continue;
    }
    const NcclTuningCell* best = rival.cell;
    const bool better = best == nullptr || (by == Measure::kLatency ? cell.latency_us < best->latency_us
                                                                    : cell.bandwidth > best->bandwidth);
    if (better) rival.cell = &cell;
  }
  return rival;
}

std::string in_words(const NcclTuningCell& cell, Measure by) {
  const std::string name = cell.algorithm + " " + cell.protocol;
  return by == Measure::kLatency ? fmt::format("{} {:.1f} us", name, cell.latency_us)
                                 : fmt::format("{} {:.1f} GB/s", name, cell.bandwidth);
}

// "TUNER/Angio: line 9: allreduce of 65536 B -> tree ll", as Angio's tuner says of a row the first time that
// it decides (plugins/nccl_tuner).
struct TunerLine {
  const model::NcclPlugin* said = nullptr;
  std::string_view row;
  bool same_size = false;
};

std::optional<TunerLine> read_tuner_line(const model::NcclPlugin& plugin, const DryRunOperation& operation) {
  constexpr std::string_view kStart = "TUNER/Angio: line ";
  std::string_view text = plugin.text;
  if (!text.starts_with(kStart)) return std::nullopt;
  text.remove_prefix(kStart.size());
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  const auto words = split_words(text.substr(colon + 2));  // collective of N B -> algorithm protocol[,…]
  if (words.size() < 7 || !same_word(words[0], operation.collective)) return std::nullopt;
  const std::string_view protocol = words[6].substr(0, words[6].find_first_of(",:"));
  const bool chosen = same_word(words[5], operation.algorithm) && same_word(protocol, operation.protocol);
  if (!chosen || contains(text, "NCCL's own choice stands")) return std::nullopt;
  return TunerLine{&plugin, text.substr(0, colon), parse_integer<std::uint64_t>(words[2]) == operation.bytes};
}

std::optional<TunerLine> tuner_line(const Case& one, const DryRunOperation& operation) {
  std::optional<TunerLine> found;
  for (const model::NcclPlugin& plugin : one.log->plugins) {
    const auto line = read_tuner_line(plugin, operation);
    if (line && (!found || (line->same_size && !found->same_size))) found = line;
  }
  return found;
}

// Why the table does not give the choice.
Answer overruled(const std::optional<TunerLine>& line, const std::string& both, const Answers& answers) {
  if (!line)
    return {fmt::format("{}the table alone does not give it ({}): NCCL corrects it by size, and a tuner may "
                        "overrule it. A run with sizes between (--sizes) shows where it changes.",
                        kCannotTell, both),
            {}};
  return {fmt::format("NCCL's own table has {}. Angio's tuner has taken the same by line {} of its table at "
                      "another size, and says each line once: probably by that one.",
                      both, printable(line->row)),
          {answers.cite(line->said->source, line->said->text)}};
}

void explain_choice(const Case& one, const DryRunOperation& operation, Measure by, Answers& answers) {
  const NcclTuningCell* chosen = cell_of(*one.world, operation);
  if (chosen == nullptr || is_cell_off(*chosen)) return;
  const Rival found = rival_of(one, *chosen, by);
  const NcclTuningCell* rival = found.cell;
  const std::string question =
      printable(fmt::format("Why {} {} for {} of {}?", operation.algorithm, operation.protocol,
                            operation.collective, in_words(Bytes{operation.bytes})));
  const std::string table = answers.cite(one.world->tuning_source, "tuning table");
  if (rival == nullptr)
    return answers.add(
        question,
        found.setting == nullptr
            ? std::string("It is the only one that is enabled for this collective.")
            : fmt::format("{} leaves no other that is enabled for this collective.", found.setting),
        {table});
  const bool wins = by == Measure::kLatency ? chosen->latency_us <= rival->latency_us
                                            : chosen->bandwidth >= rival->bandwidth;
  const std::string both =
      printable(fmt::format("{}, {} {}", in_words(*chosen, by), wins ? "next" : "but", in_words(*rival, by)));
  const auto line = tuner_line(one, operation);
  Answer answer;
  if (line && line->same_size)
    answer = {fmt::format("Angio's tuner says so, by line {} of its table. NCCL's own table has {}.",
                          printable(line->row), both),
              {answers.cite(line->said->source, line->said->text)}};
  else if (wins)
    answer.text = fmt::format(
        "{} in NCCL's table{}: {}.", by == Measure::kLatency ? "The least latency" : "The most bandwidth",
        found.setting == nullptr ? std::string() : fmt::format(" of what {} leaves", found.setting), both);
  else
    answer = overruled(line, both, answers);
  answer.evidence.push_back(table);
  answers.add(question, std::move(answer.text), std::move(answer.evidence));
}

}  // namespace

// The smallest and the largest size of each collective: there latency or bandwidth alone decides.
void explain_choices(const Case& one, Answers& answers) {
  if (one.world == nullptr || one.world->tuning.empty()) return;
  struct Ends {
    const DryRunOperation* smallest = nullptr;
    const DryRunOperation* largest = nullptr;
  };
  std::map<std::string, Ends> ends;
  for (const DryRunOperation& operation : one.run.operations) {
    if (!operation.reached || operation.algorithm.empty()) continue;
    Ends& of = ends[operation.collective];
    if (of.smallest == nullptr || operation.bytes < of.smallest->bytes) of.smallest = &operation;
    if (of.largest == nullptr || operation.bytes > of.largest->bytes) of.largest = &operation;
  }
  const double small = knowledge::threshold("dryrun.small-size");
  const double large = knowledge::threshold("dryrun.large-size");
  for (const auto& [collective, of] : ends) {
    if (static_cast<double>(of.smallest->bytes) <= small)
      explain_choice(one, *of.smallest, Measure::kLatency, answers);
    if (static_cast<double>(of.largest->bytes) >= large)
      explain_choice(one, *of.largest, Measure::kBandwidth, answers);
  }
}

}  // namespace angio::dryrun
