#include "collective/measure.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace angio::collective {
namespace {

using model::NcclCollective;

constexpr std::uint64_t kChunk = std::uint64_t{16} << 20U;  // bytes that are made or compared at once
constexpr std::byte kPoison{0xa5};                          // what nobody sends

// Of all ranks, each timed by itself: every rank's reports go through rank 0 in one message.
constexpr std::uint32_t kMostSamples = 1'000'000;

// Only the root's data goes anywhere.
bool sends(const Call& call, std::uint32_t rank) {
  const bool from_root =
      call.collective == NcclCollective::kBroadcast || call.collective == NcclCollective::kScatter;
  return !from_root || rank == call.root;
}

}  // namespace

Call Measure::call_of(const RowWish& row) const {
  const std::uint64_t width = size_of(wish_.element);
  const std::uint32_t rank = transport_.rank();
  const std::uint32_t ranks = transport_.ranks();
  Call call;
  call.collective = row.collective;
  call.count = row.layout.count;
  call.element = wish_.element;
  call.reduction = wish_.reduction;
  call.root = has_root(row.collective) ? wish_.root : 0;
  call.send = row.in_place ? buffers_.receive + row.layout.send_in_place * rank * width : buffers_.send;
  call.receive = buffers_.receive + (row.in_place ? row.layout.receive_in_place * rank * width : 0);
  if (row.collective == NcclCollective::kSendRecv) {
    call.peer = (rank + 1) % ranks;
    call.source = (rank + ranks - 1) % ranks;
  }
  return call;
}

Result<void> Measure::line_up() {
  if (auto here = meeting_.exchange(""); !here) return std::unexpected(std::move(here.error()));
  if (transport_.ranks() < 2) return {};
  Call call;
  call.element = Element::kInt32;
  call.count = 1;
  call.send = buffers_.small;
  call.receive = buffers_.small + size_of(call.element);
  if (auto started = transport_.start(call); !started) return started;
  return transport_.finish();
}

Result<RowReport> Measure::measure(const RowWish& row, bool check_data) {
  const Call call = call_of(row);
  RowReport report;
  if (wish_.warm_up > 0) {
    if (auto warm = transport_.time_batch(call, wish_.warm_up); !warm)
      return std::unexpected(std::move(warm.error()));
  }
  if (auto lined = line_up(); !lined) return std::unexpected(std::move(lined.error()));
  auto batch = transport_.time_batch(call, wish_.iterations);
  if (!batch) return std::unexpected(std::move(batch.error()));
  report.batch_us = *batch;
  if (wish_.samples) {
    if (auto lined = line_up(); !lined) return std::unexpected(std::move(lined.error()));
    auto samples = time_samples(call);
    if (!samples) return std::unexpected(std::move(samples.error()));
    report.samples = std::move(*samples);
  }
  if (!check_data) return report;
  if (auto checked = check(row, report); !checked) return std::unexpected(std::move(checked.error()));
  return report;
}

// The first and the last are left out: ranks come from lining up there, and go to the next work.
Result<std::vector<double>> Measure::time_samples(const Call& call) {
  const std::uint32_t most = std::max(kMostSamples / transport_.ranks(), 20U);
  auto samples = transport_.time_each(call, std::min(wish_.iterations, most) + 2);
  if (!samples || samples->size() < 3) return samples;
  samples->erase(samples->begin());
  samples->pop_back();
  return samples;
}

Result<void> Measure::check(const RowWish& row, RowReport& report) {
  const Call call = call_of(row);
  Pattern pattern;
  pattern.element = wish_.element;
  if (reduces(row.collective)) pattern.reduction = wish_.reduction;
  pattern.ranks = transport_.ranks();
  pattern.run = ++run_;
  if (auto prepared = prepare(row, call, pattern); !prepared) return prepared;
  // Nobody sends into a buffer that is still being prepared.
  if (auto here = meeting_.exchange(""); !here) return std::unexpected(std::move(here.error()));
  if (auto started = transport_.start(call); !started) return started;
  if (auto done = transport_.finish(); !done) return done;
  return compare(call, pattern, report);
}

Result<void> Measure::prepare(const RowWish& row, const Call& call, const Pattern& pattern) {
  const std::uint64_t width = size_of(wish_.element);
  const std::uint64_t whole = row.layout.size.value;
  const std::vector<std::byte> poison(std::min(kChunk, whole), kPoison);
  for (std::uint64_t at = 0; at < whole; at += poison.size()) {
    const std::uint64_t piece = std::min<std::uint64_t>(poison.size(), whole - at);
    if (auto put = transport_.write(buffers_.receive + at, std::span(poison).first(piece)); !put) return put;
  }
  if (row.in_place && !sends(call, transport_.rank())) return {};
  const std::uint64_t most = kChunk / width;
  for (std::uint64_t first = 0; first < row.layout.send; first += most) {
    const std::uint64_t count = std::min(most, row.layout.send - first);
    const auto data = sent_by(pattern, transport_.rank(), first, count);
    if (auto put = transport_.write(call.send + first * width, data); !put) return put;
  }
  return {};
}

Result<void> Measure::compare(const Call& call, const Pattern& pattern, RowReport& report) {
  const std::uint64_t width = size_of(wish_.element);
  report.wrong = 0;
  std::optional<std::uint64_t> where;
  std::vector<std::byte> got;
  for (const Piece& piece : expected_pieces(call, transport_.rank(), transport_.ranks())) {
    const std::uint64_t most = kChunk / width;
    for (std::uint64_t first = 0; first < piece.count; first += most) {
      got.resize(std::min(most, piece.count - first) * width);
      if (auto read = transport_.read(call.receive + (piece.at + first) * width, got); !read) return read;
      std::optional<std::uint64_t> here;
      *report.wrong += count_wrong(pattern, got, piece, first, here);
      if (!where) where = here;
    }
  }
  if (where) report.wrong_words = fmt::format("first at element {}", *where);
  return {};
}

}  // namespace angio::collective
