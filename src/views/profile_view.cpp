#include "views/profile_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "views/profile_parts.hpp"

namespace angio::views {

using profile::Basis;
using profile::Communicator;
using profile::HostClock;
using profile::Input;
using profile::Link;
using profile::Liveness;
using profile::Member;
using report::Align;
using report::Document;
using report::Fields;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

std::string member_words(const Member& member, const ProfileReport& report) {
  const Input& input = (*report.inputs)[member.input];
  return fmt::format("rank {} ({}, process {})", rank_words(member.rank), printable(input.file.host),
                     input.file.header.process);
}

// Sums of all files and lanes.
profile_ring::LaneState sum_of(const std::vector<Input>& inputs) {
  profile_ring::LaneState sum;
  for (const Input& input : inputs) {
    for (const profile_ring::LaneState& lane : input.file.lanes) {
      sum.dropped += lane.dropped;
      sum.overwritten += lane.overwritten;
      sum.late += lane.late;
      sum.torn += lane.torn;
      sum.damaged += lane.damaged;
      sum.missing += lane.missing;
    }
  }
  return sum;
}

std::string summary_words(const std::vector<Input>& inputs) {
  std::set<std::string> hosts;
  std::size_t events = 0;
  for (const Input& input : inputs) {
    hosts.insert(input.file.boot + "\n" + input.file.host);
    events += input.file.events.size();
  }
  const profile_ring::LaneState sum = sum_of(inputs);
  std::string text = fmt::format("{} of {}: {}", count_of(inputs.size(), "file"),
                                 count_of(hosts.size(), "host"), count_of(events, "event"));
  if (sum.overwritten > 0) text += fmt::format(", {} older ones overwritten", sum.overwritten);
  text += fmt::format(", {} dropped", sum.dropped);
  if (sum.torn > 0) text += fmt::format(", {} in the middle of a write", sum.torn);
  if (sum.damaged > 0) text += fmt::format(", {} damaged", sum.damaged);
  if (sum.missing > 0) text += fmt::format(", {} cut off", sum.missing);
  return text;
}

std::string title_of(const Communicator& communicator) {
  const std::string name = communicator.name.empty() ? "" : " \"" + printable(communicator.name) + "\"";
  if (communicator.hash == 0) return "Communicator" + name + ": the file does not say which";
  std::string text = fmt::format("Communicator{} {:#x}: ", name, communicator.hash);
  if (communicator.ranks == 0) return text + count_of(communicator.members.size(), "rank") + " seen";
  text += count_of(communicator.ranks, "rank");
  if (communicator.nodes > 0) text += " on " + count_of(communicator.nodes, "node");
  if (communicator.members.size() < communicator.ranks)
    text += fmt::format(", {} of them here", communicator.members.size());
  return text;
}

// The widest uncertainty of the clocks that are compared; negative: one host only.
double clock_uncertainty(const Communicator& communicator) {
  double widest = -1;
  for (const HostClock& clock : communicator.clocks)
    widest = std::max(widest, clock.uncertainty_ns.value_or(-1));
  return widest;
}

std::string basis_words(const Communicator& communicator) {
  const std::string what = communicator.basis == Basis::kKernel
                               ? "arrival is when NCCL saw the kernel begin"
                               : "arrival is when the host enqueued it; the GPU may come to it later";
  const double uncertainty = clock_uncertainty(communicator);
  if (uncertainty < 0) return what;
  return what + "; clocks of hosts compared by the collectives' ends, +-" + time_words(uncertainty);
}

void add_straggler(const Communicator& communicator, const ProfileReport& report, Fields& fields) {
  if (communicator.compared == 0) {
    fields.rows.emplace_back("unknown", plain("who comes last: no collective of two ranks can be compared"));
    return;
  }
  if (!communicator.straggler) {
    fields.rows.emplace_back("late", plain(fmt::format("no rank stands out in {}",
                                                       count_of(communicator.compared, "collective"))));
    fields.rows.emplace_back("", toned(basis_words(communicator), Tone::kQuiet));
    return;
  }
  const Member& late = communicator.members[*communicator.straggler];
  fields.rows.emplace_back(
      "LATE",
      toned(fmt::format("{} comes last in {} of {}, {} after the others' median", member_words(late, report),
                        late.last, count_of(late.compared, "collective"), time_words(late.late_ns)),
            Tone::kWarning));
  fields.rows.emplace_back("", plain(fmt::format("all wait for it: {} in all after the last but one",
                                                 time_words(late.delayed_ns))));
  fields.rows.emplace_back("", toned(basis_words(communicator), Tone::kQuiet));
}

void add_clocks(const Communicator& communicator, Fields& fields) {
  for (const HostClock& clock : communicator.clocks) {
    if (clock.comparable) continue;
    fields.rows.emplace_back(
        "unknown",
        plain(fmt::format(
            "who is last between {} and {}: their clocks cannot be compared ({} with an end recorded "
            "on both; {:g} are needed, of AllReduce, AllGather, ReduceScatter or AlltoAll with "
            "kernel events)",
            printable(communicator.clocks[0].host), printable(clock.host),
            count_of(clock.collectives, "collective"), knowledge::threshold("profile.clock-collectives"))));
  }
}

// What the lines of a communicator leave of a screen. Text is wrapped at 80 columns, under its label.
class Screen {
 public:
  explicit Screen(bool alone)
      : left_(static_cast<std::size_t>(knowledge::threshold("profile.screen")) * (alone ? 2 : 1)) {
    take(kAround);
  }
  void take(const Fields& fields) {
    for (const auto& [label, line] : fields.rows) {
      std::size_t letters = 0;
      for (const report::Span& span : line)
        letters += span.text.size();
      take(1 + letters / kText);
    }
  }
  // Rows of a table with its blank line, heading and titles, when so many lines are kept for what follows but
  // a few rows are shown all the same; 0: no room.
  [[nodiscard]] std::size_t rows(std::size_t wanted, std::size_t kept) const {
    if (left_ <= kFrame) return 0;
    const std::size_t room = left_ - kFrame;
    const std::size_t spare = room > kept ? room - kept : 0;
    return std::min({wanted, room, std::max(spare, kFewRows)});
  }
  void take_table(std::size_t rows) { take(rows + kFrame); }
  static std::size_t least_of(std::size_t rows) { return kFrame + std::min(rows, kFewRows); }

