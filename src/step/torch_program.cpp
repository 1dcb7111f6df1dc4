#include "step/torch_program.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "launch/supervisor_report.hpp"

namespace angio::step {
namespace {

constexpr std::string_view kProgram =
#include "torch_step.inc"
    ;

// The number behind a word, up to what ends it; none: no such word or no number.
std::optional<int> number_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + word.size());
  rest = rest.substr(0, rest.find_first_not_of("-0123456789"));
  return parse_integer<int>(rest);
}

}  // namespace

std::string_view torch_program() {
  return kProgram;
}

std::vector<std::string> torchrun_command(const TorchrunRequest& request) {
  // torch 1.13 on Python 3.11 cannot read its own default of -r and -t (enum.Flag): given ones it can.
  return {request.python,
          "-m",
          "torch.distributed.run",
          "--nnodes",
          "1",
          "--nproc_per_node",
          std::to_string(request.ranks),
          "--master_addr",
          request.address,
          "--master_port",
          std::to_string(request.port),
          "--monitor_interval",
          "0.2",
          "-r",
          "1",
          "-t",
          "1",
          "--log_dir",
          request.logs,
          request.program,
          request.spec};
}

// The summary at the end has all of them: "rank      : 2 (local_rank: 2)" and "exitcode  : -9 (pid: 4711)"
// below it.
std::string failed_rank_of(std::string_view torchrun_errors) {
  constexpr int kTold = -15;  // SIGTERM: torchrun's own, to those that are left
  std::string first;
  std::optional<int> rank;
  for (const std::string_view line : split_lines(torchrun_errors)) {
    if (const auto found = number_behind(line, "local_rank: ")) rank = found;
    auto code = number_behind(line, "exitcode: ");
    if (!code) code = number_behind(line, "exitcode  : ");
    const auto pid = number_behind(line, "(pid: ");
    if (!code || !rank || !pid) continue;
    const std::string who = fmt::format("rank {} (pid {})", *rank, *pid);
    if (*code < 0 && *code != kTold) return who + " killed by " + launch::signal_name(-*code);
    if (first.empty()) first = fmt::format("{} ended with exit code {}", who, *code);
  }
  return first;
}

}  // namespace angio::step
