// One node's process, seen from `angio dryrun`: started anew from this program, with three pipes. It dies
// with its parent.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "host/descriptor.hpp"
#include "nccl_run/last_lines.hpp"
#include "nccl_run/script.hpp"

struct sigaction;  // of signal.h

namespace angio::nccl_run {

struct NodeStart {
  std::string program;                   // "/proc/self/exe"
  std::vector<std::string> environment;  // all of it
  std::vector<int> inherited;            // descriptors that its environment names
};

// What waitpid said.
struct NodeEnd {
  int exit_code = 0;
  int signal = 0;
  bool known = true;  // false: another part of this program took the answer
};

struct NodeProcess {
  int pid = 0;
  host::Descriptor log;      // its stdout and stderr
  host::Descriptor reports;  // its report_fd
  host::Descriptor script;   // a socket, for a write to a dead node must not raise SIGPIPE
  std::string to_send;       // of the script, not taken yet
  LineCutter log_lines;
  LineCutter report_lines;
  LastLines last;
  NodeReports said;
  std::chrono::steady_clock::time_point last_heard;  // of its log and its reports
  std::optional<NodeEnd> end;
};

// Errors: no descriptors, no process.
Result<NodeProcess> start_node(const NodeStart& start);

// Ends it, with what it started, and takes its remains away; nothing when it has ended.
void kill_node(NodeProcess& node);
// Looks whether it has ended; what it started, as a plugin may, ends with it.
void look_at(NodeProcess& node);

// Reads what is there; at the end of the stream the descriptor is closed.
std::string read_some(host::Descriptor& from);
// Sends what the node takes now.
void send_some(NodeProcess& node);

// Raises the soft limit of open files to the hard one while it lives.
class MoreFiles {
 public:
  MoreFiles();
  MoreFiles(const MoreFiles&) = delete;
  MoreFiles& operator=(const MoreFiles&) = delete;
  ~MoreFiles();

 private:
  unsigned long soft_ = 0;
  bool raised_ = false;
};

// While it lives the kernel keeps how a child ended, also for a caller that ignores SIGCHLD.
class KeptEnds {
 public:
  KeptEnds();
  KeptEnds(const KeptEnds&) = delete;
  KeptEnds& operator=(const KeptEnds&) = delete;
  ~KeptEnds();

 private:
  std::unique_ptr<struct sigaction> before_;
};

}  // namespace angio::nccl_run
