#include "probe/process/job_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "host/discreet.hpp"
#include "probe/process/job_probe.hpp"
#include "probe/process/process_facts.hpp"
#include "probe/process/process_parts.hpp"

namespace angio::probe {

bool is_rank_variable(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                                   "SLURM_PROCID"};
  return std::ranges::find(kNames, name) != kNames.end();
}

namespace process {
namespace {

constexpr std::size_t kMaxThreads = 4096;     // of one process
constexpr std::size_t kMaxOpenFiles = 65536;  // of one process
constexpr std::string_view kSharedMemory = "/dev/shm/";

template <typename Use>
void for_each_line(std::string_view text, char end, Use use) {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(end), text.size());
    use(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

std::string_view mapped_file(std::string_view line) {
  const std::size_t slash = line.find('/');
  return slash == line.npos ? std::string_view() : line.substr(slash);
}

bool maps_training(std::string_view maps) {
  bool found = false;
  for_each_line(maps, '\n', [&](std::string_view line) {
    const std::string_view file = mapped_file(line);
    found = found || is_training_library(file.substr(file.rfind('/') + 1));
  });
  return found;
}

bool is_denied(const host::Read<std::string>& read) {
  return !read && (read.error().error == EACCES || read.error().error == EPERM);
}

void add_once(std::vector<std::uint32_t>& list, std::uint32_t value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

}  // namespace

bool has_rank(std::string_view environ) {
  bool found = false;
  for_each_line(environ, '\0', [&](std::string_view entry) {
    found = found || is_rank_variable(entry.substr(0, entry.find('=')));
  });
  return found;
}

Look JobReader::run(const Wanted& wanted) {
  environ_ = place_.root().read(place_.path("environ"));
  const bool is_rank = environ_ && has_rank(*environ_);
  // Without memory (kernel threads, the dead) newer kernels answer ESRCH: that is no absence.
  const bool ended = !environ_ && environ_.error().error == ENOENT;
  if (ended && !wanted.forced) {
    look_.process.reset();
    return std::move(look_);
  }
  maps_ = place_.root().read(place_.path("maps"));
  if (wanted.segments) note_segments();
  if (is_rank || is_chosen(wanted)) {
    read_all(wanted);
  } else {
    note_other(is_denied(environ_));
  }
  return std::move(look_);
}

bool JobReader::is_chosen(const Wanted& wanted) const {
  if (wanted.forced) return true;
  if (maps_ && maps_training(*maps_)) return true;
  // Kernel threads have no memory and no arguments.
  if (!wanted.anything) return false;
  return (maps_ && !maps_->empty()) || !place_.root().read(place_.path("cmdline")).value_or("").empty();
}

// Kernel threads, the dead, and processes that do something else.
void JobReader::note_other(bool denied) {
  if (denied) {
    look_.hidden = !place_.root().read(place_.path("cmdline")).value_or("").empty();
    if (look_.hidden) return look_.process.reset();
  } else if (maps_ && !maps_->empty()) {
    return look_.process.reset();
  }
  const host::Read<std::string> status = place_.root().read(place_.path("status"));
  const std::string text = status.value_or("");
  const auto state = status_field(text, "State");
  look_.zombie = state && state->starts_with('Z');
  if (!look_.zombie) return look_.process.reset();
  take_status(place_, status, process());
  process().command = status_field(text, "Name").value_or("");
}

// The descriptors are looked at in read_open_files, or here for a process that is none of training.
void JobReader::note_segments() {
  for_each_line(maps_.value_or(""), '\n', [&](std::string_view line) {
    const std::string_view file = mapped_file(line);
    if (file.starts_with(kSharedMemory)) look_.segments.emplace_back(file.substr(kSharedMemory.size()));
  });
  read_open_files();
}

void JobReader::read_all(const Wanted& wanted) {
  const host::Read<std::string> status = place_.root().read(place_.path("status"));
  const std::string text = status.value_or("");
  const auto state = status_field(text, "State");
  if (!status || (state && state->starts_with('Z'))) {
    look_.zombie = status.has_value();
    if (!status) return look_.process.reset();
  }
  take_status(place_, status, process());
  process().command = command_of(place_.root().read(place_.path("cmdline")).value_or(""));
  if (process().command.empty()) process().command = status_field(text, "Name").value_or("");
  if (look_.zombie) return;
  const std::string owner = "/@tasks/owner/" + std::to_string(process().id);
  const host::Read<std::string> user = place_.root().read(owner);
  process().user = value_or_reason(place_, "", parse_integer<std::uint32_t>(user.value_or("")), user);
  take_settings();
  take_libraries();
  take_memory(place_, process());
  if (wanted.threads) read_threads();
  if (!wanted.segments) read_open_files();
}

void JobReader::read_threads() {
  host::Read<host::Names> names = place_.root().list(place_.path("task"));
  if (!names) return;
  if (names->size() > kMaxThreads) names->resize(kMaxThreads);
  process().threads.reserve(names->size());
  for (const std::string& name : *names) {
    if (const auto id = parse_integer<std::uint32_t>(name))
      process().threads.push_back(read_thread(*id, name));
  }
  std::erase_if(process().threads, [](const model::Thread& thread) { return thread.last_cpu.is_absent(); });
  std::ranges::sort(process().threads, {}, &model::Thread::id);
}

// stat has the name and the last CPU; the mask comes by a call, or from status where that is not mounted.
model::Thread JobReader::read_thread(std::uint32_t id, const std::string& name) const {
  model::Thread thread;
  thread.id = id;
  const std::string directory = place_.path("task") + "/" + name;
  const host::Read<std::string> stat = place_.root().read(directory + "/stat");
  const std::string text = stat.value_or("");
  thread.name = stat_name(text).value_or("");
  thread.last_cpu = value_or_reason(place_, "task", last_cpu(text), stat);
  if (thread.last_cpu.is_absent()) return thread;  // it ended meanwhile
  const host::Read<std::string> mask = place_.root().read("/@tasks/affinity/" + name);
  if (mask) {
    thread.allowed = value_or_reason(place_, "task", parse_cpu_list(*mask), mask);
    return thread;
  }
  const host::Read<std::string> status = place_.root().read(directory + "/status");
  const std::string lines = status.value_or("");
  const auto list = status_field(lines, "Cpus_allowed_list");
  thread.allowed = value_or_reason(place_, "task", list ? parse_cpu_list(*list) : std::nullopt, status);
  return thread;
}

void JobReader::read_open_files() {
  using Indices = std::vector<std::uint32_t>;
  const std::string directory = place_.path("fd");
  host::Read<host::Names> names = place_.root().list(directory);
  if (!names) {
    process().opened_gpus = place_.missing<Indices>("fd", names.error());
    process().rdma = place_.missing<Indices>("fd", names.error());
    return;
  }
  if (names->size() > kMaxOpenFiles) names->resize(kMaxOpenFiles);
  for (const std::string& name : *names) {
    if (const auto target = place_.root().read_link(directory + "/" + name)) take_open_file(*target);
  }
  std::ranges::sort(gpus_);
  std::ranges::sort(rdma_);
  process().opened_gpus = Observed<Indices>::known(gpus_, place_.source("fd"));
  process().rdma = Observed<Indices>::known(rdma_, place_.source("fd"));
}

void JobReader::take_open_file(const std::string& target) {
  constexpr std::string_view kSocket = "socket:[";
  const std::string_view file = target;
  if (file.starts_with(kSocket)) {
    const auto inode =
        parse_integer<std::uint64_t>(file.substr(kSocket.size(), file.size() - kSocket.size() - 1));
    const auto port = inode ? devices_.listening.find(*inode) : devices_.listening.end();
    if (port != devices_.listening.end()) process().listening.push_back(port->second);
  } else if (file.starts_with(kSharedMemory)) {
    look_.segments.emplace_back(file.substr(kSharedMemory.size()));
  } else if (const auto gpu = devices_.gpus.find(file); gpu != devices_.gpus.end()) {
    add_once(gpus_, gpu->second);
  } else if (const auto nic = devices_.rdma.find(file); nic != devices_.rdma.end()) {
    add_once(rdma_, nic->second);
  }
}

void JobReader::take_settings() {
  for_each_line(environ_.value_or(""), '\0', [&](std::string_view entry) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos || !host::is_shareable_setting(entry.substr(0, equals))) return;
    process().settings.push_back({std::string(entry.substr(0, equals)), std::string(entry.substr(equals + 1)),
                                  place_.source("environ")});
  });
  std::ranges::sort(process().settings, {}, &model::Setting::name);
}

void JobReader::take_libraries() {
  const std::string_view maps = maps_ ? std::string_view(*maps_) : std::string_view();
  std::vector<std::string_view> files;  // in maps_
  for_each_line(maps, '\n', [&](std::string_view line) {
    const std::string_view file = mapped_file(line);
    if (!is_training_library(file.substr(file.rfind('/') + 1))) return;
    if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  });
  for (const std::string_view file : files) {
    const std::string_view name = file.substr(file.rfind('/') + 1);
    process().libraries.push_back({std::string(name), std::string(file), {}, place_.source("maps")});
  }
}

}  // namespace process
}  // namespace angio::probe
