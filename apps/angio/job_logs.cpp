#include "job_logs.hpp"

#include <utility>

#include "command.hpp"

namespace angio::app {

void JobLogs::add(std::string_view bytes, const std::string& name) {
  reader_.add(bytes, name);
}

Result<void> JobLogs::add_file(const std::string& path) {
  reader_.begin(path == "-" ? "standard input" : path);
  auto read = read_pieces(path, [this](std::string_view piece) { reader_.feed(piece); });
  reader_.end();
  return read;
}

JobLogs::Read JobLogs::finish(model::Machine& machine) {
  import::job_evidence::Evidence evidence = reader_.take();
  for (model::JobLog& log : evidence.memory) {
    const std::uint32_t place = machine.places.add(log.name);
    for (model::MemoryEvent& event : log.memory)
      event.source.place = place;
    machine.logs.push_back(std::move(log));
  }
  Read read;
  read.files = evidence.files;
  if (evidence.empty()) return read;
  read.evidence = std::make_shared<const model::NcclEvidence>(std::move(evidence.facts));
  model::JobLog log;
  log.name = read.files.front().name;
  log.nccl = read.evidence;
  machine.logs.push_back(std::move(log));
  return read;
}

}  // namespace angio::app
