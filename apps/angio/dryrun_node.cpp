#include "dryrun_node.hpp"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/text.hpp"
#include "command.hpp"
#include "nccl_run/node.hpp"

namespace angio::app {
namespace {

std::optional<int> open_descriptor(const char* word) {
  const std::optional<int> fd = parse_integer<int>(word);
  return fd && *fd > STDERR_FILENO && fcntl(*fd, F_GETFD) >= 0 ? fd : std::nullopt;
}

}  // namespace

int run_dryrun_node_words(int argc, char** argv) {
  const std::optional<int> script = argc == 3 ? open_descriptor(argv[1]) : std::nullopt;
  const std::optional<int> reports = argc == 3 ? open_descriptor(argv[2]) : std::nullopt;
  if (!script || !reports) {
    (void)report_error({ErrorCode::kInvalidInput, "angio dryrun-node is a part of angio dryrun",
                        "run angio dryrun, which starts it"});
    return kUsage;
  }
  // NCCL prints with stdio; line by line, so that its last words reach the log however it ends, and stand
  // behind ours.
  if (std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ) != 0) return kBug;
  // NCCL's threads use its static data until the process is gone.
  std::_Exit(nccl_run::run_node(*script, *reports));
}

}  // namespace angio::app
