#include "tuner/choices.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "tuner/cover.hpp"

namespace angio::tuner {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::vector<std::uint32_t> rows_for(const Table& table, std::uint64_t nodes, std::uint64_t ranks) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < table.rules.size(); ++i)
    if (table.rules[i].nodes.has(nodes) && table.rules[i].ranks.has(ranks)) rows.push_back(i);
  return rows;
}

std::vector<std::uint64_t> pipe_starts_of(const Table& table, std::span<const std::uint32_t> rows) {
  std::vector<std::uint64_t> starts;
  for (const std::uint32_t row : rows) {
    const Range& range = table.rules[row].pipe_ops;
    if (range.low > 1) starts.push_back(range.low);
    if (range.high != kUnlimited) starts.push_back(range.high + 1);
  }
  std::ranges::sort(starts);
  const auto tail = std::ranges::unique(starts);
  starts.erase(tail.begin(), tail.end());
  return starts;
}

std::uint32_t last_not_above(const std::vector<std::uint64_t>& starts, std::uint64_t value) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(starts, value) - starts.begin() - 1);
}

}  // namespace

std::size_t Choices::bucket_of(std::uint64_t bytes) {
  const auto width = static_cast<std::size_t>(std::bit_width(bytes));
  if (width <= 3) return bytes;
  return (width - 3) * 8 + ((bytes >> (width - 4)) & 7U);
}

std::uint64_t Choices::start_of(std::size_t bucket) {
  if (bucket < 8) return bucket;
  return (8 + bucket % 8) << (bucket / 8 - 1);
}

Choices::Index Choices::make_index(const std::vector<Rule>& rules, std::span<const std::uint32_t> fitting) {
  std::vector<std::pair<Range, std::uint32_t>> parts;
  Cover cover;
  for (const std::uint32_t row : fitting)
    cover.add(rules[row].bytes, [&](const Range& free) { parts.emplace_back(free, row); });
  std::ranges::sort(parts, {}, [](const auto& part) { return part.first.low; });
  Index index{.starts = {0}, .rules = {kNone}, .first = {}};
  const auto begin = [&](std::uint64_t start, std::uint32_t rule) {
    if (index.starts.back() == start) {
      index.rules.back() = rule;
      return;
    }
    index.starts.push_back(start);
    index.rules.push_back(rule);
  };
  for (const auto& [bytes, row] : parts) {
    begin(bytes.low, row);
    if (bytes.high != kUnlimited) begin(bytes.high + 1, kNone);
  }
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
    index.first.at(bucket) = last_not_above(index.starts, start_of(bucket));
  index.first.back() = static_cast<std::uint32_t>(index.starts.size() - 1);
  return index;
}

Choices::Choices(std::shared_ptr<const Table> table, std::uint64_t nodes, std::uint64_t ranks)
    : table_(std::move(table)) {
  const std::vector<std::uint32_t> rows = rows_for(*table_, nodes, ranks);
  fitting_ = rows.size();
  pipe_starts_ = pipe_starts_of(*table_, rows);
  const bool tells_apart = std::ranges::any_of(
      rows, [&](std::uint32_t row) { return table_->rules[row].registered != Range{0, 1}; });
  registered_kinds_ = tells_apart ? 2 : 1;
  for (std::size_t collective = 0; collective < kCollectives; ++collective) {
    for (std::size_t registered = 0; registered < registered_kinds_; ++registered) {
      for (std::size_t pipe = 0; pipe <= pipe_starts_.size(); ++pipe) {
        const std::uint64_t ops = pipe == 0 ? 1 : pipe_starts_[pipe - 1];
        std::vector<std::uint32_t> fitting;
        std::ranges::copy_if(rows, std::back_inserter(fitting), [&](std::uint32_t row) {
          const Rule& rule = table_->rules[row];
          return static_cast<std::size_t>(rule.collective) == collective && rule.pipe_ops.has(ops) &&
                 rule.registered.has(registered);
        });
        indices_.push_back(make_index(table_->rules, fitting));
      }
    }
  }
}

const Choices::Index& Choices::index_for(Collective collective, std::uint64_t pipe_ops,
                                         bool registered) const {
  std::size_t pipe = 0;
  while (pipe < pipe_starts_.size() && pipe_starts_[pipe] <= pipe_ops)
    ++pipe;
  const std::size_t kind = registered && registered_kinds_ == 2 ? 1 : 0;
  return indices_[(static_cast<std::size_t>(collective) * registered_kinds_ + kind) *
                      (pipe_starts_.size() + 1) +
                  pipe];
}

const Rule* Choices::find(Collective collective, std::uint64_t bytes, std::uint64_t pipe_ops,
                          bool registered) const {
  if (static_cast<std::size_t>(collective) >= kCollectives) return nullptr;
  const Index& index = index_for(collective, pipe_ops, registered);
  const std::size_t bucket = bucket_of(bytes);
  const std::uint64_t* base = index.starts.data() + index.first[bucket];
  // Without a branch that the processor would have to guess.
  for (std::size_t left = index.first[bucket + 1] - index.first[bucket] + 1; left > 1;) {
    const std::size_t half = left / 2;
    base += base[half] <= bytes ? half : 0;
    left -= half;
  }
  const std::uint32_t rule = index.rules[static_cast<std::size_t>(base - index.starts.data())];
  return rule == kNone ? nullptr : &table_->rules[rule];
}

std::vector<Choices::Interval> Choices::intervals(Collective collective, std::uint64_t pipe_ops,
                                                  bool registered) const {
  const Index& index = index_for(collective, pipe_ops, registered);
  std::vector<Interval> all;
  for (std::size_t i = 0; i < index.starts.size(); ++i) {
    const std::uint64_t high = i + 1 < index.starts.size() ? index.starts[i + 1] - 1 : kUnlimited;
    const Rule* rule = index.rules[i] == kNone ? nullptr : &table_->rules[index.rules[i]];
    all.push_back({{index.starts[i], high}, rule});
  }
  return all;
}

}  // namespace angio::tuner
