#include "collect_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "host/clock.hpp"
#include "host/discreet.hpp"
#include "options.hpp"
#include "probe/live_root.hpp"
#include "probe/machine_probe.hpp"
#include "probe/place.hpp"
#include "probe/snapshot/scrub.hpp"
#include "probe/snapshot/snapshot.hpp"
#include "probe/sysfs/rdma_counters.hpp"

namespace angio::app {
namespace {

struct Options {
  std::string out;
  std::string root;
  std::vector<std::string> job;
  std::vector<std::uint32_t> processes;
  bool scrub = false;
};

// A line on a terminal that goes away again.
class Progress {
 public:
  Progress() : shown_(isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { end(); }
  void end() {
    put("\r\033[K");
    shown_ = false;
  }
  void step(const char* what) const { put(std::string("\r\033[Kangio: ") + what); }

 private:
  void put(const std::string& text) const {
    if (shown_ && write(STDERR_FILENO, text.data(), text.size()) < 0) return;
  }
  bool shown_;
};

std::string file_name_of(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// Adds a file of the job under "/@job/"; equal names are numbered.
Result<void> add_artefact(host::Recording& recording, const std::string& path) {
  Result<std::string> content = read_input(path);
  if (!content) return std::unexpected(std::move(content.error()));
  if (content->size() > host::kMaxFileSize) {
    return fail(ErrorCode::kInvalidInput, path + ": larger than " + in_words(Bytes{host::kMaxFileSize}),
                "give the part that matters, for example its first and last lines");
  }
  const std::string name = path == "-" ? "standard-input" : file_name_of(path);
  if (name.empty() || name == "." || name == "..")
    return fail(ErrorCode::kInvalidInput, path + " is no file name");
  std::string place = "/@job/" + name;
  for (int number = 2; recording.contains(place); ++number)
    place = "/@job/" + name + "-" + std::to_string(number);
  recording[place].content = host::shareable_artefact(*content);
  return {};
}

// "gpu-a.snap"; a host name that is no plain file name gives "machine.snap".
std::string default_file(std::string_view host) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  const bool usable = !host.empty() && host[0] != '.' && host[0] != '-' && std::ranges::all_of(host, plain);
  return (usable ? std::string(host) : std::string("machine")) + ".snap";
}

// What was refused for want of privilege, in words.
class Refused {
 public:
  explicit Refused(const host::Recording& recording) {
    for (const auto& [path, answers] : recording)
      take(path, answers);
  }

  [[nodiscard]] std::string words() const {
    std::vector<std::string> parts;
    if (configurations_ > 0)
      parts.push_back("ACS, ATS and payload size of " + count_of(configurations_, "PCI device"));
    if (!processes_.empty())
      parts.push_back("threads, memory and libraries of " + std::to_string(processes_.size()) +
                      (processes_.size() == 1 ? " process" : " processes"));
    if (others_ > 0)
      parts.push_back(count_of(others_, "file") + " such as " + printable(probe::name_of_path(first_)));
    return join(parts, "; ");
  }

 private:
  template <typename Answer>
  static bool denied(const std::optional<Answer>& answer) {
    return answer && !*answer && (answer->error().error == EACCES || answer->error().error == EPERM);
  }

  void take(const std::string& path, const host::Answers& answers) {
    // Without privilege the kernel shows the first 64 bytes of a device's configuration and no error.
    constexpr std::size_t kUnprivileged = 64;
    const bool content = answers.content && *answers.content;
    if (path.ends_with("/config") && content && (*answers.content)->size() == kUnprivileged)
      ++configurations_;
    if (!denied(answers.content) && !denied(answers.names) && !denied(answers.link)) return;
    const std::vector<std::string_view> parts = split(path, '/');
    if (parts.size() > 3 && parts[1] == "proc" && parse_integer<std::uint32_t>(parts[2])) {
      processes_.emplace(parts[2]);
      return;
    }
    if (path.starts_with("/@home")) return;
    if (others_++ == 0) first_ = path;
  }

