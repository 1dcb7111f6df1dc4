#include <string>

#include "../backends/rank_program.hpp"
#include "gloo_transport.hpp"
#include "host/system_roots.hpp"

namespace angio::gloo_backend {
namespace {

Result<collective::RankProcess> this_rank() {
  const auto environment = host::read_environment();
  auto process = collective::rank_process(environment);
  if (!process) return process;
  GlooOptions options;
  const auto by = parse_all_reduce(host::find_variable(environment, "ANGIO_GLOO_ALLREDUCE"));
  if (!by) return std::unexpected(by.error());
  options.all_reduce = *by;
  options.interface = host::find_variable(environment, "GLOO_SOCKET_IFNAME");
  options.master = process->place.address;
  process->make = [options](collective::Meeting& meeting, const collective::Wish& wish) {
    GlooOptions own = options;
    own.timeout = std::chrono::seconds(wish.patience);
    return make_gloo_transport(meeting, own);
  };
  return process;
}

}  // namespace
}  // namespace angio::gloo_backend

int main(int argc, char** argv) {
  using namespace angio;
  const backend::RankProgram program{"angio-gloo",
                                     "gloo " + gloo_backend::library_version(),
                                     "angio run --ranks N -- angio-gloo check\n",
                                     gloo_backend::this_rank,
                                     {},
                                     {}};
  return backend::run_program(program, argc, argv);
}
