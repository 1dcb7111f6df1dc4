#include "mesh/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "host/clock.hpp"
#include "mesh/agents.hpp"
#include "mesh/estimate.hpp"
#include "mesh/ledger.hpp"
#include "mesh/proof.hpp"
#include "mesh/schedule.hpp"

namespace angio::mesh {
namespace {

using Clock = std::chrono::steady_clock;
using model::MeshHost;
using model::MeshResult;

// A test that runs: what its two sides have said.
struct Running {
  std::uint64_t test = 0;
  std::string ticket;
  Step step;
  SteadyTime until;
  bool ready = false;
  std::optional<Outcome> sender, receiver;
};

struct Job {
  HostPair pair;
  std::vector<Step> steps;
  std::size_t next = 0;
  std::optional<Running> running;
  [[nodiscard]] bool is_over() const { return !running && next >= steps.size(); }
};

// What failed only because its host went: not the pair's fault when the whole job ends.
struct Loss {
  std::size_t measure;
  SteadyTime when;
};

class Mesh {
 public:
  Mesh(const MeshRequest& request, const MeshEvents& events)
      : request_(request), events_(events), result_(request.earlier) {}

  Result<MeshResult> run() {
    const auto start = Clock::now();
    begin_result();
    LaunchRequest launch = request_.launch;
    launch.hosts = request_.hosts;
    auto agents = Agents::start(std::move(launch), request_.control, request_.environment, request_.tool);
    if (!agents) return std::unexpected(std::move(agents.error()));
    agents_.emplace(std::move(*agents));
    await_agents();
    agents_->close_door();
    if (auto enough = take_hosts(); !enough) {
      agents_->end();
      return std::unexpected(std::move(enough.error()));
    }
    ledger_.emplace(result_, request_.retry_failed);
    auto played = play();
    agents_->end();
    for (const std::string& stranger : agents_->strangers())
      result_.notes.push_back(stranger);
    result_.seconds += std::chrono::duration<double>(Clock::now() - start).count();
    if (!played) return std::unexpected(std::move(played.error()));
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool stopped() const { return events_.stop && events_.stop(); }

  // The hosts of the earlier result keep their places; new ones stand behind them.
  void begin_result() {
    if (result_.hosts.empty()) result_.plan = request_.plan;
    // What an earlier run said of its own hosts and end is over.
    std::erase_if(result_.notes, [](const std::string& note) { return !contains(note, "were damaged"); });
    for (const std::string& name : request_.hosts) {
      const auto found = std::ranges::find(result_.hosts, name, &MeshHost::name);
      if (found == result_.hosts.end()) result_.hosts.emplace_back().name = name;
    }
    std::vector<std::string> names;
    for (const MeshHost& host : result_.hosts)
      names.push_back(host.name);
    result_.name = fold_hosts(names);
    result_.tool = request_.tool;
    result_.captured = host::utc_text(host::make_system_clock()->now());
    result_.launcher = name_of(request_.launch.launcher);
    for (std::uint32_t agent = 0; agent < request_.hosts.size(); ++agent) {
      const auto found = std::ranges::find(result_.hosts, request_.hosts[agent], &MeshHost::name);
      const auto place = static_cast<std::uint32_t>(found - result_.hosts.begin());
      agent_of_[place] = agent;
      place_of_.push_back(place);
    }
  }

  void await_agents() {
    const auto until = Clock::now() + std::chrono::seconds(request_.start_seconds);
    std::optional<SteadyTime> ended;
    while (!agents_->all_came() && Clock::now() < until && !stopped()) {
      std::vector<std::uint32_t> left;
      (void)agents_->listen(left);
      if (!agents_->may_come() && !ended) ended = Clock::now();
      if (ended && Clock::now() > *ended + std::chrono::seconds(1)) return;
    }
  }

  Result<void> take_hosts() {
    for (std::uint32_t place = 0; place < result_.hosts.size(); ++place)
      take_host(place);
    if (agents_->here() >= 2) {
      choose_transports();
      return check_nics();
    }
    if (stopped()) return fail(ErrorCode::kIo, "stopped before two hosts had answered");
    std::string words;
    for (const MeshHost& host : result_.hosts) {
      if (!host.trouble.empty() && words.size() < 300)
        words += fmt::format("; {}: {}", host.name, host.trouble);
    }
    return fail(
        ErrorCode::kIo,
        fmt::format("{} of {} answered, a mesh needs two{}", agents_->here(),
                    count_of(request_.hosts.size(), "host"), words),
        "See that angio is at the same path on every host (or give --angio) and that the hosts reach " +
            request_.control + " (or give --control)");
  }

  void take_host(std::uint32_t place) {
    MeshHost& host = result_.hosts[place];
    const auto agent = agent_of_.find(place);
    if (agent == agent_of_.end()) {
      host.tested = false;
      host.trouble = "it is not among the hosts of this run";
      return;
    }
    const AgentState& state = agents_->at(agent->second);
    host.tested = state.here;
    host.trouble = state.here              ? ""
                   : state.trouble.empty() ? agents_->why_absent(agent->second)
                                           : state.trouble;
    if (!state.here) return;
    const std::string name = host.name;
    host = state.hello.host;
    host.name = name;
    host.host_name = state.hello.host_name;
    host.tested = true;
    host.facts = "its own probe";
    NicWish wish = request_.nics;
    wish.used_address = state.address;
    select_nics(wish, host, result_.notes);
    for (const MeshHost& known : request_.known) {
      if (known.name == host.name || known.name == host.host_name) take_facts(known, host);
    }
  }

  [[nodiscard]] std::uint32_t rdma_hosts() const {
    std::uint32_t count = 0;
    for (const auto& [place, agent] : agent_of_) {
      const auto& state = agents_->at(agent);
      if (state.here && !result_.hosts[place].rdma.empty() && !state.hello.programs.empty()) ++count;
    }
    return count;
  }

  void choose_transports() {
    if (!request_.choose_transports || !request_.earlier.hosts.empty()) return;
    result_.plan.tcp = true;
    result_.plan.rdma = rdma_hosts() >= 2;
    if (result_.plan.rdma) return;
    const bool ports =
        std::ranges::any_of(result_.hosts, [](const MeshHost& host) { return !host.rdma.empty(); });
    result_.notes.emplace_back(
        ports ? "RDMA was not tested: perftest (ib_write_bw) is not installed on two hosts"
              : "RDMA was not tested: fewer than two hosts have an active RDMA port");
  }

  Result<void> check_nics() {
    const auto on_two = [this](std::vector<model::MeshNic> MeshHost::* nics) {
      return std::ranges::count_if(result_.hosts,
                                   [&](const MeshHost& host) { return !(host.*nics).empty(); }) >= 2;
    };
    if (result_.plan.tcp ? on_two(&MeshHost::tcp) : on_two(&MeshHost::rdma)) return {};
    if (result_.plan.rdma && on_two(&MeshHost::rdma)) return {};
    if (result_.plan.tcp)
      return fail(ErrorCode::kNotFound, "fewer than two hosts have an interface that was asked for",
                  "--interface with a name, a network (10.1.0.0/16) or the beginning of an address (10.1.)");
    return fail(ErrorCode::kNotFound, "fewer than two hosts have an active RDMA port that was asked for",
                "angio doctor says why a port is not active; --transport tcp tests without RDMA");
  }

  std::vector<Round> make_rounds() {
    const auto count = static_cast<std::uint32_t>(result_.hosts.size());
    const std::uint32_t partners = result_.plan.partners;
    std::vector<Round> rounds = partners == 0 ? full_mesh(count) : sampled_mesh(count, partners);
    if (result_.plan.rounds > 0 && rounds.size() > result_.plan.rounds) rounds.resize(result_.plan.rounds);
    result_.rounds_planned = static_cast<std::uint32_t>(rounds.size());
    std::vector<HostPair> wanted;
    bool all = true;
    for (const Round& round : rounds) {
      for (const HostPair& pair : round) {
        const bool playable = agent_of_.contains(pair.first) && agent_of_.contains(pair.second);
        if (playable && ledger_->needs(pair)) {
          wanted.push_back(pair);
        } else {
          all = false;
        }
      }
    }
    if (!all) rounds = rounds_of(count, wanted);
    return at_most(std::move(rounds), request_.pairs_at_once);
  }

  Result<void> play() {
    const std::vector<Round> rounds = make_rounds();
    if (!announce(rounds)) return {};
    std::uint32_t number = 0;
    const std::uint32_t before = result_.rounds_done;
    for (const Round& round : rounds) {
      ++number;
      play_round(round, before + number);
      settle();
      if (stopped() || has_collapsed()) {
        take_back_losses();
        tell_troubles();
        if (!stopped()) result_.notes.emplace_back("the launcher ended before the mesh was done");
        break;
      }
      result_.rounds_done = before + number;
      tell_troubles();
      if (events_.progress)
        events_.progress(fmt::format("round {} of {}{}", number, rounds.size(), failures()));
      if (!events_.round_done) continue;
      if (auto kept = events_.round_done(result_); !kept) return kept;
    }
    // A resumed run plays other rounds than the first one planned.
    result_.rounds_planned =
        std::max(result_.rounds_planned, before + static_cast<std::uint32_t>(rounds.size()));
    return {};
  }

  [[nodiscard]] std::string failures() const {
    const std::uint32_t failed = ledger_->failed();
    return failed == 0 ? std::string() : fmt::format(", {} failed", failed);
  }

  bool announce(const std::vector<Round>& rounds) {
    std::vector<std::string> lines;
    lines.push_back(
        fmt::format("{} of {} answered", agents_->here(), count_of(request_.hosts.size(), "host")));
    for (const MeshHost& host : result_.hosts) {
      if (!host.tested && lines.size() < 10) lines.push_back(host.name + ": " + host.trouble);
    }
    lines.push_back(size_line(result_, rounds, request_.pairs_at_once));
    return !events_.plan || events_.plan(lines);
  }

  void play_round(const Round& round, std::uint32_t number) {
    jobs_.clear();
    for (const HostPair& pair : round)
      jobs_.push_back({pair, ledger_->open(pair, number), 0, {}});
    while (std::ranges::any_of(jobs_, [](const Job& job) { return !job.is_over(); })) {
      for (Job& job : jobs_)
        advance(job);
      if (stopped()) {
        interrupt();
        return;
      }
      if (std::ranges::all_of(jobs_, &Job::is_over)) return;
      std::vector<std::uint32_t> left;
      for (Heard& heard : agents_->listen(left))
        take(heard);
    }
  }

  void interrupt() {
    for (Job& job : jobs_) {
      if (job.running) {
        for (const std::uint32_t host : {job.running->step.from, job.running->step.to})
          tell(host, Cancel{job.running->test});
      }
      if (!job.is_over()) ledger_->reset(job.pair);
      job.running.reset();
    }
  }

  void tell(std::uint32_t place, const Message& message) { agents_->tell(agent_of_.at(place), message); }
  [[nodiscard]] bool can_play(std::uint32_t place) const {
    const auto agent = agent_of_.find(place);
    return agent != agent_of_.end() && agents_->can_play(agent->second);
  }
  // Why a host cannot play, in words.
  [[nodiscard]] std::string trouble_of(std::uint32_t place) const {
    const auto agent = agent_of_.find(place);
    const std::string now = agent == agent_of_.end() ? std::string() : agents_->at(agent->second).trouble;
    const std::string& trouble = now.empty() ? result_.hosts[place].trouble : now;
    return result_.hosts[place].name + ": " + trouble;
  }

  void advance(Job& job) {
    while (!job.running && job.next < job.steps.size()) {
      const Step& step = job.steps[job.next++];
      if (lose(step)) continue;
      start(job, step);
    }
    if (!job.running) return;
    Running& running = *job.running;
    if (running.sender && running.receiver) {
      ledger_->record(running.step, *running.sender, *running.receiver);
      job.running.reset();
      return;
    }
    if (lose(running.step)) {
      for (const std::uint32_t place : {running.step.from, running.step.to}) {
        if (can_play(place)) tell(place, Cancel{running.test});
      }
      job.running.reset();
    } else if (Clock::now() > running.until) {
      give_up(job);
    } else if (running.receiver && !running.receiver->trouble.empty() && !running.ready) {
      // It could not even listen.
      ledger_->record(running.step, {}, *running.receiver);
      job.running.reset();
    }
  }

  // A side that is not here: the test has failed by that.
  bool lose(const Step& step) {
    for (const std::uint32_t place : {step.from, step.to}) {
      if (can_play(place)) continue;
      for (const std::size_t measure : ledger_->record_failure(step, trouble_of(place)))
        losses_.push_back({measure, Clock::now()});
      return true;
    }
    return false;
  }

  void give_up(Job& job) {
    const Running running = *job.running;
    job.running.reset();
    std::string words = fmt::format("no result within {} s", limit() + request_.patience);
    const bool receiver_silent = !running.receiver && (!running.ready || running.sender);
    const bool sender_silent = !running.sender && running.ready;
    for (const auto& [place, silent] :
         {std::pair{running.step.to, receiver_silent}, std::pair{running.step.from, sender_silent}}) {
      if (!silent) continue;
      const std::string trouble =
          fmt::format("it did not answer for {} s in a test with {}", limit() + request_.patience,
                      result_.hosts[place == running.step.to ? running.step.from : running.step.to].name);
      agents_->set_silent(agent_of_.at(place), trouble);
      words = result_.hosts[place].name + ": " + trouble;
    }
    for (const auto* outcome : {&running.sender, &running.receiver}) {
      if (*outcome && !(*outcome)->trouble.empty() && words.starts_with("no result"))
        words = (*outcome)->trouble;
    }
    (void)ledger_->record_failure(running.step, words);
    for (const std::uint32_t place : {running.step.from, running.step.to})
      tell(place, Cancel{running.test});
  }

  [[nodiscard]] std::uint32_t limit() const { return result_.plan.seconds + request_.patience; }

  [[nodiscard]] Order order_of(const Running& running, bool listens) const {
    const Step& step = running.step;
    const model::MeshPlan& plan = result_.plan;
    const bool rdma = step.transport == model::MeshTransport::kRdma;
    const std::uint32_t place = listens ? step.to : step.from;
    const MeshHost& own = result_.hosts[place];
    Order order;
    order.test = running.test;
    order.tool = step.tool;
    order.listens = listens;
    order.seconds = plan.seconds;
    order.limit = limit();
    order.ticket = running.ticket;
    order.queue_pairs = plan.queue_pairs;
    // perftest's sides find each other over the interface of the control connection.
    order.own_address = agents_->at(agent_of_.at(place)).address;
    if (rdma) {
      const auto& nic = own.rdma[listens ? step.to_nic : step.from_nic];
      order.device = nic.name;
      order.device_port = nic.port;
      order.gid_index = plan.gid_index;
      order.cuda = plan.cuda;
      order.size = is_latency(step.tool) ? plan.latency_size.value : plan.rdma_size.value;
    } else {
      order.own_address = own.tcp[listens ? step.to_nic : step.from_nic].address;
      order.streams = is_latency(step.tool) ? 1 : plan.streams;
      order.size = is_latency(step.tool) ? plan.latency_size.value : plan.tcp_size.value;
    }
    return order;
  }

  void start(Job& job, const Step& step) {
    Running running;
    running.test = ++last_test_;
    running.step = step;
    running.until = Clock::now() + std::chrono::seconds(limit() + request_.patience);
    running.ticket = random_word();
    tell(step.to, order_of(running, true));
    job.running = std::move(running);
  }

  void take(const Heard& heard) {
    const auto* ready = std::get_if<Ready>(&heard.message);
    const auto* outcome = std::get_if<Outcome>(&heard.message);
    const std::uint64_t test = ready != nullptr ? ready->test : outcome != nullptr ? outcome->test : 0;
    const std::uint32_t place = place_of_[heard.host];
    for (Job& job : jobs_) {
      if (!job.running || job.running->test != test) continue;
      Running& running = *job.running;
      if (ready != nullptr && place == running.step.to && !running.ready) {
        running.ready = true;
        Order order = order_of(running, false);
        const Order other = order_of(running, true);
        order.address = other.own_address;
        order.tcp_port = ready->tcp_port;
        tell(running.step.from, order);
      }
      if (outcome != nullptr && place == running.step.to) running.receiver = *outcome;
      if (outcome != nullptr && place == running.step.from) running.sender = *outcome;
      return;
    }
  }

  // Hosts of one job go within moments of each other: whether all go is to be seen before it is told.
  void settle() {
    constexpr auto kMoment = std::chrono::milliseconds(1500);
    while (!losses_.empty() && Clock::now() - losses_.back().when < kMoment && !stopped()) {
      std::vector<std::uint32_t> left;
      (void)agents_->listen(left);
    }
  }

  // Nobody is left to play with: the job around us has ended.
  [[nodiscard]] bool has_collapsed() {
    std::uint32_t playing = 0;
    for (const auto& [place, agent] : agent_of_)
      playing += agents_->at(agent).here ? 1 : 0;
    return playing < 2;
  }

  void take_back_losses() {
    constexpr auto kTogether = std::chrono::seconds(15);
    for (const Loss& loss : losses_) {
      if (Clock::now() - loss.when < kTogether) ledger_->reset(loss.measure);
    }
  }

  void tell_troubles() {
    for (const auto& [place, agent] : agent_of_) {
      const AgentState& state = agents_->at(agent);
      if (!state.trouble.empty() && (!state.here || state.silent))
        result_.hosts[place].trouble = state.trouble;
    }
  }

  const MeshRequest& request_;
  const MeshEvents& events_;
  MeshResult result_;
  std::optional<Agents> agents_;
  std::optional<Ledger> ledger_;
  std::map<std::uint32_t, std::uint32_t> agent_of_;  // place in the result → agent
  std::vector<std::uint32_t> place_of_;
  std::vector<Job> jobs_;
  std::vector<Loss> losses_;
  std::uint64_t last_test_ = 0;
};

}  // namespace

Result<MeshResult> run_mesh(const MeshRequest& request, const MeshEvents& events) {
  return Mesh(request, events).run();
}

}  // namespace angio::mesh
