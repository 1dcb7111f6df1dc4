#include "mesh/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace angio::mesh {
namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Words agent_words(const LaunchRequest& request) {
  return {request.angio, "mesh-node", join(request.controllers, ",")};
}

Words srun(const LaunchRequest& request) {
  const std::size_t count = request.hosts.size();
  Words words{"srun", fmt::format("--nodes={}", count), fmt::format("--ntasks={}", count),
              "--ntasks-per-node=1", "--nodelist=" + fold_hosts(request.hosts), "--cpu-bind=none",
              // One host that ends takes no other along.
              "--kill-on-bad-exit=0", "--no-kill", "--wait=0", "--input=none", "--export=ALL"};
  append(words, request.launcher_options);
  append(words, agent_words(request));
  return words;
}

Words open_mpi(const LaunchRequest& request) {
  Words words{"mpirun", "-np", std::to_string(request.hosts.size()), "--host"};
  std::string list;
  for (const std::string& host : request.hosts)
    list += (list.empty() ? "" : ",") + host + ":1";
  append(words, {list, "--map-by", "ppr:1:node", "--bind-to", "none", "-x", kTokenVariable,
                 // One host that ends takes no other along.
                 "--mca", "orte_abort_on_non_zero_status", "0"});
  append(words, request.launcher_options);
  append(words, agent_words(request));
  return words;
}

Words hydra(const LaunchRequest& request) {
  Words words{"mpirun",
              "-n",
              std::to_string(request.hosts.size()),
              "-ppn",
              "1",
              "-hosts",
              join(request.hosts, ","),
              "-bind-to",
              "none",
              "-genvlist",
              kTokenVariable};
  append(words, request.launcher_options);
  append(words, agent_words(request));
  return words;
}

Words ssh(const LaunchRequest& request, const std::string& host) {
  Words words{"ssh", "-o", "BatchMode=yes"};
  append(words, request.launcher_options);
  Words remote = agent_words(request);
  append(remote, {"--token-from-input", "--name", host});
  append(words, {host, launch::shell_quoted(remote)});
  return words;
}

// "node12" and "12", for names that end in a number.
std::pair<std::string_view, std::string_view> split_number(std::string_view name) {
  std::size_t first = name.size();
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
    --first;
  return {name.substr(0, first), name.substr(first)};
}

std::string fold_numbers(const std::vector<std::string_view>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    auto value = parse_integer<std::uint64_t>(numbers[i]);
    while (value && last + 1 < numbers.size() && numbers[last + 1].size() == numbers[i].size() &&
           parse_integer<std::uint64_t>(numbers[last + 1]) == *value + 1) {
      ++last;
      ++*value;
    }
    text += (text.empty() ? "" : ",") + std::string(numbers[i]);
    if (last > i) text += "-" + std::string(numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string_view name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::kLocal:
      return "local";
    case Launcher::kSrun:
      return "srun";
    case Launcher::kMpirun:
      return "mpirun";
    case Launcher::kSsh:
      return "ssh";
  }
  return "";
}

std::vector<LaunchCommand> launch_commands(const LaunchRequest& request) {
  std::vector<LaunchCommand> commands;
  switch (request.launcher) {
    case Launcher::kSrun:
      commands.push_back({srun(request), false, {}});
      break;
    case Launcher::kMpirun:
      commands.push_back(
          {request.mpi == launch::MpiKind::kOpenMpi ? open_mpi(request) : hydra(request), false, {}});
      break;
    case Launcher::kSsh:
    case Launcher::kLocal:
      for (std::uint32_t i = 0; i < request.hosts.size(); ++i) {
        if (request.launcher == Launcher::kSsh) {
          commands.push_back({ssh(request, request.hosts[i]), true, i});
          continue;
        }
        Words words = agent_words(request);
        append(words, {"--name", request.hosts[i]});
        commands.push_back({std::move(words), false, i});
      }
      break;
  }
  return commands;
}

std::optional<std::uint32_t> find_host(const std::vector<std::string>& hosts, const std::vector<bool>& taken,
                                       const AgentNames& agent) {
  const auto find = [&](const auto& matches) -> std::optional<std::uint32_t> {
    for (std::uint32_t i = 0; i < hosts.size(); ++i) {
      if (!taken[i] && matches(hosts[i])) return i;
    }
    return std::nullopt;
  };
  const auto first_part = [](std::string_view name) { return name.substr(0, name.find('.')); };
  for (const std::string& name : {agent.name, agent.host_name}) {
    if (name.empty()) continue;
    if (const auto host = find([&](const std::string& one) { return one == name; })) return host;
  }
  for (const std::string& name : {agent.name, agent.host_name}) {
    if (name.empty()) continue;
    const auto same = [&](const std::string& one) { return first_part(one) == first_part(name); };
    if (const auto host = find(same)) return host;
  }
  // Hosts given as addresses, or several on one: in the order of the ranks.
  if (agent.rank && *agent.rank < hosts.size() && !taken[*agent.rank]) return agent.rank;
  return std::nullopt;
}

std::string fold_hosts(const std::vector<std::string>& hosts) {
  std::string text;
  for (std::size_t i = 0; i < hosts.size();) {
    const auto [stem, number] = split_number(hosts[i]);
    std::vector<std::string_view> numbers;
    std::size_t end = i;
    while (end < hosts.size() && !number.empty()) {
      const auto [other, digits] = split_number(hosts[end]);
      if (other != stem || digits.empty()) break;
      numbers.push_back(digits);
      ++end;
    }
    if (!text.empty()) text += ',';
    if (numbers.size() < 2) {
      text += hosts[i++];
      continue;
    }
    text += std::string(stem) + "[" + fold_numbers(numbers) + "]";
    i = end;
  }
  return text;
}

}  // namespace angio::mesh
