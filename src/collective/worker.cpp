#include "collective/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "collective/measure.hpp"
#include "collective/merge.hpp"
#include "collective/rank_report.hpp"
#include "host/clock.hpp"

namespace angio::collective {
namespace {

using Clock = std::chrono::steady_clock;
using model::CollectiveRun;
using model::NcclCollective;

constexpr std::size_t kMostNotes = 50;  // of one kind
constexpr std::uint64_t kLeastBuffer = 4096;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::unexpected<Error> no_message(std::size_t rank) {
  return fail(ErrorCode::kIo, fmt::format("rank {} sent what is no message of this program", rank));
}

class Worker {
 public:
  explicit Worker(const WorkerCall& call)
      : call_(call), transport_(call.transport), meeting_(call.meeting), wish_(call.wish) {}

  Result<CollectiveRun> work() {
    if (auto met = introduce(); !met) return std::unexpected(std::move(met.error()));
    // Before anybody takes any: what others have is not free.
    if (auto room = agree_on(transport_.check_room(needed_here())); !room)
      return std::unexpected(std::move(room.error()));
    auto buffers = agree_on(make_buffers());
    if (!buffers) return std::unexpected(std::move(buffers.error()));
    if (auto rows = measure_all(); !rows) return std::unexpected(std::move(rows.error()));
    if (wish_.pairs && !run_.interrupted) {
      if (auto pairs = measure_pairs(); !pairs) return std::unexpected(std::move(pairs.error()));
    }
    // From here on ranks may end.
    meeting_.when_lost({});
    if (auto ended = meeting_.exchange(""); !ended) return std::unexpected(std::move(ended.error()));
    return std::move(run_);
  }

  // Tells all before this one ends, unless they know.
  void release() {
    for (const Memory memory : {buffers_.send, buffers_.receive, buffers_.small}) {
      if (memory != 0) transport_.release(memory);
    }
  }

 private:
  Result<void> agree_on(const Result<void>& own) {
    auto texts =
        agree(meeting_, own ? Result<std::string>("") : Result<std::string>(std::unexpected(own.error())));
    if (!texts) return std::unexpected(std::move(texts.error()));
    return {};
  }

  Result<void> introduce() {
    const TransportFacts& facts = transport_.facts();
    Introduction own{call_.self, facts.device, facts.address, to_text(to_json(wish_), -1)};
    auto texts = agree(meeting_, collective::to_text(own));
    if (!texts) return std::unexpected(std::move(texts.error()));
    std::vector<Introduction> all;
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
      auto one = parse_introduction((*texts)[rank]);
      if (!one) return no_message(rank);
      if (one->wish != own.wish) {
        return fail(ErrorCode::kInvalidInput,
                    fmt::format("rank {} was given other work than rank {}", rank, meeting_.rank()));
      }
      all.push_back(std::move(*one));
    }
    take(all);
    run_.backend = facts.name;
    run_.version = facts.version;
    run_.library = facts.library;
    run_.phantom = facts.phantom;
    run_.started = host::utc_text(std::chrono::system_clock::now());
    check_ = wish_.check && !facts.phantom;
    if (facts.phantom) {
      run_.notes.emplace_back(
          "The GPUs are not there: no data moved, so it is not checked, and the times mean nothing");
    }
    return {};
  }

  void take(const std::vector<Introduction>& all) {
    std::set<std::string> hosts;
    double began = 0;
    double here = 0;
    for (const Introduction& one : all) {
      const RankSelf& self = one.self;
      const auto rank = static_cast<std::uint32_t>(run_.members.size());
      run_.members.push_back({rank, self.local_rank, self.host, self.pid, one.device, one.address, self.cpus,
                              self.init_seconds});
      hosts.insert(self.host);
      if (self.began > 0 && (began <= 0 || self.began < began)) began = self.began;
      here = std::max(here, self.here);
      run_.init_seconds = std::max(run_.init_seconds, self.init_seconds);
    }
    run_.ranks = static_cast<std::uint32_t>(all.size());
    run_.nodes = static_cast<std::uint32_t>(hosts.size());
    if (began > 0 && here > began) run_.launch_seconds = here - began;
  }

  [[nodiscard]] Bytes buffer_size() const {
    const std::uint64_t pair = wish_.pairs ? wish_.pair_size.value : 0;
    return Bytes{std::max({wish_.most.value, pair, kLeastBuffer})};
  }

