#include "tuner/overlaps.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "tuner/cover.hpp"

namespace angio::tuner {
namespace {

// What must fit besides the size. Rows with the same key compete for sizes only.
using Key = std::array<Range, 4>;

Key key_of(const Rule& rule) {
  return {rule.nodes, rule.ranks, rule.pipe_ops, rule.registered};
}

bool covers(const Key& outer, const Key& inner) {
  return std::ranges::equal(outer, inner, [](const Range& a, const Range& b) { return a.covers(b); });
}

bool meets(const Key& one, const Key& other) {
  return std::ranges::equal(one, other, [](const Range& a, const Range& b) { return a.meets(b); });
}

struct Group {
  Collective collective = Collective::kAllReduce;
  Key key;
  std::vector<std::uint32_t> rules;  // indices, ascending
};

std::vector<Group> group(const std::vector<Rule>& rules) {
  const auto sort_key = [](const Rule& rule) {
    std::array<std::uint64_t, 9> flat{static_cast<std::uint64_t>(rule.collective)};
    std::size_t at = 1;
    for (const Range& range : key_of(rule)) {
      flat.at(at++) = range.low;
      flat.at(at++) = range.high;
    }
    return flat;
  };
  std::map<std::array<std::uint64_t, 9>, std::size_t> seen;
  std::vector<Group> groups;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const auto [found, added] = seen.emplace(sort_key(rules[i]), groups.size());
    if (added) groups.push_back({rules[i].collective, key_of(rules[i]), {}});
    groups[found->second].rules.push_back(i);
  }
  return groups;
}

struct Rival {
  std::uint32_t rule = 0;
  bool own = false;     // of the group that is looked at
  bool covers = false;  // its key includes the group's
};

std::vector<Rival> rivals_of(const Group& group, const std::vector<Group>& groups) {
  std::vector<Rival> rivals;
  for (const Group& other : groups) {
    if (other.collective != group.collective || !meets(other.key, group.key)) continue;
    const bool own = &other == &group;
    const bool whole = own || covers(other.key, group.key);
    for (const std::uint32_t rule : other.rules)
      rivals.push_back({rule, own, whole});
  }
  std::ranges::sort(rivals, {}, &Rival::rule);
  return rivals;
}

bool compete(const Rule& one, const Rule& other) {
  return one.collective == other.collective && one.bytes.meets(other.bytes) &&
         meets(key_of(one), key_of(other));
}

// What a person should look at of the earlier rows.
struct Earlier {
  std::uint32_t line = 0;    // one that takes all of the row, else the first that takes a part
  bool only_touches = true;  // they end with the size with which the row begins
};

Earlier find_earlier(const std::vector<Rule>& rules, std::uint32_t index) {
  const Rule& rule = rules[index];
  Earlier earlier;
  for (std::uint32_t i = 0; i < index; ++i) {
    if (!compete(rules[i], rule)) continue;
    if (rules[i].bytes.covers(rule.bytes) && covers(key_of(rules[i]), key_of(rule)))
      return {rules[i].line, false};
    if (rules[i].bytes.high != rule.bytes.low) earlier.only_touches = false;
    if (earlier.line == 0) earlier.line = rules[i].line;
  }
  return earlier;
}

enum class Reach : std::uint8_t { kWhole, kPart, kNone };

// How much of each row earlier ones leave to it.
class Reaches {
 public:
  explicit Reaches(const Table& table) : rules_(table.rules), reach_(rules_.size(), Reach::kWhole) {
    const std::vector<Group> groups = group(rules_);
    for (const Group& one : groups) {
      work_ += groups.size();
      if (work_ > kMaxWork) return;
      look(rivals_of(one, groups));
    }
  }
  [[nodiscard]] bool complete() const { return work_ <= kMaxWork; }
  [[nodiscard]] Reach of(std::size_t rule) const { return reach_[rule]; }

 private:
  // Rows compared, in all: a second or two. Only tables where hundreds of row shapes overlap come near it.
  static constexpr std::size_t kMaxWork = 10'000'000;

  void look(const std::vector<Rival>& rivals) {
    work_ += rivals.size();
    Cover whole;
    Cover any;
    for (const Rival& rival : rivals) {
      const Range& bytes = rules_[rival.rule].bytes;
      if (rival.own && any.meets(bytes)) reach_[rival.rule] = Reach::kPart;
      bool free = false;
      if (rival.covers) whole.add(bytes, [&](const Range&) { free = true; });
      if (rival.own && !free) reach_[rival.rule] = Reach::kNone;
      any.add(bytes, [](const Range&) {});
    }
  }

  const std::vector<Rule>& rules_;
  std::vector<Reach> reach_;
  std::size_t work_ = 0;
};

// Words what was found. Each row costs a look through those before it, so only so many get one.
class Reporter {
 public:
  explicit Reporter(Table& table) : table_(table) {}

  void add(std::uint32_t index, Reach reach) {
    const bool never = reach == Reach::kNone;
    std::vector<Remark>& list = never ? table_.problems : table_.remarks;
    if (list.size() >= kMaxRemarks || looks_ >= kMaxLooks) {
      ++(never ? table_.more_problems : table_.more_remarks);
      return;
    }
    ++looks_;
    const Earlier earlier = find_earlier(table_.rules, index);
    const std::string line = std::to_string(earlier.line);
    if (never)
      list.push_back({table_.rules[index].line,
                      "the row can never decide: earlier rows, from line " + line + " on, take all its sizes",
                      "the first row that fits decides; put the narrower row first, or remove one"});
    else if (earlier.only_touches)
      ++touching_;
    else
      list.push_back({table_.rules[index].line,
                      "the row overlaps line " + line + ", which stands first and decides where both fit",
                      {}});
  }

  void end() {
    if (touching_ == 0) return;
    const std::string rows = touching_ == 1 ? "1 row begins" : std::to_string(touching_) + " rows begin";
    table_.remarks.push_back(
        {0, rows + " with the size with which an earlier one ends; there the earlier one decides", {}});
  }

 private:
  static constexpr std::size_t kMaxLooks = 1000;
  Table& table_;
  std::size_t looks_ = 0;
  std::size_t touching_ = 0;
};

}  // namespace

void find_overlaps(Table& table) {
  const Reaches reaches(table);
  Reporter reporter(table);
  for (std::uint32_t i = 0; i < table.rules.size(); ++i)
    if (reaches.of(i) != Reach::kWhole) reporter.add(i, reaches.of(i));
  reporter.end();
  if (!reaches.complete())
    table.remarks.push_back({0, "too many rows of different shape: not all were compared for overlaps", {}});
}

}  // namespace angio::tuner
