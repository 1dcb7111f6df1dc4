// What MPI answers, as a Result; and its types and operations for ours. Owned by the transport, freed before
// MPI ends.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <map>
#include <string_view>
#include <utility>

#include "collective/transport.hpp"

namespace angio::mpi {

// Error: "MPI_Allreduce: MPI_ERR_TRUNCATE: message truncated".
Result<void> checked(int code, std::string_view what);

class Types {
 public:
  Types() = default;
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;
  ~Types();
  // MPI has no types for half and bfloat16: two bytes, with operations of our own.
  Result<MPI_Datatype> type_of(collective::Element element);
  Result<MPI_Op> operation_of(collective::Element element, collective::Reduction reduction);
  // One element of so many bytes, for counts beyond an int.
  Result<MPI_Datatype> block_of(std::uint64_t bytes);

 private:
  MPI_Datatype two_bytes_ = MPI_DATATYPE_NULL;
  std::map<std::pair<collective::Element, collective::Reduction>, MPI_Op> operations_;
  std::map<std::uint64_t, MPI_Datatype> blocks_;
};

}  // namespace angio::mpi
