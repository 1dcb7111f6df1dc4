// Ranks of MPI that meet: over TCP at a place that MPI tells them, because there a rank that stops or dies is
// noticed; else over MPI itself, where it is not.
#pragma once

#include <memory>

#include "collective/meeting.hpp"

namespace angio::mpi {

// An all-gather of texts. Waits as long as MPI does: for ever.
class MpiMeeting final : public collective::Meeting {
 public:
  MpiMeeting(std::uint32_t rank, std::uint32_t ranks) : rank_(rank), ranks_(ranks) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  Result<std::vector<std::string>> exchange(const std::string& own) override;

 private:
  std::uint32_t rank_;
  std::uint32_t ranks_;
};

// Rank 0's address and a free port of it, on every rank. Collective.
Result<collective::MeetingPlace> choose_place();
// This rank among those of its host. Collective.
Result<std::uint32_t> local_rank();
// Over TCP if every rank gets there, else over MPI. Collective.
Result<std::unique_ptr<collective::Meeting>> meet(const collective::MeetingPlace& place);

}  // namespace angio::mpi
