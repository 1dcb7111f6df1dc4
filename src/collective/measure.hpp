// One rank's side of one row: the call of a collective at a size, its times, and whether the right data
// arrived. Between rows the ranks meet (worker.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collective/layout.hpp"
#include "collective/pattern.hpp"
#include "collective/rank_report.hpp"
#include "collective/transport.hpp"
#include "collective/wish.hpp"

namespace angio::collective {

struct Buffers {
  Memory send = 0;
  Memory receive = 0;
  Memory small = 0;  // of the call that lines the ranks up
};

struct RowWish {
  model::NcclCollective collective = model::NcclCollective::kAllReduce;
  Layout layout;
  bool in_place = false;
};

class Measure {
 public:
  Measure(Transport& transport, Meeting& meeting, const Wish& wish, const Buffers& buffers)
      : transport_(transport), meeting_(meeting), wish_(wish), buffers_(buffers) {}

  [[nodiscard]] Call call_of(const RowWish& row) const;
  Result<RowReport> measure(const RowWish& row, bool check);
  // The ranks leave it within microseconds of each other.
  Result<void> line_up();

 private:
  Result<std::vector<double>> time_samples(const Call& call);
  Result<void> check(const RowWish& row, RowReport& report);
  Result<void> prepare(const RowWish& row, const Call& call, const Pattern& pattern);
  Result<void> compare(const Call& call, const Pattern& pattern, RowReport& report);

  Transport& transport_;
  Meeting& meeting_;
  const Wish& wish_;
  Buffers buffers_;
  std::uint64_t run_ = 0;
};

}  // namespace angio::collective
