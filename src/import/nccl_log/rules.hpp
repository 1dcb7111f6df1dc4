// The readers of single messages at INFO level. Each family is a list of rules: how the message begins, and
// who reads what follows. A message is understood when a rule takes it, with or without a fact in it.
#pragma once

#include <span>
#include <string_view>

#include "import/nccl_log/parser.hpp"

namespace angio::import::nccl_log {

struct Rule {
  std::string_view start;
  // scan stands behind start. False: not this message after all.
  bool (*read)(Parser& parser, const Message& message, Scan scan);
};

std::span<const Rule> init_rules();
std::span<const Rule> network_rules();
std::span<const Rule> plugin_rules();
std::span<const Rule> graph_rules();
std::span<const Rule> connection_rules();
std::span<const Rule> tuning_rules();
std::span<const Rule> call_rules();
// Known lines that hold no fact of the model.
std::span<const std::string_view> known_starts();

// True when the message is understood.
bool read_info(Parser& parser, const Message& message);
// "file:line -> code" and the allocation lines, which begin with a file name.
bool read_located(Parser& parser, const Message& message);

}  // namespace angio::import::nccl_log
