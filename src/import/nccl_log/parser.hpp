// The state of reading one or more logs, and what the readers of single messages (rules.hpp) may ask of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/nccl_log/envelope.hpp"
#include "import/nccl_log/members.hpp"
#include "import/nccl_log/nccl_log.hpp"
#include "import/nccl_log/scan.hpp"
#include "model/nccl_log.hpp"

namespace angio::import::nccl_log {

inline constexpr std::size_t kMaxText = 400;  // of a message that is kept whole

// One line of NCCL's, without what stands in front.
struct Message {
  std::string_view text;
  std::uint32_t thread = 0;
  model::NcclIndex process = 0;
  model::Source source;
  const Envelope* envelope = nullptr;
};

struct Column {  // of the tuning table
  std::string algorithm;
  std::string protocol;
};

struct Thread {
  model::NcclIndex process = 0;
  std::uint32_t member = Members::kNone;      // the rank that this thread initialises or initialised
  std::uint64_t connecting_at = 0;            // Parser::ranks_told() when it was found
  std::uint32_t connecting = Members::kNone;  // the rank of its last connection
  std::uint32_t calling = Members::kNone;     // the rank of its last collective
  std::uint64_t calling_address = 0;
  std::uint64_t messages = 0;
  std::uint32_t last_event = Members::kNone;                       // of the log
  std::uint64_t last_event_at = 0;                                 // which of its messages
  std::optional<std::uint32_t> system;                             // of the log: its lines follow
  std::optional<std::pair<std::uint32_t, std::uint32_t>> pattern;  // member and pattern: its chains follow
  std::vector<Column> columns;
};

// Lines of one connection, counted apart from its description: most lines of a log touch nothing else.
struct Tally {
  std::uint64_t lines = 0;
  std::uint64_t channels = 0;
  std::uint32_t member = 0;
  std::uint32_t connection = 0;
};

class Parser {
 public:
  void begin(const std::string& name, bool gzip);
  // One line without its line break. dirty: it may hold escapes or carriage returns.
  void line(std::string_view text, bool dirty);
  void on_other_line(OtherLine use) { other_ = std::move(use); }
  void add_bytes(std::uint64_t count) { file().bytes += count; }
  void note_gzip_cut() { file().gzip_cut = true; }
  void note_long_line() { ++file().damaged_lines; }
  void end();
  [[nodiscard]] bool is_open() const { return open_; }
  model::NcclLog take();

  // ---- for the readers of messages
  [[nodiscard]] model::NcclLog& log() { return log_; }
  [[nodiscard]] Members& members() { return members_; }
  [[nodiscard]] Thread& thread(const Message& message) { return threads_[message.thread]; }
  [[nodiscard]] model::NcclProcess& process(const Message& message) {
    return log_.processes[message.process];
  }
  [[nodiscard]] const std::string& host(const Message& message) {
    return log_.processes[message.process].host;
  }
  // The rank that a message of init speaks of: begins a new one where this version does not announce it.
  std::uint32_t init_rank(const Message& message);
  // The rank that a later message speaks of: of this thread, this GPU, this process, in that order.
  std::uint32_t rank(const Message& message);
  // A new rank for this thread; kNone beyond the limit.
  std::uint32_t new_rank(const Message& message);
  // Grows whenever a line tells of a rank: what was found before may be another rank now.
  [[nodiscard]] std::uint64_t ranks_told() const { return ranks_told_; }
  void remember_device(const Message& message, std::uint32_t member);
  // The index of a fact that repeats, by a key over what makes it equal; makes one at the first time.
  // Null: there is no room for more.
  template <typename Fact>
  Fact* once(std::uint64_t key, std::vector<Fact>& facts, std::size_t limit) {
    const auto known = facts_.find(key);
    if (known != Index::kNone) return &facts[known];
    if (facts.size() >= limit) {
      ++log_.left_out;
      return nullptr;
    }
    facts_.put(key, static_cast<std::uint32_t>(facts.size()));
    return &facts.emplace_back();
  }
  // Keys over one way between two ranks, to an index into the tallies.
  [[nodiscard]] Index& connections() { return connections_; }
  [[nodiscard]] std::vector<Tally>& tallies() { return tallies_; }
  // True the first time that this key comes.
  bool first_time(std::uint64_t key) { return seen_.size() < kMaxSeen && seen_.add(key); }
  // A failure that a message tells; reads its numbers.
  void event(const Message& message, model::NcclEventKind kind, bool is_warning);
  // The event that this thread told with its last message but `back`; null: none.
  model::NcclEvent* last_event(const Message& message, std::uint64_t back);
  void version(std::string_view text, bool is_rccl, model::NcclIndex process, model::Source source);
  // A program that aborts its communicators makes every thread stop with an error.
  bool& aborting(const Message& message) { return announced_[message.process].aborting; }
  // Devices that were announced before their list: "NET/IB: [0] mlx5_0:...".
  std::vector<model::NcclNetDevice>& announced(const Message& message, bool is_virtual);

