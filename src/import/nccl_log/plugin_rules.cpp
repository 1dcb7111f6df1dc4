// Plugins: found or not, loaded, failed, in use.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/nccl_log/events.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

using Kind = model::NcclPluginKind;
using Outcome = model::NcclPluginOutcome;

constexpr std::uint64_t kPluginKey = 401;
constexpr std::uint64_t kPluginProcessKey = 402;
constexpr std::size_t kMaxPlugins = 4096;
constexpr std::size_t kMaxName = 120;

struct Said {
  Kind kind = Kind::kNet;
  Outcome outcome = Outcome::kMentioned;
  std::string_view name;
  std::string_view version;
};

bool add(Parser& parser, const Message& message, const Said& said) {
  auto key = hash_text(said.name, mix(kPluginKey, static_cast<std::uint64_t>(said.kind) * 16 +
                                                      static_cast<std::uint64_t>(said.outcome)));
  key = hash_text(said.version, key);
  auto* plugin = parser.once(key, parser.log().plugins, kMaxPlugins);
  if (plugin == nullptr) return true;
  if (plugin->count++ == 0) {
    plugin->kind = said.kind;
    plugin->outcome = said.outcome;
    plugin->name = printable(said.name.substr(0, kMaxName));
    plugin->version = printable(said.version.substr(0, kMaxName));
    plugin->text = keep_text(message.text);
    plugin->source = message.source;
  }
  if (parser.first_time(mix(key, kPluginProcessKey + message.process)))
    plugin->processes.push_back(message.process);
  return true;
}

Kind kind_of_symbol(std::string_view name, Kind fallback) {
  if (name.find("CollNet") != std::string_view::npos) return Kind::kCollNet;
  if (name.find("Net") != std::string_view::npos) return Kind::kNet;
  if (name.find("Tuner") != std::string_view::npos) return Kind::kTuner;
  if (name.find("Profiler") != std::string_view::npos) return Kind::kProfiler;
  if (name.find("Env") != std::string_view::npos) return Kind::kEnv;
  if (name.find("Gin") != std::string_view::npos) return Kind::kGin;
  return fallback;
}

// "AWS Libfabric (v8)": the name, and its interface version.
void split_version(std::string_view text, Said& said) {
  const auto open = text.rfind(" (");
  said.name = text.substr(0, open);
  if (open == std::string_view::npos) return;
  said.version = text.substr(open + 2);
  if (said.version.ends_with(')')) said.version.remove_suffix(1);
}

std::string_view first_word(std::string_view text, std::string_view stops) {
  return text.substr(0, std::min(text.find_first_of(stops), text.size()));
}

// Behind "NET/Plugin: " and its kin.
bool read_about(Parser& parser, const Message& message, Kind kind, Scan scan) {
  Said said{kind, Outcome::kMentioned, {}, {}};
  if (scan.eat("Could not find: ")) {
    said.outcome = Outcome::kNotFound;
    said.name = first_word(scan.rest(), " ");
    if (said.name.ends_with('.')) said.name.remove_suffix(1);
  } else if (scan.eat("No plugin found")) {
    said.outcome = Outcome::kNotFound;
    if (scan.eat(" (")) said.name = first_word(scan.rest(), ")");
  } else if (scan.eat("Plugin load (")) {
    said.outcome = Outcome::kNotFound;
    said.name = first_word(scan.rest(), ")");
  } else if (scan.eat("Failed to find ")) {
    said.outcome = Outcome::kSymbolMissing;
    said.name = first_word(scan.rest(), " ,.");
    said.kind = kind_of_symbol(said.name, kind);
  } else if (scan.skip_past("Loaded ")) {
    said.outcome = Outcome::kLoaded;
    if (!scan.skip_past("plugin ")) (void)scan.eat("plugin ");
    split_version(scan.rest(), said);
    if (message.text.find("collnet plugin") != std::string_view::npos) said.kind = Kind::kCollNet;
  } else if (message.text.find("ailed") != std::string_view::npos) {
    said.outcome = Outcome::kFailed;
    said.name = scan.rest();
  } else {
    said.name = scan.rest();
  }
  return add(parser, message, said);
}

template <Kind kKind>
bool read_kind(Parser& parser, const Message& message, Scan scan) {
  scan.blanks();
  if (!scan.eat(": ")) return false;
  return read_about(parser, message, kKind, scan);
}