  // Of all ranks of this host.
  [[nodiscard]] Bytes needed_here() const {
    const auto here = static_cast<std::uint64_t>(
        std::ranges::count(run_.members, call_.self.host, &model::CollectiveRank::host));
    const std::uint64_t buffers = 2 * std::max<std::uint64_t>(here, 1);
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t size = buffer_size().value;
    return Bytes{size > kMost / buffers ? kMost : size * buffers};
  }

  Result<void> make_buffers() {
    if (wish_.root >= transport_.ranks()) {
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("root {} is none of the {} ranks", wish_.root, transport_.ranks()));
    }
    const Bytes size = buffer_size();
    for (auto& [memory, bytes] : {std::pair<Memory&, Bytes>(buffers_.send, size),
                                  {buffers_.receive, size},
                                  {buffers_.small, Bytes{kLeastBuffer}}}) {
      auto made = transport_.allocate(bytes);
      if (!made) return std::unexpected(std::move(made.error()));
      memory = *made;
    }
    return {};
  }

  std::vector<RowWish> rows_of(NcclCollective collective, const std::vector<Bytes>& sizes) {
    std::vector<RowWish> rows;
    std::uint64_t last = 0;
    bool left_out = false;
    for (const Bytes size : sizes) {
      const Layout layout = layout_of(collective, size, wish_.element, transport_.ranks());
      left_out = left_out || layout.count == 0;
      if (layout.count == 0 || layout.count == last) continue;
      last = layout.count;
      if (wish_.out_of_place) rows.push_back({collective, layout, false});
      if (wish_.in_place && can_be_in_place(collective)) rows.push_back({collective, layout, true});
    }
    if (left_out)
      run_.notes.push_back(fmt::format("{}: sizes below {} were left out", model::name_of(collective),
                                       has_parts(collective)
                                           ? fmt::format("16 B for each of the {} ranks", transport_.ranks())
                                           : "one element"));
    if (!wish_.out_of_place && !can_be_in_place(collective))
      run_.notes.push_back(fmt::format("{} is measured out of place only", model::name_of(collective)));
    return rows;
  }

  Result<void> measure_all() {
    auto sizes = sizes_of(wish_);
    if (!sizes) return std::unexpected(std::move(sizes.error()));
    Measure measure(transport_, meeting_, wish_, buffers_);
    std::vector<RowWish> rows;
    for (const NcclCollective collective : wish_.collectives) {
      const std::vector<RowWish> more = rows_of(collective, *sizes);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    if (rows.empty() && wish_.pairs) return {};
    if (rows.empty())
      return fail(ErrorCode::kInvalidInput, "no size leaves anything to measure", "larger sizes");
    if (auto first = first_collective(measure.call_of(rows.front())); !first) return first;
    for (const RowWish& row : rows) {
      if (auto done = measure_row(measure, row); !done) return done;
      if (run_.interrupted) break;
    }
    return {};
  }

  // Connections are made then.
  Result<void> first_collective(const Call& call) {
    meeting_.working_on("the first collective");
    const Clock::time_point begin = Clock::now();
    Result<void> done = transport_.start(call);
    if (done) done = transport_.finish();
    auto texts = agree(meeting_, done ? Result<std::string>(fmt::format("{:.9f}", seconds_since(begin)))
                                      : Result<std::string>(std::unexpected(done.error())));
    if (!texts) return std::unexpected(std::move(texts.error()));
    for (const std::string& text : *texts)
      run_.first_seconds = std::max(run_.first_seconds, parse_double(text).value_or(0));
    return {};
  }

  Result<void> measure_row(Measure& measure, const RowWish& wish) {
    const std::string what = fmt::format("{} of {}{}", model::name_of(wish.collective),
                                         in_words(wish.layout.size), wish.in_place ? ", in place" : "");
    meeting_.working_on(what);
    if (call_.progress && meeting_.rank() == 0) call_.progress(what);
    auto report = measure.measure(wish, check_);
    if (report) report->stop = call_.stop && call_.stop();
    auto texts = agree(meeting_, report ? Result<std::string>(collective::to_text(*report))
                                        : Result<std::string>(std::unexpected(report.error())));
    if (!texts) return std::unexpected(std::move(texts.error()));
    std::vector<RowReport> reports;
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
      auto one = parse_row_report((*texts)[rank]);
      if (!one) return no_message(rank);
      run_.interrupted = run_.interrupted || one->stop;
      reports.push_back(std::move(*one));
    }
    add_row(wish, reports, what);
    return {};
  }

