#include "mesh/agents.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>

#include "base/text.hpp"
#include "mesh/proof.hpp"

namespace angio::mesh {
namespace {

using Clock = std::chrono::steady_clock;

// Of a guest who has not shown the token yet; a host of 400 NICs tells them in less.
constexpr std::size_t kLongestGreeting = std::size_t{128} << 10U;

bool sounds_like_trouble(std::string_view words) {
  for (const std::string_view word :
       {"rror", "nable", "enied", "efused", "not found", "annot", "ailed", "No such", "imed out"}) {
    if (contains(words, word)) return true;
  }
  return false;
}

// What a launcher or an agent said about a host; else its last line of trouble; else its last one.
std::string last_words(const std::string& text, const std::string& host) {
  std::string last;
  std::string trouble;
  std::string about_host;
  for (const std::string_view line : split_lines(text)) {
    const std::string_view words = trim(line);
    if (words.empty() || words.find_first_not_of("-*= ") == std::string_view::npos) continue;
    last = printable(words.substr(0, 200));
    if (sounds_like_trouble(words)) trouble = last;
    if (contains(words, host) && sounds_like_trouble(words)) about_host = last;
  }
  if (!about_host.empty()) return about_host;
  return trouble.empty() ? last : trouble;
}

}  // namespace

Result<Agents> Agents::start(LaunchRequest request, const std::string& control,
                             const std::vector<std::string>& environment, std::string version) {
  Agents agents;
  agents.version_ = std::move(version);
  auto listener = listen_on(control);
  if (!listener) return std::unexpected(std::move(listener.error()));
  agents.listener_ = std::move(*listener);
  agents.token_ = random_word();
  if (agents.token_.empty()) return fail(ErrorCode::kIo, "the kernel gives no random numbers (getrandom)");
  agents.hosts_ = request.hosts;
  agents.states_.resize(request.hosts.size());
  agents.taken_.resize(request.hosts.size());
  request.controllers = {join_address(control, agents.listener_.port)};
  std::vector<std::string> with_token;
  const std::string prefix = std::string(kTokenVariable) + "=";
  for (const std::string& variable : environment) {
    if (!variable.starts_with(prefix)) with_token.push_back(variable);
  }
  const std::vector<std::string> without = with_token;
  with_token.push_back(prefix + agents.token_);
  for (const LaunchCommand& command : launch_commands(request)) {
    auto child = command.token_by_input ? Child::start(command.argv, without, agents.token_ + "\n")
                                        : Child::start(command.argv, with_token);
    if (!child) return std::unexpected(std::move(child.error()));
    agents.launchers_.push_back({std::move(*child), command.host});
  }
  return agents;
}

void Agents::accept_guests() {
  constexpr std::size_t kMostGuests = 4096;
  while (listener_.socket.get() >= 0) {
    host::Descriptor socket(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) return;
    if (guests_.size() >= kMostGuests) continue;
    keep_alive(socket.get());
    Guest guest{LineChannel(std::move(socket), kLongestGreeting), random_word(),
                Clock::now() + std::chrono::seconds(20)};
    guest.channel.send(to_line(Challenge{guest.random}));
    guests_.push_back(std::move(guest));
  }
}

void Agents::hear_guest(Guest& guest) {
  const std::string who = peer_address_of(guest.channel.get());
  const std::vector<std::string> lines = guest.channel.read_lines();
  if (lines.empty()) return;
  auto message = parse_message(lines.front());
  Hello* hello = message ? std::get_if<Hello>(&*message) : nullptr;
  if (hello == nullptr || lines.size() > 1 ||
      !is_same(hello->proof, proof(token_, "agent", guest.random, hello->random))) {
    refuse(guest, who + " does not hold the token of this mesh");
    return;
  }
  let_in(guest, std::move(*hello));
}

void Agents::refuse(Guest& guest, std::string words) {
  guest.channel.close();
  constexpr std::size_t kKept = 16;
  if (strangers_.size() < kKept && std::ranges::find(strangers_, words) == strangers_.end())
    strangers_.push_back(std::move(words));
}

void Agents::let_in(Guest& guest, Hello hello) {
  const auto host = find_host(hosts_, taken_, {hello.name, hello.host_name, hello.rank});
  if (!host) {
    refuse(guest, fmt::format("an agent on {} is no host of the list, or a second one there",
                              printable(hello.name.empty() ? hello.host_name : hello.name)));
    return;
  }
  taken_[*host] = true;
  AgentState& state = states_[*host];
  if (hello.version != version_) {
    state.trouble = fmt::format("its agent is {}, this is {}: --angio names the one to start",
                                printable(hello.version.substr(0, 60)), version_);
    guest.channel.close();
    return;
  }
  state.here = true;
  guest.channel.send(to_line(Welcome{proof(token_, "controller", hello.random, guest.random)}));
  state.address = peer_address_of(guest.channel.get());
  state.channel = std::move(guest.channel);
  state.channel.allow(kLongestLine);
  state.hello = std::move(hello);
}

void Agents::close_door() {
  listener_.socket = host::Descriptor();
  guests_.clear();
}

std::vector<Heard> Agents::listen(std::vector<std::uint32_t>& left) {
  std::vector<pollfd> list;
  if (listener_.socket.get() >= 0) list.push_back({listener_.socket.get(), POLLIN, 0});
  const auto add = [&list](const LineChannel& channel) {
    const bool writes = channel.has_more_to_send();
    if (channel.is_open())
      list.push_back({channel.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  };
  for (const Guest& guest : guests_)
    add(guest.channel);
  for (const AgentState& state : states_)
    add(state.channel);
  for (const Started& launcher : launchers_) {
    if (launcher.child.output() >= 0) list.push_back({launcher.child.output(), POLLIN, 0});
  }
  constexpr int kStep = 100;  // ms
  (void)poll(list.data(), list.size(), kStep);
  for (Started& launcher : launchers_)
    launcher.child.read_output();
  accept_guests();
  for (Guest& guest : guests_)
    hear_guest(guest);
  std::erase_if(guests_,
                [](const Guest& guest) { return !guest.channel.is_open() || Clock::now() > guest.until; });
  std::vector<Heard> heard;
  for (std::uint32_t host = 0; host < states_.size(); ++host) {
    AgentState& state = states_[host];
    if (!state.channel.is_open()) continue;
    state.channel.flush();
    for (const std::string& line : state.channel.read_lines()) {
      auto message = parse_message(line);
      if (!message) continue;
      state.silent = false;
      heard.push_back({host, std::move(*message)});
    }
    if (state.channel.is_open()) continue;
    state.here = false;
    state.trouble = "it vanished: " + state.channel.trouble();
    left.push_back(host);
  }
  return heard;
}

void Agents::tell(std::uint32_t host, const Message& message) {
  states_[host].channel.send(to_line(message));
}

void Agents::set_silent(std::uint32_t host, std::string trouble) {
  states_[host].silent = true;
  states_[host].trouble = std::move(trouble);
}

void Agents::end() {
  for (AgentState& state : states_) {
    if (state.channel.is_open()) state.channel.send(to_line(Farewell{}));
  }
  constexpr auto kWait = std::chrono::seconds(5);
  auto until = Clock::now() + kWait;
  bool told = false;
  while (!launchers_ended()) {
    std::vector<std::uint32_t> left;
    (void)listen(left);
    if (Clock::now() < until) continue;
    if (told) break;
    told = true;
    until = Clock::now() + kWait;
    for (const Started& launcher : launchers_)
      launcher.child.signal(SIGTERM);
  }
}

std::uint32_t Agents::here() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(states_, [](const AgentState& state) { return state.here; }));
}

bool Agents::all_came() const {
  return std::ranges::all_of(taken_, [](bool taken) { return taken; });
}

bool Agents::may_come() {
  for (Started& launcher : launchers_) {
    if (launcher.child.look().ended) continue;
    if (launcher.host ? !taken_[*launcher.host] : !all_came()) return true;
  }
  return false;
}

bool Agents::launchers_ended() {
  bool all = true;
  for (Started& launcher : launchers_)
    all = launcher.child.look().ended && all;
  return all;
}

std::string Agents::why_absent(std::uint32_t host) const {
  for (const Started& launcher : launchers_) {
    if (launcher.host && *launcher.host != host) continue;
    const std::string words = last_words(launcher.child.text(), hosts_[host]);
    if (!words.empty()) return "it did not come: " + words;
  }
  return "it did not come";
}

}  // namespace angio::mesh
