// A rank process: which rank it is, where the others are, and what the kernel says about it.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "collective/rank_report.hpp"
#include "collective/worker.hpp"
#include "host/process_start.hpp"
#include "host/root.hpp"
#include "host/system_roots.hpp"
#include "launch/affinity.hpp"
#include "launch/rank.hpp"
#include "launch/rendezvous.hpp"

namespace angio::collective {
namespace {

using Clock = std::chrono::steady_clock;

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Of this process, Unix time; 0: /proc does not say.
double start_of_process() {
  const auto root = host::open_directory_root("/");
  if (!root) return 0;
  const auto start = host::read_process_start(**root, static_cast<std::uint32_t>(getpid()));
  const long ticks_a_second = sysconf(_SC_CLK_TCK);
  timespec since_boot{};
  if (!start || ticks_a_second <= 0 || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) return 0;
  constexpr double kNano = 1e-9;
  const double now = static_cast<double>(since_boot.tv_sec) + kNano * static_cast<double>(since_boot.tv_nsec);
  return unix_now() - (now - static_cast<double>(start->ticks) / static_cast<double>(ticks_a_second));
}

std::string own_host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

// torchrun's agent listens on MASTER_PORT itself.
std::uint16_t port_of(std::uint16_t port, std::span<const std::string> environment) {
  if (to_lower(host::find_variable(environment, "TORCHELASTIC_USE_AGENT_STORE")) != "true") return port;
  return port < 65535 ? static_cast<std::uint16_t>(port + 1) : static_cast<std::uint16_t>(port - 1);
}

}  // namespace

RankSelf look_at_self(std::uint32_t local_rank) {
  RankSelf self;
  self.local_rank = local_rank;
  self.host = own_host();
  self.pid = static_cast<std::uint64_t>(getpid());
  if (const auto cpus = launch::read_affinity()) self.cpus = to_list(*cpus);
  self.here = unix_now();
  const auto environment = host::read_environment();
  self.began = parse_double(host::find_variable(environment, kBeganVariable)).value_or(0);
  if (self.began <= 0) self.began = start_of_process();
  return self;
}

Result<RankProcess> rank_process(const std::vector<std::string>& environment) {
  RankProcess process;
  process.place.address = "127.0.0.1";
  if (!launch::has_local_rank(environment)) return process;  // alone
  const auto rank = launch::find_local_rank({}, environment);
  if (!rank) return std::unexpected(rank.error());
  process.local_rank = rank->rank;
  process.place.rank = rank->global_rank.value_or(rank->rank);
  process.place.ranks = rank->global_count.value_or(rank->count.value_or(1));
  if (process.place.ranks == 1) return process;
  auto more = launch::missing_rendezvous(*rank, environment);
  if (!more) return std::unexpected(std::move(more.error()));
  std::vector<std::string> all = environment;
  all.insert(all.end(), more->begin(), more->end());
  const std::string address = host::find_variable(all, "MASTER_ADDR");
  const auto port = parse_integer<std::uint16_t>(host::find_variable(all, "MASTER_PORT"));
  if (address.empty() || !port || *port == 0) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("rank {} of {} does not know where the ranks meet", process.place.rank,
                            process.place.ranks),
                "Set MASTER_ADDR and MASTER_PORT, or start it with angio run --with mpi");
  }
  process.place.address = address;
  process.place.port = port_of(*port, environment);
  return process;
}

Result<std::optional<model::CollectiveRun>> run_rank(const RankProcess& process, const Wish& wish) {
  RankSelf self = look_at_self(process.local_rank);
  MeetingPlace place = process.place;
  place.patience = std::chrono::seconds(wish.patience);
  auto meeting = meet_over_tcp(place);
  if (!meeting) return std::unexpected(std::move(meeting.error()));
  (*meeting)->working_on("making its communicator");
  if (process.lost) (*meeting)->when_lost(process.lost);
  const Clock::time_point begin = Clock::now();
  auto transport = process.make(**meeting, wish);
  self.init_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  // A rank without a transport tells the others, who may have one.
  auto all = agree(**meeting, transport ? Result<std::string>("") : std::unexpected(transport.error()));
  if (!all) return std::unexpected(std::move(all.error()));
  return run_worker({**transport, **meeting, wish, std::move(self), process.stop, process.progress});
}

}  // namespace angio::collective
