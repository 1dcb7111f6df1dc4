#include <string>

#include "../backends/rank_program.hpp"
#include "base/text.hpp"
#include "host/system_roots.hpp"
#include "mpi_call.hpp"
#include "mpi_meeting.hpp"
#include "mpi_transport.hpp"

namespace angio::mpi {
namespace {

Result<MpiOptions> read_options() {
  MpiOptions options;
  const std::string most = host::find_variable(host::read_environment(), "ANGIO_MPI_MOST_COUNT");
  if (most.empty()) return options;
  const auto count = parse_integer<std::uint64_t>(most);
  if (!count || *count == 0 || *count > options.most_count)
    return fail(ErrorCode::kInvalidInput,
                "ANGIO_MPI_MOST_COUNT=" + printable(most) + " is no count of elements", "1 to 1073741824");
  options.most_count = *count;
  return options;
}

Result<collective::RankProcess> this_rank() {
  const auto options = read_options();
  if (!options) return std::unexpected(options.error());
  // As a program without threads, which most loops over MPI are: with FUNNELED Open MPI takes its locks, a
  // tenth of a microsecond a call. The meeting has a thread, which calls nothing of MPI.
  int provided = MPI_THREAD_SINGLE;
  if (auto begun =
          checked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided), "MPI_Init_thread");
      !begun)
    return std::unexpected(begun.error());
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  collective::RankProcess process;
  auto place = choose_place();
  if (!place) return std::unexpected(std::move(place).error());
  const auto local = local_rank();
  if (!local) return std::unexpected(local.error());
  process.place = std::move(*place);
  process.local_rank = *local;
  process.make = [options = *options](collective::Meeting&, const collective::Wish&) {
    return make_mpi_transport(options);
  };
  return process;
}

}  // namespace
}  // namespace angio::mpi

int main(int argc, char** argv) {
  using namespace angio;
  const backend::RankProgram program{
      "angio-mpi",
      mpi::library_version(),
      "mpirun -np N angio-mpi check\n",
      mpi::this_rank,
      [](const collective::RankProcess& process) { return mpi::meet(process.place); },
      [] { MPI_Finalize(); }};
  return backend::run_program(program, argc, argv);
}