  std::size_t configurations_ = 0;
  std::set<std::string> processes_;
  std::size_t others_ = 0;
  std::string first_;
};

Result<probe::Snapshot> take_snapshot(const Options& options, const host::Clock& clock,
                                      const Progress& progress) {
  Result<std::unique_ptr<host::Root>> root =
      options.root.empty() ? probe::make_live_machine_root() : probe::make_tree_root(options.root);
  if (!root) return std::unexpected(std::move(root.error()));
  for (const std::uint32_t id : options.processes) {
    if (!(*root)->exists("/proc/" + std::to_string(id)))
      return fail(ErrorCode::kNotFound, "there is no process " + std::to_string(id),
                  "Look for its number with pgrep -af NAME; a container shows only its own processes");
  }
  progress.step("reading this machine");
  const host::RecordingRoot recorder(**root);
  probe::ProbeOptions what;
  what.processes = options.processes;
  const model::Machine machine = probe::probe_machine(recorder, what);
  (void)probe::read_rdma_counters(recorder);  // statistics of interfaces too: for angio rdma BEFORE AFTER
  probe::Snapshot snapshot;
  snapshot.tool = "angio " ANGIO_VERSION;
  snapshot.host = machine.name.empty() && !options.root.empty() ? file_name_of(options.root) : machine.name;
  snapshot.captured = host::utc_text(clock.now());
  snapshot.recording = recorder.recording();
  for (const std::string& path : options.job) {
    progress.step("reading the job's files");
    if (auto added = add_artefact(snapshot.recording, path); !added)
      return std::unexpected(std::move(added.error()));
  }
  return snapshot;
}

void summarise(const std::string& place, const probe::Snapshot& snapshot, std::size_t size, double seconds,
               const Refused& refused) {
  say(fmt::format("{}: {} facts, {}, in {:.2f} s", place == "-" ? "standard output" : printable(place),
                  probe::count_answers(snapshot.recording), in_words(Bytes{size}), seconds));
  if (const std::string words = refused.words(); !words.empty() && geteuid() != 0)
    say("root would have added: " + words);
}

int collect(const Options& options) {
  const std::unique_ptr<host::Clock> clock = host::make_system_clock();
  const auto begin = clock->steady_now();
  Progress progress;
  Result<probe::Snapshot> snapshot = take_snapshot(options, *clock, progress);
  if (!snapshot) {
    progress.end();
    return report_error(snapshot.error());
  }
  const Refused refused(snapshot->recording);
  if (options.scrub) {
    progress.step("replacing names and numbers");
    std::uint64_t seed = 0;
    if (getentropy(&seed, sizeof seed) != 0) {
      return report_error({ErrorCode::kIo, "no random numbers from the kernel: " + errno_text(errno), {}});
    }
    *snapshot = probe::scrub(std::move(*snapshot), seed);
  }
  const std::string bytes = probe::render_snapshot(*snapshot);
  const std::string place = options.out.empty() ? default_file(snapshot->host) : options.out;
  progress.end();
  if (auto written = write_output(place, bytes); !written) return report_error(written.error());
  summarise(place, *snapshot, bytes.size(),
            std::chrono::duration<double>(clock->steady_now() - begin).count(), refused);
  return kOk;
}

}  // namespace

void setup_collect(CommandLine& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CommandLine command = app.subcommand("collect", "Write what this machine is into one .snap file");
  command.option("--out", options->out, "File to write (HOST.snap); - is standard output").type_name("FILE");
  command.flag("--scrub", options->scrub, "Replace serials, GUIDs, names and addresses");
  command.option("--pid", options->processes, "Also this process (repeatable)").type_name("PID");
  command.option("--job", options->job, "Put this file of the job in (repeatable)").type_name("FILE");
  command.option("--root", options->root, "Read a captured tree, not this machine").type_name("DIR");
  command.callback([options, &exit_code] { exit_code = collect(*options); });
}

}  // namespace angio::app
