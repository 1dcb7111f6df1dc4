#include "mesh_node.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"
#include "launch/rendezvous.hpp"
#include "mesh/agent.hpp"
#include "mesh/facts.hpp"
#include "mesh/launcher.hpp"
#include "probe/live_root.hpp"
#include "probe/machine_probe.hpp"

namespace angio::app {
namespace {

struct Words {
  std::string controllers;
  std::string name;
  bool token_from_input = false;
};

std::optional<Words> parse_words(int argc, char** argv) {
  Words words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--token-from-input") {
      words.token_from_input = true;
    } else if (word == "--name" && i + 1 < argc) {
      words.name = argv[++i];
    } else if (!word.starts_with("-") && words.controllers.empty()) {
      words.controllers = word;
    } else {
      return std::nullopt;
    }
  }
  return words.controllers.empty() ? std::nullopt : std::optional(words);
}

std::string read_token() {
  std::string token;
  char letter = 0;
  constexpr std::size_t kLongest = 256;
  while (token.size() < kLongest && read(STDIN_FILENO, &letter, 1) == 1 && letter != '\n')
    token += letter;
  return token;
}

int usage() {
  (void)report_error({ErrorCode::kInvalidInput, "angio mesh-node is a part of angio mesh",
                      "run angio mesh, whose launcher starts it"});
  return kUsage;
}

// Missing facts are none: the host is tested without them.
model::MeshHost look_at_host() {
  auto root = probe::make_live_machine_root();
  if (!root) return {};
  return mesh::nics_of(probe::probe_machine(**root, {{}, false}));
}

}  // namespace

int run_mesh_node_words(int argc, char** argv) {
  const auto words = parse_words(argc, argv);
  if (!words) return usage();
  (void)std::signal(SIGPIPE, SIG_IGN);
  mesh::AgentRequest request;
  request.environment = host::read_environment();
  request.token =
      words->token_from_input ? read_token() : host::find_variable(request.environment, mesh::kTokenVariable);
  if (request.token.empty()) return usage();
  // What perftest is started with does not hold it.
  (void)unsetenv(mesh::kTokenVariable);
  request.environment = host::read_environment();
  for (const std::string_view text : split(words->controllers, ',')) {
    auto address = launch::parse_master(text);
    if (!address) return report_error(address.error());
    request.controllers.emplace_back(address->address, address->port);
  }
  request.name = words->name;
  request.version = "angio " ANGIO_VERSION;
  request.host = look_at_host();
  const auto done = mesh::run_agent(std::move(request));
  return done ? kOk : report_error(done.error());
}

}  // namespace angio::app