 private:
  OtherLine other_;
  struct Loose {  // a version line without envelope
    std::optional<std::uint32_t> launcher_rank;
    std::string version;
    std::string built_for;
    bool is_rccl = false;
    model::Source source;
    bool is_bare = false;                           // the line is nothing else: rank 0 of an old version
    model::NcclIndex before = model::kNoNcclIndex;  // the process of NCCL's line above it
  };
  struct Announced {
    std::vector<model::NcclNetDevice> devices;
    std::vector<model::NcclNetDevice> virtual_devices;
    bool aborting = false;
  };
  // Most lines begin as an earlier one did, up to "NCCL INFO ": its envelope is known without reading it
  // again.
  struct Head {
    std::uint32_t size = 0;
    std::uint32_t thread = 0;
    std::optional<int> device;
    std::array<char, 96> text{};
    [[nodiscard]] bool begins(std::string_view line) const {
      return size > 0 && line.starts_with(std::string_view(text.data(), size));
    }
  };
  static constexpr std::size_t kHeads = 4096;
  static constexpr std::size_t kHeadKey = 24;  // bytes by which a head is looked up

  static constexpr std::size_t kMaxSeen = std::size_t{1} << 24U;

  [[nodiscard]] model::NcclFile& file() { return log_.files.back(); }
  [[nodiscard]] static std::size_t head_slot(std::string_view line);
  bool known_head(std::string_view line);
  void keep_head(std::string_view line, const Anchor& anchor, const Envelope& envelope);
  void tell(const Message& message, Level level);
  void nccl_line(std::string_view line, Anchor anchor, Envelope envelope);
  void message(std::string_view text, Level level, const Envelope& envelope);
  // True for a line of NCCL's that says what went well.
  bool take_nccl(std::string_view text, const Anchor& anchor);
  void foreign(std::string_view line);
  void add_wrapped(std::string_view line);
  void foreign_version(std::string_view line, std::size_t at);
  void foreign_error(std::string_view line, std::string_view text);
  void mend_host(Envelope& envelope) const;
  std::uint32_t find_thread(const Envelope& envelope);
  model::NcclIndex find_process(const Envelope& envelope);
  [[nodiscard]] model::NcclIndex find_whole_host(const Envelope& envelope) const;
  void keep_time(model::NcclProcess& process, std::string_view prefix);
  void warn(const Message& message);
  void count_unknown(const Message& message);
  void assign_versions();
  void add_tallies();

  model::NcclLog log_;
  Members members_;
  std::vector<Thread> threads_;
  std::vector<Announced> announced_;                     // by process
  std::vector<std::string> last_prefix_;                 // by process: the time of its last line
  std::vector<std::uint32_t> event_count_;               // by process
  std::vector<Loose> loose_;                             // of this file
  model::NcclIndex last_process_ = model::kNoNcclIndex;  // of this file
  Index thread_index_;                                   // of this file
  Index process_index_;                                  // of this file
  Index device_members_;                                 // (process, device) to the last rank
  std::vector<Head> heads_;                              // of this file
  std::size_t last_head_ = 0;
  Index facts_;
  Index connections_;
  std::vector<Tally> tallies_;
  Index events_;
  Index kinds_;  // words of a warning to its kind
  Index seen_;
  std::string clean_;  // a line without escapes
  model::Source source_;
  std::uint64_t ranks_told_ = 1;
  std::uint64_t last_thread_key_ = 0;
  std::uint32_t last_thread_ = 0;
  model::NcclIndex first_process_ = 0;            // of this file
  std::uint32_t wrapped_event_ = Members::kNone;  // a warning whose line may have been wrapped
  std::uint32_t wrapped_line_ = 0;
  bool has_last_thread_ = false;
  bool error_follows_ = false;  // the last line was "Last error:"
  bool open_ = false;
};

// A message for printing: control characters away, cut to kMaxText.
std::string keep_text(std::string_view text);

}  // namespace angio::import::nccl_log
