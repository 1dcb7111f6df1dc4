#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/nccl_log/missing.hpp"
#include "import/nccl_log/nccl_log.hpp"

namespace {

using angio::model::NcclLog;

void check(bool holds) {
  if (!holds) std::abort();
}

// Everything names a line of the text; every index leads somewhere.
void check_facts(const NcclLog& log, std::size_t size) {
  check(log.files.size() == 1 && log.files[0].lines <= size + 1);
  for (const auto& event : log.events) {
    check(event.count > 0 && event.process < log.processes.size());
    check(event.source.line > 0 && event.source.line <= log.files[0].lines);
  }
  for (const auto& setting : log.settings) {
    for (const auto process : setting.processes)
      check(process < log.processes.size());
  }
  for (const auto& communicator : log.communicators) {
    for (const auto& rank : communicator.ranks) {
      check(rank.process < log.processes.size());
      check(rank.calls.last.size() <= rank.calls.collectives && rank.connections.size() <= 256);
    }
  }
}

std::uint64_t connection_lines(const NcclLog& log) {
  std::uint64_t lines = 0;
  for (const auto& communicator : log.communicators) {
    for (const auto& rank : communicator.ranks) {
      for (const auto& connection : rank.connections)
        lines += connection.count;
      lines += rank.connections_left_out + rank.calls.collectives * 3 + rank.trees.size() * 5;
    }
  }
  return lines;
}

}  // namespace

// The facts do not depend on where the bytes are cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = angio::import::nccl_log::parse_log(bytes, "log");
  check_facts(whole, whole.files[0].bytes);
  angio::import::nccl_log::Log reader;
  reader.begin("log");
  std::size_t piece = size > 0 ? data[0] % 61U + 1U : 1U;
  for (std::size_t at = 0; at < size; at += piece) {
    reader.feed(bytes.substr(at, piece));
  }
  const auto pieces = reader.take();
  check(pieces.files[0].lines == whole.files[0].lines &&
        pieces.files[0].nccl_lines == whole.files[0].nccl_lines);
  check(pieces.files[0].unknown_lines == whole.files[0].unknown_lines &&
        pieces.info_lines == whole.info_lines);
  check(pieces.events.size() == whole.events.size() && pieces.settings.size() == whole.settings.size());
  check(pieces.networks.size() == whole.networks.size() && pieces.gdr.size() == whole.gdr.size());
  check(pieces.communicators.size() == whole.communicators.size() &&
        pieces.processes.size() == whole.processes.size());
  check(connection_lines(pieces) == connection_lines(whole));
  (void)angio::import::nccl_log::missing_facts(whole);
  (void)angio::import::nccl_log::looks_like(bytes);
  (void)angio::model::find_earliest_failure(whole);
  for (std::uint32_t i = 0; i < whole.communicators.size(); ++i)
    (void)angio::model::find_mismatch(whole, i);
  return 0;
}
