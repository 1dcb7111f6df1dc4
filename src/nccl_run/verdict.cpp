#include "nccl_run/verdict.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::nccl_run {
namespace {

constexpr int kRemoteError = 6;  // ncclRemoteError

std::string signal_words(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  const char* words = sigdescr_np(signal);
  return fmt::format(
      "{} ({})",
      abbreviation != nullptr ? std::string("SIG") + abbreviation : fmt::format("signal {}", signal),
      words != nullptr ? words : "unknown");
}

}  // namespace

std::string whereabouts(const NodeReports& said, std::span<const Operation> operations) {
  if (!said.loaded) return "at its start, before libnccl was loaded";
  if (!said.init) return "in ncclCommInitRank";
  const std::size_t reached = said.operations.size();
  if (reached < operations.size()) {
    const Operation& operation = operations[reached];
    return fmt::format("in operation {} of {} ({} of {})", reached + 1, operations.size(),
                       label(operation.collective), in_words(Bytes{operation.bytes}));
  }
  return said.done ? "at its end, after all its work" : "in ncclCommDestroy, after all operations";
}

std::size_t progress_of(const NodeReports& said) {
  return (said.loaded ? 1U : 0U) + (said.init ? 1U : 0U) + said.operations.size() + (said.done ? 1U : 0U);
}

Trouble trouble_of(std::uint32_t node, const FailedReport& failed) {
  const std::string result = failed.result ? fmt::format(" (result {})", *failed.result) : "";
  return {failed.result == kRemoteError ? Blame::kRemote : Blame::kError, ClusterEnd::kFailed,
          fmt::format("node {}: {} failed{}: {}", node, failed.call, result, printable(failed.text))};
}

Trouble trouble_of(std::uint32_t node, int exit_code, int signal, const std::string& where,
                   bool killed_for_memory) {
  if (signal == 0) {
    return {Blame::kCrash, ClusterEnd::kCrashed,
            fmt::format("node {} ended with exit code {} {}", node, exit_code, where)};
  }
  const char* why = "";
  if (signal == SIGKILL)
    why = killed_for_memory ? "; the kernel killed processes for want of memory meanwhile"
                            : "; not by angio: somebody killed it, or a limit of the host did";
  return {Blame::kCrash, ClusterEnd::kCrashed,
          fmt::format("node {} was ended by {} {}{}", node, signal_words(signal), where, why)};
}

Trouble trouble_of_unknown_end(std::uint32_t node, const std::string& where) {
  return {Blame::kCrash, ClusterEnd::kCrashed,
          fmt::format("node {} ended {}; how is not known: another part of this program took the answer",
                      node, where)};
}

}  // namespace angio::nccl_run