  void add_row(const RowWish& wish, const std::vector<RowReport>& reports, const std::string& what) {
    model::CollectiveRow row;
    row.collective = wish.collective;
    row.size = wish.layout.size;
    row.count = wish.layout.count;
    row.type = label(wish_.element);
    if (reduces(wish.collective)) row.reduction = label(wish_.reduction);
    row.in_place = wish.in_place;
    if (has_root(wish.collective)) row.root = wish_.root;
    row.warm_up = wish_.warm_up;
    row.iterations = wish_.iterations;
    std::vector<double> batches;
    std::vector<std::vector<double>> samples;
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      const RowReport& report = reports[rank];
      batches.push_back(report.batch_us);
      samples.push_back(report.samples);
      if (!report.wrong) continue;
      row.wrong = row.wrong.value_or(0) + *report.wrong;
      if (*report.wrong > 0 && run_.notes.size() < kMostNotes)
        run_.notes.push_back(fmt::format("{}: rank {} received {}, {}", what, rank,
                                         count_of(*report.wrong, "wrong element"), report.wrong_words));
    }
    take_batches(batches, transport_.ranks(), row);
    take_samples(samples, row);
    run_.rows.push_back(std::move(row));
  }

  // ------------------------------------------------------------------ pairs

  Result<void> measure_pairs() {
    std::vector<model::CollectivePair> own;
    Measure measure(transport_, meeting_, wish_, buffers_);
    for (const auto& round : pair_rounds(transport_.ranks())) {
      for (const bool forth : {true, false}) {
        auto done = measure_round(measure, round, forth, own);
        if (auto agreed = agree_on(done); !agreed) return agreed;
      }
      if (call_.stop && call_.stop()) break;
    }
    auto texts = agree(meeting_, collective::to_text(own));
    if (!texts) return std::unexpected(std::move(texts.error()));
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
      const auto pairs = parse_pairs((*texts)[rank]);
      if (!pairs) return no_message(rank);
      run_.pairs.insert(run_.pairs.end(), pairs->begin(), pairs->end());
    }
    std::ranges::sort(run_.pairs, {}, [](const auto& pair) { return std::pair(pair.from, pair.to); });
    return {};
  }

  // All pairs of a round at once; the receiver's time counts.
  Result<void> measure_round(Measure& measure, const std::vector<RankPair>& round, bool forth,
                             std::vector<model::CollectivePair>& own) {
    std::optional<RankPair> mine;  // from, to
    for (const auto& [first, second] : round) {
      if (first == meeting_.rank() || second == meeting_.rank())
        mine = forth ? RankPair(first, second) : RankPair(second, first);
    }
    meeting_.working_on(mine ? fmt::format("rank {} to rank {}", mine->first, mine->second)
                             : "waiting for pairs");
    if (call_.progress && meeting_.rank() == 0 && mine)
      call_.progress(fmt::format("rank {} to rank {}", mine->first, mine->second));
    if (auto lined = measure.line_up(); !lined) return lined;
    if (!mine) return {};
    constexpr std::uint64_t kSmall = 8;  // bytes
    const auto rate_us = time_pair(*mine, wish_.pair_size.value);
    if (!rate_us) return std::unexpected(rate_us.error());
    const auto latency_us = time_pair(*mine, kSmall);
    if (!latency_us) return std::unexpected(latency_us.error());
    if (mine->second != meeting_.rank() || *rate_us <= 0) return {};
    constexpr double kMicro = 1e-6;
    own.push_back({mine->first,
                   mine->second,
                   {static_cast<double>(wish_.pair_size.value) / (*rate_us * kMicro)},
                   *latency_us});
    return {};
  }

  Result<double> time_pair(const RankPair& pair, std::uint64_t bytes) {
    Call call;
    call.collective = NcclCollective::kSendRecv;
    call.element = Element::kUint8;
    call.count = bytes;
    call.send = buffers_.send;
    call.receive = buffers_.receive;
    if (pair.first == meeting_.rank()) call.peer = pair.second;
    if (pair.second == meeting_.rank()) call.source = pair.first;
    if (auto warm = transport_.time_batch(call, 2); !warm) return warm;
    auto taken = transport_.time_batch(call, wish_.iterations);
    if (!taken) return taken;
    return *taken / wish_.iterations;
  }

  const WorkerCall& call_;
  Transport& transport_;
  Meeting& meeting_;
  const Wish& wish_;
  Buffers buffers_;
  CollectiveRun run_;
  bool check_ = true;
};

}  // namespace

Result<std::optional<model::CollectiveRun>> run_worker(const WorkerCall& call) {
  Worker worker(call);
  auto run = worker.work();
  call.meeting.when_lost({});
  worker.release();
  if (!run) return std::unexpected(std::move(run.error()));
  if (call.meeting.rank() != 0) return std::nullopt;
  return std::move(*run);
}

}  // namespace angio::collective
