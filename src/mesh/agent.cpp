// Threads: each side of a test blocks on its own sockets and children while the agent hears its controller.
#include "mesh/agent.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/text.hpp"
#include "host/system_roots.hpp"
#include "mesh/messages.hpp"
#include "mesh/perftest_tool.hpp"
#include "mesh/proof.hpp"
#include "mesh/sockets.hpp"
#include "mesh/tcp_baseline.hpp"

namespace angio::mesh {
namespace {

using Clock = std::chrono::steady_clock;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

// Messages of the tests' threads to the one that talks.
class Post {
 public:
  Post() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  void put(const Message& message) {
    const std::scoped_lock lock(mutex_);
    lines_ += to_line(message);
    const std::uint64_t one = 1;
    (void)!write(event_.get(), &one, sizeof one);
  }
  std::string take() {
    const std::scoped_lock lock(mutex_);
    std::uint64_t count = 0;
    (void)!read(event_.get(), &count, sizeof count);
    return std::exchange(lines_, {});
  }
  [[nodiscard]] int get() const { return event_.get(); }

 private:
  host::Descriptor event_;
  std::mutex mutex_;
  std::string lines_;
};

struct Test {
  std::atomic<bool> stop = false;
  std::atomic<bool> over = false;
  std::jthread thread;  // last: joined before the flags go
};

class Agent {
 public:
  Agent(AgentRequest request, LineChannel channel)
      : request_(std::move(request)), channel_(std::move(channel)) {}

  Result<void> run() {
    if (auto met = meet(); !met) return met;
    while (channel_.is_open() && !is_over_) {
      if (waiting_.empty()) wait();
      channel_.send(post_.take());
      for (std::string& line : channel_.read_lines())
        waiting_.push_back(std::move(line));
      for (const std::string& line : std::exchange(waiting_, {}))
        take(line);
      std::erase_if(tests_, [](const auto& entry) { return entry.second->over.load(); });
    }
    for (const auto& [id, test] : tests_)
      test->stop = true;
    return {};
  }

 private:
  // Neither side goes on before the other has shown that it holds the token.
  Result<void> meet() {
    const auto challenge = await_message<Challenge>();
    if (!challenge) return std::unexpected(challenge.error());
    Hello hello;
    hello.random = random_word();
    if (hello.random.empty()) return fail(ErrorCode::kIo, "the kernel gives no random numbers (getrandom)");
    hello.proof = proof(request_.token, "agent", challenge->random, hello.random);
    hello.name = request_.name;
    if (hello.name.empty()) hello.name = host::find_variable(request_.environment, "SLURMD_NODENAME");
    hello.host_name = host_name();
    hello.rank = rank_among_all();
    hello.version = request_.version;
    hello.programs = find_programs(request_.environment);
    hello.host = request_.host;
    channel_.send(to_line(hello));
    const auto welcome = await_message<Welcome>();
    if (!welcome) return std::unexpected(welcome.error());
    if (is_same(welcome->proof, proof(request_.token, "controller", hello.random, challenge->random)))
      return {};
    return fail(ErrorCode::kDenied, "the controller does not hold the token of this mesh");
  }

  // Of the launchers that start the agents; which host has which rank only they know.
  [[nodiscard]] std::optional<std::uint32_t> rank_among_all() const {
    for (const char* name : {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
      const auto rank = parse_integer<std::uint32_t>(host::find_variable(request_.environment, name));
      if (rank) return rank;
    }
    return std::nullopt;
  }

  template <typename Wanted>
  Result<Wanted> await_message() {
    const auto until = Clock::now() + std::chrono::seconds(20);
    for (;;) {
      channel_.flush();
      for (std::string& line : channel_.read_lines())
        waiting_.push_back(std::move(line));
      // The first order may come in one piece with the welcome.
      if (!waiting_.empty()) {
        const std::string line = std::move(waiting_.front());
        waiting_.pop_front();
        auto message = parse_message(line);
        if (!message) return std::unexpected(message.error());
        if (auto* wanted = std::get_if<Wanted>(&*message)) return std::move(*wanted);
        return fail(ErrorCode::kInvalidInput, "the controller speaks out of turn");
      }
      if (!channel_.is_open() || Clock::now() > until)
        return fail(ErrorCode::kIo, "the controller does not answer: " + channel_.trouble());
      (void)wait_step(channel_.get(), false, until);
    }
  }

  void wait() {
    const bool writes = channel_.has_more_to_send();
    std::array<pollfd, 2> list{{{channel_.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0},
                                {post_.get(), POLLIN, 0}}};
    constexpr int kStep = 1000;  // ms
    (void)poll(list.data(), list.size(), kStep);
    channel_.flush();
  }

  void take(const std::string& line) {
    const auto message = parse_message(line);
    if (!message) {
      is_over_ = true;
      return;
    }
    if (const auto* order = std::get_if<Order>(&*message)) begin(*order);
    if (const auto* cancel = std::get_if<Cancel>(&*message)) {
      const auto found = tests_.find(cancel->test);
      if (found != tests_.end()) found->second->stop = true;
    }
    is_over_ = is_over_ || std::holds_alternative<Farewell>(*message);
  }

  void begin(const Order& order) {
    constexpr std::size_t kMostTests = 256;
    if (tests_.size() >= kMostTests || tests_.contains(order.test)) {
      Outcome refused;
      refused.test = order.test;
      refused.trouble = "the agent is busy with other tests";
      post_.put(refused);
      return;
    }
    auto test = std::make_unique<Test>();
    Test* const own = test.get();
    own->thread = std::jthread([this, own, order] {
      post_.put(carry_out(order, [this, own] { return own->stop.load() || is_over_.load(); }));
      own->over = true;
    });
    tests_.emplace(order.test, std::move(test));
  }

  Outcome carry_out(const Order& order, const std::function<bool()>& stop) {
    const auto ready = [&](std::uint16_t port) { post_.put(Ready{order.test, port}); };
    if (!program_of(order.tool).empty()) return run_perftest(order, request_.environment, ready, stop);
    if (!order.listens) return run_tcp_sender(order, stop);
    const auto listener = listen_on(order.own_address);
    if (!listener) {
      Outcome outcome;
      outcome.test = order.test;
      outcome.trouble = listener.error().message;
      return outcome;
    }
    ready(listener->port);
    return run_tcp_listener(order, *listener, stop);
  }

  AgentRequest request_;
  LineChannel channel_;
  std::deque<std::string> waiting_;  // lines that came and were not read yet
  Post post_;
  std::atomic<bool> is_over_ = false;
  std::map<std::uint64_t, std::unique_ptr<Test>> tests_;
};

}  // namespace

Result<void> run_agent(AgentRequest request) {
  constexpr auto kPatience = std::chrono::seconds(10);
  const auto until = Clock::now() + kPatience;
  Error last{ErrorCode::kInvalidInput, "no controller to connect to", {}};
  do {
    for (const auto& [address, port] : request.controllers) {
      auto socket = connect_to(address, port, {}, std::min(until, Clock::now() + std::chrono::seconds(3)));
      if (!socket) {
        last = socket.error();
        continue;
      }
      keep_alive(socket->get());
      const std::string own = own_address_of(socket->get());
      // Where no interface is known the one that leads to the controller is tested.
      if (request.host.tcp.empty()) {
        model::MeshNic nic;
        nic.address = own;
        request.host.tcp.push_back(std::move(nic));
      }
      return Agent(std::move(request), LineChannel(std::move(*socket), kLongestLine)).run();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  } while (Clock::now() < until);
  return std::unexpected(std::move(last).with_context("angio mesh-node: controller"));
}

}  // namespace angio::mesh
