// The tables of `angio profile`. Rows that say the same are folded into one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "views/profile_parts.hpp"

namespace angio::views {

using profile::Collective;
using profile::Communicator;
using profile::Input;
using profile::Link;
using profile::Member;
using profile::Pair;
using profile::Verdict;
using report::Align;
using report::Line;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

// Ranks in one row: of one host, or of several where the rows of hosts are too many.
struct MemberRow {
  std::vector<const Member*> members{};
  std::set<std::string> hosts{};
  std::uint32_t process = 0;  // of the first
  std::string newest;
  std::string state;
  bool late = false;
};

std::string newest_words(const Member& member) {
  return (member.newest.empty() ? "-" : member.newest) + (member.open_kernels > 0 ? ", kernel open" : "");
}

// The late rank stands alone; beyond what one looks through, those alike on a host share a row, and then
// those alike on all hosts.
std::vector<MemberRow> member_rows(const Communicator& communicator, const ProfileReport& report,
                                   std::size_t most) {
  enum Fold { kNone, kHost, kAll };
  std::vector<MemberRow> rows;
  for (const Fold fold : {kNone, kHost, kAll}) {
    rows.clear();
    std::map<std::tuple<std::string, std::string, std::string, bool, std::size_t>, std::size_t> row_of;
    for (std::size_t i = 0; i < communicator.members.size(); ++i) {
      const Member& member = communicator.members[i];
      const Input& input = (*report.inputs)[member.input];
      const std::string host = printable(input.file.host);
      const bool late = communicator.straggler == i;
      const auto [place, fresh] = row_of.insert(
          {{fold == kAll ? "" : host, newest_words(member), state_words(input), late, fold == kNone ? i : 0},
           rows.size()});
      if (fresh)
        rows.push_back({.process = input.file.header.process,
                        .newest = newest_words(member),
                        .state = state_words(input),
                        .late = late});
      MemberRow& row = rows[place->second];
      row.members.push_back(&member);
      row.hosts.insert(host);
    }
    if (rows.size() <= most) break;
  }
  if (rows.size() < communicator.members.size())
    std::ranges::stable_sort(rows, std::ranges::greater{}, &MemberRow::late);
  return rows;
}

// "0-7", "0-3,5-7"; with more gaps the count alone.
std::string ranks_cell(const MemberRow& row) {
  constexpr std::size_t kMostRuns = 2;
  std::vector<std::pair<std::int32_t, std::int32_t>> runs;
  for (const Member* member : row.members) {
    if (runs.empty() || member->rank != runs.back().second + 1) runs.emplace_back(member->rank, member->rank);
    runs.back().second = member->rank;
  }
  if (runs.size() > kMostRuns || row.members[0]->rank < 0) {
    if (row.members.size() == 1) return rank_words(-1);
    return count_of(row.members.size(), "rank");
  }
  std::string text;
  for (const auto& [first, last] : runs) {
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

template <typename Of>
double most_of(const MemberRow& row, const Of& of) {
  double most = of(*row.members[0]);
  for (const Member* member : row.members)
    most = std::max(most, of(*member));
  return most;
}

// Without the process where rows are folded: it would not be one.
std::vector<Line> cells_of(const MemberRow& row, bool folded) {
  const bool known = std::ranges::all_of(row.members, [](const Member* each) { return each->compared > 0; });
  const auto most = std::ranges::max_element(row.members, {}, [](const Member* each) { return each->last; });
  std::vector<Line> cells = {
      plain(ranks_cell(row)),
      plain(row.hosts.size() == 1 ? *row.hosts.begin() : count_of(row.hosts.size(), "host"))};
  if (!folded) cells.push_back(plain(std::to_string(row.process)));
  cells.push_back(known ? plain(fmt::format("{}/{}", (*most)->last, (*most)->compared))
                        : toned("-", Tone::kUnknown));
  cells.push_back(number_cell(most_of(row, [](const Member& each) { return each.late_ns; }), known));
  cells.push_back(number_cell(most_of(row, [](const Member& each) { return each.waited_ns; }), known));
  cells.push_back(plain(row.newest));
  cells.push_back(plain(row.state));
  return cells;
}

// The channels of one direction between two ranks: they share an adapter and a path.
struct LinkRow {
  Link sum;  // its rate is the median of the channels'
  std::size_t channels = 0;
  std::size_t slow = 0;
  std::size_t judged = 0;
  std::vector<double> rates;
};

double middle_of(std::vector<double> rates) {
  if (rates.empty()) return 0;
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

void add_channel(const Link& link, LinkRow& row) {
  ++row.channels;
  row.slow += link.verdict == Verdict::kSlow ? 1 : 0;
  row.judged += link.verdict == Verdict::kUnknown ? 0 : 1;
  if (link.rate > 0) row.rates.push_back(link.rate);
  if (row.channels == 1) {
    row.sum = link;
    return;
  }
  row.sum.count += link.count;
  row.sum.bytes += link.bytes;
  row.sum.told += link.told;
  row.sum.bytes_at_most = row.sum.bytes_at_most || link.bytes_at_most;
  row.sum.gpu_ns += link.gpu_ns;
  row.sum.peer_ns += link.peer_ns;
  row.sum.network_ns += link.network_ns;
}

std::vector<LinkRow> link_rows(const Communicator& communicator) {
  std::map<std::tuple<std::int32_t, std::int32_t, bool, bool>, std::size_t> row_of;
  std::vector<LinkRow> rows;
  for (const Link& link : communicator.links) {
    const auto [place, fresh] =
        row_of.insert({{link.rank, link.peer, link.send, link.from_steps}, rows.size()});
    if (fresh) rows.emplace_back();
    add_channel(link, rows[place->second]);
  }
  for (LinkRow& row : rows)
    row.sum.rate = middle_of(row.rates);
  std::ranges::stable_sort(rows, {}, [](const LinkRow& row) {
    return std::tuple(row.slow == 0, !row.sum.send, row.sum.rate <= 0, row.sum.rate);
  });
  return rows;
}

Line verdict_cell(const LinkRow& row) {
  if (row.slow > 0) return toned("SLOW", Tone::kWarning);
  return row.judged > 0 ? plain("alike") : toned("-", Tone::kUnknown);
}

}  // namespace

std::string time_words(double ns) {
  return in_words(Nanoseconds{ns});
}

std::string rank_words(std::int32_t rank) {
  return rank < 0 ? "?" : std::to_string(rank);
}

Line number_cell(double ns, bool known) {
  return known ? plain(time_words(ns)) : toned("-", Tone::kUnknown);
}

bool has_timed_pair(const Communicator& communicator) {
  return std::ranges::any_of(communicator.pairs, [](const Pair& pair) { return pair.timed > 0; });
}

std::size_t shown_rows() {
  return static_cast<std::size_t>(knowledge::threshold("profile.shown"));
}

Table member_table(const Communicator& communicator, const ProfileReport& report, std::size_t most) {
  const std::vector<MemberRow> rows = member_rows(communicator, report, most);
  const bool folded = rows.size() < communicator.members.size();
  Table table{{{"rank", Align::kRight}, {"host"}}, {}};
  if (!folded) table.columns.push_back({"process", Align::kRight});
  const std::string of_all = folded ? " <=" : "";
  for (const char* title : {"last", "late by", "waited"})
    table.columns.push_back({title + of_all, Align::kRight});
  table.columns.push_back({folded ? "newest" : "newest collective"});
  table.columns.push_back({"state"});
  for (const MemberRow& row : rows)
    table.rows.push_back(cells_of(row, folded));
  return table;
}

Table worst_table(const Communicator& communicator) {
  Table table{{{"collective"},
               {"size", Align::kRight},
               {"algorithm"},
               {"last rank", Align::kRight},
               {"late by", Align::kRight},
               {"first to last", Align::kRight}},
              {}};
  for (const Collective& each : communicator.worst) {
    if (each.late_ns < knowledge::threshold("profile.straggler-late")) break;  // what polling alone makes
    const std::string how = each.algorithm.empty() ? "-" : each.algorithm + " " + each.protocol;
    table.rows.push_back({plain(fmt::format("{} {}", each.function, each.sequence)),
                          each.bytes > 0 ? plain(in_words(Bytes{each.bytes})) : toned("-", Tone::kUnknown),
                          plain(how), plain(rank_words(each.last_rank)), plain(time_words(each.late_ns)),
                          plain(time_words(each.spread_ns))});
  }
  return table;
}

Table link_table(const Communicator& communicator) {
  Table table{{{"connection"},
               {"steps", Align::kRight},
               {"bytes", Align::kRight},
               {"rate", Align::kRight},
               {"GPU", Align::kRight},
               {"peer", Align::kRight},
               {"network", Align::kRight},
               {"judged"}},
              {}};
  for (const LinkRow& row : link_rows(communicator)) {
    const Link& link = row.sum;
    const std::string channels =
        row.channels == 1 ? fmt::format(" ch {}", link.channel) : fmt::format(", {} ch", row.channels);
    table.rows.push_back(
        {plain(fmt::format("{} {} {}{}", rank_words(link.rank), link.send ? "->" : "<-",
                           rank_words(link.peer), channels)),
         plain(link.from_steps ? std::to_string(link.count) : fmt::format("{} ops", link.count)),
         plain((link.bytes_at_most ? "<= " : "") + in_words(Bytes{link.bytes})),
         link.rate > 0 ? plain((link.told == 0 ? "<= " : "") + in_words(BytesPerSecond{link.rate}))
                       : toned("-", Tone::kUnknown),
         number_cell(link.gpu_ns, link.from_steps),
         number_cell(link.peer_ns, link.from_steps && link.peer_ns > 0),
         number_cell(link.network_ns, link.from_steps), verdict_cell(row)});
  }
  return table;
}

Table pair_table(const Communicator& communicator) {
  Table table{{{"operation"},
               {"from", Align::kRight},
               {"to", Align::kRight},
               {"timed", Align::kRight},
               {"bytes", Align::kRight},
               {"kernel time", Align::kRight},
               {"bytes / time", Align::kRight}},
              {}};
  const bool any_timed = has_timed_pair(communicator);
  for (const Pair& pair : communicator.pairs) {
    const bool receive = pair.function == "Recv";
    const bool known = pair.timed > 0;
    const std::uint64_t bytes = any_timed ? pair.timed_bytes : pair.bytes;
    table.rows.push_back({plain(pair.function), plain(rank_words(receive ? pair.peer : pair.rank)),
                          plain(rank_words(receive ? pair.rank : pair.peer)),
                          plain(fmt::format("{} of {}", pair.timed, pair.count)),
                          bytes > 0 ? plain(in_words(Bytes{bytes})) : toned("-", Tone::kUnknown),
                          number_cell(pair.kernel_ns, known),
                          known ? plain(in_words(BytesPerSecond{pair.rate})) : toned("-", Tone::kUnknown)});
  }
  return table;
}

}  // namespace angio::views
