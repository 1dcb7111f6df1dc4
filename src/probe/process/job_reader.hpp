// One process for probe_jobs: is it one of training, and if so all of it. No state but what it is given, so
// several threads can read at once. Not the choice of what to look at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/software.hpp"
#include "probe/place.hpp"
#include "probe/process/job_devices.hpp"

namespace angio::probe::process {

struct Wanted {
  bool forced = false;    // named, or NVML saw it
  bool anything = false;  // any process with memory
  bool threads = true;
  bool segments = false;  // also which files of /dev/shm it holds, training or not
};

struct Look {
  std::optional<model::Process> process;
  bool zombie = false;  // process is set, with number, name and parent only
  bool hidden = false;  // of another user: what it is cannot be told
  std::vector<std::string> segments;
};

class JobReader {
 public:
  JobReader(const Place& place, const DeviceFiles& devices, std::uint32_t id)
      : place_(place), devices_(devices) {
    look_.process.emplace().id = id;
  }
  Look run(const Wanted& wanted);

 private:
  [[nodiscard]] bool is_chosen(const Wanted& wanted) const;
  void note_other(bool denied);
  void note_segments();
  void read_all(const Wanted& wanted);
  void read_threads();
  [[nodiscard]] model::Thread read_thread(std::uint32_t id, const std::string& name) const;
  void read_open_files();
  void take_open_file(const std::string& target);
  void take_settings();
  void take_libraries();
  [[nodiscard]] model::Process& process() { return *look_.process; }

  const Place& place_;
  const DeviceFiles& devices_;
  host::Read<std::string> environ_;
  host::Read<std::string> maps_;
  std::vector<std::uint32_t> gpus_;
  std::vector<std::uint32_t> rdma_;
  Look look_;
};

bool has_rank(std::string_view environ);

}  // namespace angio::probe::process
