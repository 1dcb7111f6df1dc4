#include "launch/rendezvous.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "host/system_roots.hpp"
#include "launch/remote.hpp"

namespace angio::launch {
namespace {

bool is_ipv6(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), address.data()) == 1;
}

// RFC 1123 names, IPv4 addresses, and the underscore that some sites use.
bool is_host(std::string_view text) {
  return !text.empty() && text.size() < 256 && text.front() != '-' &&
         std::ranges::all_of(
             text,
             [](unsigned char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '-' || c == '_';
             });
}

std::unexpected<Error> bad_master(std::string_view text, std::string_view why) {
  return fail(
      ErrorCode::kInvalidInput, fmt::format("master address \"{}\": {}", printable(text), why),
      "Write ADDRESS:PORT, an IPv6 address in brackets: node-1:29500, 10.0.0.1:29500, [2001:db8::1]:29500");
}

// A port below those that kernels give to outgoing connections by default (32768 and up), the same for every
// rank of a job and, mostly, different for jobs that share a node.
std::uint16_t port_from(std::uint64_t number) {
  constexpr std::uint64_t kFirst = 20000;
  constexpr std::uint64_t kCount = 12000;
  return static_cast<std::uint16_t>(kFirst + number % kCount);
}

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char c : text)
    hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

std::uint16_t slurm_port(std::span<const std::string> environment) {
  constexpr std::uint64_t kSteps = 16;  // of one job at a time
  const auto job = parse_integer<std::uint64_t>(host::find_variable(environment, "SLURM_JOB_ID")).value_or(0);
  const auto step =
      parse_integer<std::uint64_t>(host::find_variable(environment, "SLURM_STEP_ID")).value_or(0);
  return port_from(job * kSteps + step % kSteps);
}

Result<std::optional<Rendezvous>> derive_slurm(std::span<const std::string> environment) {
  std::string list = host::find_variable(environment, "SLURM_STEP_NODELIST");
  if (list.empty()) list = host::find_variable(environment, "SLURM_JOB_NODELIST");
  if (list.empty()) return std::nullopt;
  const Result<std::vector<std::string>> hosts = expand_hostlist(list);
  if (!hosts) return std::unexpected(hosts.error());
  return Rendezvous{hosts->size() == 1 ? "127.0.0.1" : hosts->front(), slurm_port(environment)};
}

}  // namespace

std::vector<std::string> rendezvous_environment(const RankNumbers& numbers, const Rendezvous& master) {
  return {fmt::format("RANK={}", numbers.rank),
          fmt::format("LOCAL_RANK={}", numbers.local_rank),
          fmt::format("WORLD_SIZE={}", numbers.world_size),
          fmt::format("LOCAL_WORLD_SIZE={}", numbers.local_world_size),
          fmt::format("NODE_RANK={}", numbers.node_rank),
          fmt::format("GROUP_RANK={}", numbers.node_rank),
          "MASTER_ADDR=" + master.address,
          fmt::format("MASTER_PORT={}", master.port)};
}

Result<Rendezvous> parse_master(std::string_view text) {
  std::string_view host = text;
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_master(text, "the bracket is not closed");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':')
      return bad_master(text, "a colon and the port are expected after the bracket");
    if (!rest.empty()) port = rest.substr(1);
    if (!is_ipv6(std::string(host))) return bad_master(text, "no IPv6 address stands in the brackets");
  } else if (!is_ipv6(std::string(text))) {
    const std::size_t colon = text.find(':');
    host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
    if (port && port->find(':') != std::string_view::npos)
      return bad_master(text, "more than one colon, and no IPv6 address");
    if (!is_host(host))
      return bad_master(text, host.empty() ? "the address is missing" : "no host name or address");
  }
  Rendezvous result{std::string(host), 0};
  if (!port) return result;
  const auto number = parse_integer<std::uint16_t>(*port);
  if (!number || *number == 0)
    return bad_master(text, fmt::format("the port \"{}\" is no number from 1 to 65535", printable(*port)));
  result.port = *number;
  return result;
}

Result<std::optional<Rendezvous>> derive_rendezvous(std::span<const std::string> environment) {
  if (!host::find_variable(environment, "MASTER_ADDR").empty()) return std::nullopt;
  if (!host::find_variable(environment, "SLURM_PROCID").empty()) return derive_slurm(environment);
  const std::string all = host::find_variable(environment, "OMPI_COMM_WORLD_SIZE");
  const std::string job = host::find_variable(environment, "PMIX_NAMESPACE");
  if (all.empty() || job.empty() || all != host::find_variable(environment, "OMPI_COMM_WORLD_LOCAL_SIZE"))
    return std::nullopt;
  return Rendezvous{"127.0.0.1", port_from(hash_of(job))};
}

Result<std::vector<std::string>> missing_rendezvous(const LocalRank& rank,
                                                    std::span<const std::string> environment) {
  if (!rank.global_rank || !rank.global_count) return std::vector<std::string>{};
  const auto master = derive_rendezvous(environment);
  if (!master) return std::unexpected(master.error());
  RankNumbers numbers{*rank.global_rank, rank.rank, *rank.global_count, rank.count.value_or(0), 0};
  const auto node = parse_integer<std::uint32_t>(host::find_variable(environment, "SLURM_NODEID"));
  const bool several = rank.count.value_or(0) > 0;
  numbers.node_rank = node ? *node : several ? *rank.global_rank / *rank.count : 0;
  std::vector<std::string> missing;
  for (const std::string& entry : rendezvous_environment(numbers, master->value_or(Rendezvous{}))) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    const bool unknown = (name.starts_with("MASTER_") && !*master) ||
                         (name == "LOCAL_WORLD_SIZE" && !several) ||
                         (!node && !several && (name == "NODE_RANK" || name == "GROUP_RANK"));
    if (!unknown && host::find_variable(environment, name).empty()) missing.push_back(entry);
  }
  return missing;
}

}  // namespace angio::launch