// "NET plugin IB", "GIN plugin GIN_IB_PROXY to comm"
bool read_stated(Parser& parser, const Message& message, Outcome outcome, Scan scan) {
  const auto word = scan.word();
  Said said{Kind::kNet, outcome, {}, {}};
  if (word == "GIN") {
    said.kind = Kind::kGin;
  } else if (word == "RMA") {
    said.kind = Kind::kRma;
  } else if (word == "CollNet" || word == "COLLNET") {
    said.kind = Kind::kCollNet;
  } else if (word != "NET") {
    return false;
  }
  if (!scan.eat(" plugin ")) return false;
  said.name = scan.rest();
  constexpr std::string_view kEnd = " to comm";
  if (said.name.ends_with(kEnd)) said.name.remove_suffix(kEnd.size());
  return add(parser, message, said);
}

bool read_initialized(Parser& parser, const Message& message, Scan scan) {
  return read_stated(parser, message, Outcome::kInitialized, scan);
}
bool read_assigned(Parser& parser, const Message& message, Scan scan) {
  return read_stated(parser, message, Outcome::kAssigned, scan);
}
// The next network is tried: what this thread said just before was no failure of the job.
bool read_failed(Parser& parser, const Message& message, Scan scan) {
  if (auto* cause = parser.last_event(message, 1)) cause->handled = true;
  return read_stated(parser, message, Outcome::kFailed, scan);
}

bool read_tuner(Parser& parser, const Message& message, Scan scan) {
  scan.blanks();
  if (scan.eat(": ")) scan.blanks();
  Said said{Kind::kTuner, Outcome::kLoaded, scan.rest(), {}};
  if (said.name.size() > 1 && said.name.front() == '\'' && said.name.back() == '\'')
    said.name = said.name.substr(1, said.name.size() - 2);
  return add(parser, message, said);
}

// "TUNER/Angio: line 9: allreduce of 65536 B -> tree ll": what Angio's own tuner says of its table.
bool read_own_tuner(Parser& parser, const Message& message, Scan scan) {
  if (!scan.eat(": ")) return false;
  return add(parser, message, {Kind::kTuner, Outcome::kMentioned, scan.rest(), {}});
}

bool read_external(Parser& parser, const Message& message, Scan scan) {
  return add(parser, message, {Kind::kNet, Outcome::kLoaded, scan.rest(), {}});
}

bool read_path(Parser& parser, const Message& message, Scan scan) {
  scan.blanks();
  if (scan.eat(": ")) scan.blanks();
  return add(parser, message, {Kind::kNet, Outcome::kMentioned, scan.rest(), {}});
}

// "Initializing aws-ofi-nccl 1.9.2-aws", "Using aws-ofi-nccl 1.6.0"
bool read_ofi(Parser& parser, const Message& message, Scan scan) {
  if (scan.rest().find("Unable to register memory") != std::string_view::npos) {
    parser.event(message, classify(message.text), false);
    return true;
  }
  if (!scan.eat("Initializing ") && !scan.eat("Using ")) return true;
  const auto name = scan.word();
  if (name != "aws-ofi-nccl" || !scan.eat(' ')) return true;
  return add(parser, message, {Kind::kNet, Outcome::kMentioned, name, scan.word()});
}

}  // namespace

std::span<const Rule> plugin_rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"NET/Plugin", read_kind<Kind::kNet>},
      {"TUNER/Plugin", read_kind<Kind::kTuner>},
      {"TUNER/Angio", read_own_tuner},
      {"PROFILER/Plugin", read_kind<Kind::kProfiler>},
      {"ENV/Plugin", read_kind<Kind::kEnv>},
      {"GIN/Plugin", read_kind<Kind::kGin>},
      {"RMA/Plugin", read_kind<Kind::kRma>},
      {"Initialized ", read_initialized},
      {"Assigned ", read_assigned},
      {"Failed to initialize ", read_failed},
      {"Using tuner plugin", read_tuner},
      {"Successfully loaded external network plugin ", read_external},
      {"Plugin Path", read_path},
      {"NET/OFI ", read_ofi},
  });
  return kRules;
}

}  // namespace angio::import::nccl_log