 private:
  static constexpr std::size_t kText = 68;  // letters a line beside the widest label
  static constexpr std::size_t kFrame = 3;  // lines of a table that are no rows
  static constexpr std::size_t kFewRows = 3;
  static constexpr std::size_t kAround = 4;  // heading, what is not shown, and the blank line above each
  void take(std::size_t lines) { left_ -= std::min(left_, lines); }

  std::size_t left_;
};

struct Part {
  std::string heading;
  Table table;
};

std::vector<Part> parts_of(const Communicator& communicator, const ProfileReport& report) {
  // Among several a few rows must do.
  const bool alone = report.profile->communicators.size() == 1;
  constexpr std::size_t kFewRanks = 4;
  Table ranks = member_table(communicator, report, alone ? shown_rows() : kFewRanks);
  const bool folded = ranks.rows.size() < communicator.members.size();
  const bool by_steps = std::ranges::any_of(communicator.links, &Link::from_steps);
  std::vector<Part> parts;
  parts.push_back({folded ? "Ranks, those alike in one row" : "Ranks", std::move(ranks)});
  parts.push_back({"Latest last arrivals", worst_table(communicator)});
  parts.push_back({by_steps ? "Connections, slowest first; rate: median of a step; waits: sums"
                            : "Connections, slowest first; whole proxy operations, every wait inside",
                   link_table(communicator)});
  parts.push_back({has_timed_pair(communicator)
                       ? "Point to point, lowest rate first; sums over the timed ones"
                       : "Point to point, kernel times not recorded; bytes: sums",
                   pair_table(communicator)});
  if (!communicator.slow.empty()) std::swap(parts[1], parts[2]);
  std::erase_if(parts, [](const Part& part) { return part.table.rows.empty(); });
  return parts;
}

void add_tables(const Communicator& communicator, const ProfileReport& report, Screen& screen,
                Document& document) {
  std::vector<Part> parts = parts_of(communicator, report);
  std::size_t kept = 0;
  for (const Part& part : parts)
    kept += Screen::least_of(part.table.rows.size());
  std::string left_out;
  for (Part& part : parts) {
    const std::size_t all = part.table.rows.size();
    kept -= Screen::least_of(all);
    const std::size_t rows = screen.rows(std::min(all, shown_rows()), kept);
    if (rows == 0) {
      left_out += (left_out.empty() ? "" : "; ") + part.heading.substr(0, part.heading.find(','));
      continue;
    }
    part.table.rows.resize(rows);
    screen.take_table(rows);
    if (all > rows) part.heading += fmt::format(", {} of {}", rows, all);
    document.blocks.emplace_back(Heading{part.heading, 3});
    document.blocks.emplace_back(std::move(part.table));
  }
  if (!left_out.empty())
    document.blocks.emplace_back(
        Paragraph{toned("left out here, all is in the JSON: " + left_out, Tone::kQuiet)});
}

void add_communicator(const Communicator& communicator, const ProfileReport& report, Document& document) {
  document.blocks.emplace_back(Heading{title_of(communicator), 2});
  Fields fields;
  fields.indent = 0;
  add_straggler(communicator, report, fields);
  add_clocks(communicator, fields);
  add_slow_links(communicator, report, fields);
  Screen screen(report.profile->communicators.size() == 1);
  screen.take(fields);
  document.blocks.emplace_back(std::move(fields));
  add_tables(communicator, report, screen, document);
}

// Nothing to look at: nobody late, nothing slow, all ranks came equally far and none died.
bool is_quiet(const Communicator& communicator, const ProfileReport& report) {
  if (communicator.straggler || !communicator.slow.empty()) return false;
  return std::ranges::all_of(communicator.members, [&](const Member& member) {
    return member.newest == communicator.members[0].newest &&
           (member.open_kernels > 0) == (communicator.members[0].open_kernels > 0) &&
           state_words((*report.inputs)[member.input]) != "died";
  });
}

std::string short_name(const Communicator& communicator, const ProfileReport& report) {
  if (!communicator.name.empty()) return printable(communicator.name);
  if (communicator.hash != 0) return fmt::format("{:#x}", communicator.hash);
  const std::string path = printable((*report.inputs)[communicator.members[0].input].file.path);
  return path.substr(path.rfind('/') + 1);
}

std::vector<Line> quiet_row(const Communicator& communicator, const ProfileReport& report) {
  const auto judged = std::ranges::count(communicator.links, profile::Unjudged::kJudged, &Link::why);
  const bool clocks = std::ranges::all_of(communicator.clocks, &HostClock::comparable);
  const std::size_t here = communicator.members.size();
  const Member& first = communicator.members[0];
  return {
      plain(short_name(communicator, report)),
      plain(here < communicator.ranks ? fmt::format("{} of {}", here, communicator.ranks)
                                      : std::to_string(here)),
      plain(std::to_string(communicator.clocks.size())),
      communicator.compared > 0 && clocks ? plain(fmt::format("nobody of {}", communicator.compared))
                                          : toned("unknown", Tone::kUnknown),
      communicator.links.empty() ? plain("no network")
      : judged > 0               ? plain(fmt::format("none of {}", judged))
                                 : toned("unknown", Tone::kUnknown),
      plain((first.newest.empty() ? "-" : first.newest) + (first.open_kernels > 0 ? ", kernel open" : ""))};
}

void add_quiet(const std::vector<const Communicator*>& quiet, const ProfileReport& report,
               Document& document) {
  if (quiet.empty()) return;
  Table table{{{"communicator"},
               {"ranks", Align::kRight},
               {"hosts", Align::kRight},
               {"late"},
               {"slow"},
               {"newest collective"}},
              {}};
  const auto most = static_cast<std::size_t>(knowledge::threshold("profile.screen"));
  for (const Communicator* communicator : quiet)
    if (table.rows.size() < most) table.rows.push_back(quiet_row(*communicator, report));
  document.blocks.emplace_back(
      Heading{fmt::format("{} in which nothing stands out", count_of(quiet.size(), "communicator")), 2});
  if (quiet.size() > most)
    document.blocks.emplace_back(Paragraph{plain(fmt::format("{} of them; all are in the JSON", most))});
  document.blocks.emplace_back(std::move(table));
}

}  // namespace

std::string state_words(const Input& input) {
  if (input.file.header.state == static_cast<std::uint32_t>(profile_ring::FileState::kFinished))
    return "finished";
  switch (input.liveness) {
    case Liveness::kRunning:
      return "running";
    case Liveness::kEnded:
      return "died";
    case Liveness::kUnknown:
      break;
  }
  return "unknown";
}

Document profile_document(const ProfileReport& report) {
  Document document;
  document.title = "NCCL profile";
  document.blocks.emplace_back(Paragraph{plain(summary_words(*report.inputs))});
  for (const std::string& note : report.profile->notes)
    document.blocks.emplace_back(Paragraph{{{"note ", Tone::kWarning}, {printable(note), Tone::kPlain}}});
  const std::vector<Communicator>& communicators = report.profile->communicators;
  const bool many = static_cast<double>(communicators.size()) > knowledge::threshold("profile.communicators");
  std::vector<const Communicator*> quiet;
  for (const Communicator& communicator : communicators) {
    if (many && is_quiet(communicator, report)) {
      quiet.push_back(&communicator);
    } else {
      add_communicator(communicator, report, document);
    }
  }
  add_quiet(quiet, report, document);
  return document;
}

}  // namespace angio::views
