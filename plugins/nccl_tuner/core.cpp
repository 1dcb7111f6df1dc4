#include "core.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "load.hpp"
#include "tuner/choices.hpp"

namespace angio::tuner {
namespace {

class Log {
 public:
  explicit Log(abi::Logger logger) : logger_(logger) {}
  void info(const std::string& text) const { write(abi::kInfo, text.c_str()); }
  void warn(const std::string& text) const { write(abi::kWarn, text.c_str()); }
  void write(int level, const char* text) const {
    if (logger_ != nullptr)
      logger_(level, abi::kInit | abi::kTuning, "angio/nccl_tuner", 0, "TUNER/Angio: %s", text);
  }

 private:
  abi::Logger logger_;
};

std::string count(std::size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// One communicator with a usable table.
class Tuning {
 public:
  Tuning(const std::shared_ptr<const Table>& table, std::size_t ranks, std::size_t nodes, Log log)
      : table_(table),
        choices_(table, nodes, ranks),
        nodes_(nodes),
        log_(log),
        said_(std::make_unique<std::atomic<bool>[]>(table->rules.size())) {
    log_.info(std::to_string(choices_.fitting()) + " of " + count(table->rules.size(), "row") + " for " +
              count(nodes, "node") + ", " + count(ranks, "rank"));
  }

  [[nodiscard]] const Rule* find(const Question& question) const {
    if (question.function < 0 || question.function >= static_cast<int>(kCollectives)) return nullptr;
    const std::uint64_t pipe_ops = question.pipe_ops < 1 ? 1 : static_cast<std::uint64_t>(question.pipe_ops);
    return choices_.find(static_cast<Collective>(question.function), question.bytes, pipe_ops,
                         question.registered != 0);
  }

  [[nodiscard]] std::size_t nodes() const { return nodes_; }

  // Once a row: what it did the first time. NCCL calls from one thread of a rank; the marks stand more.
  // NCCL 2.32 also asks with no operations at all, for an estimate, and with nothing available then:
  // answered, but no news.
  void say(const Rule& rule, const Question& question, const char* refused) const {
    if (question.pipe_ops < 1) return;
    std::atomic<bool>& said = said_[static_cast<std::size_t>(&rule - table_->rules.data())];
    if (said.load(std::memory_order_relaxed) || said.exchange(true)) return;
    std::string text = "line " + std::to_string(rule.line) + ": " + std::string(to_word(rule.collective)) +
                       " of " + std::to_string(question.bytes) + " B -> " +
                       std::string(to_word(rule.algorithm)) + " " + std::string(to_word(rule.protocol));
    if (rule.channels != 0) text += ", channels " + std::to_string(rule.channels);
    if (refused != nullptr) text += std::string(": ") + refused + ", NCCL's own choice stands";
    log_.info(text);
  }

 private:
  std::shared_ptr<const Table> table_;
  Choices choices_;
  std::size_t nodes_;
  Log log_;
  std::unique_ptr<std::atomic<bool>[]> said_;
};

void say_loaded(const Loaded& loaded, const Log& log) {
  if (loaded.table == nullptr) return log.warn(loaded.problem + ": NCCL's own choices stand");
  const Table& table = *loaded.table;
  std::string text = "table " + loaded.path + ", hash " + hash_text(table.hash) +
                     " (the same on all nodes, or the job hangs), " + count(table.rules.size(), "row");
  const std::size_t overlaps = table.remarks.size() + table.more_remarks;
  if (overlaps > 0) text += ", " + std::to_string(overlaps) + " overlap earlier ones (the first decides)";
  log.info(text);
}

// NCCL_ALGO and the like need no look here: NCCL has marked in the table of costs what they forbid.
const char* apply(const Rule& rule, float** costs, int algorithms, int protocols) {
  const int algorithm = static_cast<int>(rule.algorithm);
  const int protocol = static_cast<int>(rule.protocol);
  if (algorithm >= algorithms || protocol >= protocols) return "this NCCL does not know it";
  float* const cost = reinterpret_cast<float*>(costs) + (algorithm * protocols + protocol);
  if (*cost < 0.0F) return "NCCL marks it as not available here";
  *cost = 0.0F;
  return nullptr;
}

const char* support(const Rule& rule, bool collnet, bool nvls, std::size_t nodes) {
  constexpr const char* kUnsupported = "NCCL says that it is not supported here";
  if (rule.protocol == Protocol::kLl128)
    return "NCCL 2.21 does not tell the tuner whether LL128 is safe here";
  switch (rule.algorithm) {
    case Algorithm::kTree:
    case Algorithm::kRing:
      return nullptr;
    case Algorithm::kNvls:
      return nvls && (nodes == 1 || collnet) ? nullptr : kUnsupported;
    case Algorithm::kNvlsTree:
      return nvls && nodes > 1 ? nullptr : kUnsupported;
    case Algorithm::kCollNetDirect:
    case Algorithm::kCollNetChain:
      return collnet ? nullptr : kUnsupported;
    case Algorithm::kPat:
      break;
  }
  return "this NCCL does not know it";
}

}  // namespace

void* begin(std::size_t ranks, std::size_t nodes, abi::Logger logger) noexcept {
  const Log log(logger);
  try {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): at start-up, as NCCL reads its own.
    const Load load = load_table(std::getenv(kTableVariable));
    if (load.first) say_loaded(*load.loaded, log);
    return load.loaded->table == nullptr ? nullptr : new Tuning(load.loaded->table, ranks, nodes, log);
  } catch (const std::exception& error) {
    log.write(abi::kWarn, error.what());
  }
  return nullptr;
}

void end(void* context) noexcept {
  delete static_cast<Tuning*>(context);
}

void choose_by_costs(void* context, const Question& question, float** costs, int algorithms, int protocols,
                     int* channels) noexcept {
  if (context == nullptr || costs == nullptr) return;
  const Tuning& tuning = *static_cast<const Tuning*>(context);
  const Rule* rule = tuning.find(question);
  if (rule == nullptr) return;
  const char* const refused = apply(*rule, costs, algorithms, protocols);
  if (refused == nullptr && rule->channels != 0 && channels != nullptr)
    *channels = static_cast<int>(rule->channels);
  try {
    tuning.say(*rule, question, refused);
  } catch (const std::exception&) {  // no memory for a line of the log: the choice stands
  }
}

void choose_by_support(void* context, const Question& question, bool collnet, bool nvls, int* algorithm,
                       int* protocol, int* channels) noexcept {
  if (context == nullptr || algorithm == nullptr || protocol == nullptr) return;
  const Tuning& tuning = *static_cast<const Tuning*>(context);
  const Rule* rule = tuning.find(question);
  if (rule == nullptr) return;
  const char* const refused = support(*rule, collnet, nvls, tuning.nodes());
  if (refused == nullptr) {
    *algorithm = static_cast<int>(rule->algorithm);
    *protocol = static_cast<int>(rule->protocol);
    if (rule->channels != 0 && channels != nullptr) *channels = static_cast<int>(rule->channels);
  }
  try {
    tuning.say(*rule, question, refused);
  } catch (const std::exception&) {  // as above
  }
}

}  // namespace angio::tuner
