#include "mesh/perftest_tool.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/text.hpp"
#include "host/root.hpp"
#include "host/system_roots.hpp"
#include "mesh/child.hpp"
#include "mesh/sockets.hpp"

namespace angio::mesh {
namespace {

using Clock = std::chrono::steady_clock;

// perftest takes no port 0. The kernel's choice is free now and nearly always a moment later.
std::uint16_t free_port(const std::string& address) {
  const auto listener = listen_on(address);
  return listener ? listener->port : std::uint16_t{0};
}

// perftest says that it waits only when its output is a terminal's, so the kernel is asked.
bool is_listening(const host::Root& root, std::uint16_t port) {
  const std::string wanted = fmt::format(":{:04X}", port);
  constexpr std::string_view kListen = "0A";
  for (const char* file : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    const auto text = root.read(file);
    if (!text) continue;
    for (const std::string_view line : split_lines(*text)) {
      const auto words = split_words(line);
      if (words.size() > 3 && words[1].ends_with(wanted) && words[3] == kListen) return true;
    }
  }
  return false;
}

// What it said when it failed: its lines without rulers and banners, the last ones.
std::string words_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    const std::string_view trimmed = trim(line);
    if (trimmed.empty() || trimmed.find_first_not_of("-*= ") == std::string_view::npos) continue;
    if (contains(trimmed, "Waiting for client") || contains(trimmed, " : ")) continue;
    lines.push_back(printable(trimmed.substr(0, 200)));
  }
  constexpr std::size_t kKept = 3;
  if (lines.size() > kKept) lines.erase(lines.begin(), lines.end() - kKept);
  return join(lines, "; ");
}

std::string trouble_of(const Order& order, const ChildEnd& end, const std::string& text, bool late) {
  const std::string program(program_of(order.tool));
  std::string said = words_of(text);
  if (!said.empty()) said = ": " + said;
  if (late) return fmt::format("{} did not end within {} s{}", program, order.limit, said);
  if (end.signal != 0) return fmt::format("{} was ended by signal {}{}", program, end.signal, said);
  if (end.exit_code != 0) return fmt::format("{} failed ({}){}", program, end.exit_code, said);
  return {};
}

}  // namespace

std::vector<std::string> perftest_words(const Order& order, std::uint16_t tcp_port) {
  std::vector<std::string> words{std::string(program_of(order.tool)),
                                 "-d",
                                 order.device,
                                 "-i",
                                 std::to_string(order.device_port),
                                 "-p",
                                 std::to_string(tcp_port),
                                 "-F",
                                 "-s",
                                 std::to_string(order.size)};
  const auto add = [&words](std::initializer_list<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (order.tool == Tool::kWriteBandwidth) {
    add({"--report_gbits", "-D", std::to_string(order.seconds)});
    if (order.queue_pairs > 1) add({"-q", std::to_string(order.queue_pairs)});
  } else {
    constexpr int kTrips = 1000;  // perftest's own default; with -D it would give the average alone
    add({"-n", std::to_string(kTrips)});
  }
  if (order.gid_index) add({"-x", std::to_string(*order.gid_index)});
  if (order.cuda) add({"--use_cuda=" + std::to_string(*order.cuda)});
  if (!order.listens) add({order.address});
  return words;
}

Outcome run_perftest(const Order& order, const std::vector<std::string>& environment,
                     const std::function<void(std::uint16_t)>& ready, const std::function<bool()>& stop) {
  Outcome outcome;
  outcome.test = order.test;
  const std::uint16_t port = order.listens ? free_port(order.own_address) : order.tcp_port;
  const auto start = Clock::now();
  auto child = Child::start(perftest_words(order, port), environment);
  if (!child) {
    outcome.trouble = child.error().message;
    return outcome;
  }
  const auto root = host::open_directory_root("/");
  bool told = !order.listens;
  const auto until = start + std::chrono::seconds(order.limit);
  while (!child->look().ended && Clock::now() < until && !stop()) {
    pollfd wanted{child->output(), POLLIN, 0};
    constexpr int kStep = 20;  // ms
    if (wanted.fd < 0 || poll(&wanted, 1, kStep) == 0) {
      if (wanted.fd < 0) (void)poll(nullptr, 0, kStep);
    }
    child->read_output();
    if (!told && root && is_listening(**root, port)) {
      told = true;
      ready(port);
    }
  }
  const ChildEnd end = child->look();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.text = child->text();
  if (!end.ended && stop()) {
    outcome.trouble = "cancelled";
    return outcome;
  }
  outcome.trouble = trouble_of(order, end, outcome.text, !end.ended);
  if (end.ended && seconds > 0) outcome.cpu = end.cpu_seconds / seconds;
  return outcome;
}

std::vector<std::string> find_programs(const std::vector<std::string>& environment) {
  std::vector<std::string> found;
  for (const Tool tool : {Tool::kWriteBandwidth, Tool::kWriteLatency}) {
    const std::string program(program_of(tool));
    const std::string path = host::find_variable(environment, "PATH");
    for (const std::string_view folder : split(path, ':')) {
      if (access((std::string(folder) + "/" + program).c_str(), X_OK) != 0) continue;
      found.push_back(program);
      break;
    }
  }
  return found;
}

}  // namespace angio::mesh
