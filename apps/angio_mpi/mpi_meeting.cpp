#include "mpi_meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "../backends/addresses.hpp"
#include "base/text.hpp"
#include "mpi_call.hpp"

namespace angio::mpi {

Result<std::vector<std::string>> MpiMeeting::exchange(const std::string& own) {
  if (own.size() > std::numeric_limits<int>::max() / ranks_)
    return fail(ErrorCode::kBug, fmt::format("a text of {} bytes for {} ranks", own.size(), ranks_));
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(ranks_);
  auto done = checked(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD),
                      "MPI_Allgather");
  if (!done) return std::unexpected(done.error());
  std::vector<int> places(ranks_);
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::string all(static_cast<std::size_t>(places.back()) + static_cast<std::size_t>(lengths.back()), '\0');
  done = checked(MPI_Allgatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(),
                                MPI_CHAR, MPI_COMM_WORLD),
                 "MPI_Allgatherv");
  if (!done) return std::unexpected(done.error());
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < ranks_; ++i)
    texts.push_back(all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(lengths[i])));
  return texts;
}

Result<collective::MeetingPlace> choose_place() {
  int rank = 0;
  int ranks = 1;
  auto done = checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  if (done) done = checked(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  if (!done) return std::unexpected(done.error());
  MpiMeeting all(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks));
  const auto hosts = all.exchange(backend::host_name());
  if (!hosts) return std::unexpected(hosts.error());
  const bool alone =
      std::ranges::all_of(*hosts, [&](const std::string& host) { return host == hosts->front(); });
  // "address port" of rank 0
  const std::string own = rank != 0 ? ""
                                    : fmt::format("{} {}", alone ? "127.0.0.1" : backend::outward_address(),
                                                  backend::free_port());
  const auto told = all.exchange(own);
  if (!told) return std::unexpected(told.error());
  const auto words = split_words(told->front());
  collective::MeetingPlace place{"", 0, all.rank(), all.ranks()};
  if (words.size() != 2) return place;
  place.address = words[0];
  place.port = parse_integer<std::uint16_t>(words[1]).value_or(0);
  return place;
}

Result<std::uint32_t> local_rank() {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0;
  auto done = checked(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                      "MPI_Comm_split_type");
  if (done) done = checked(MPI_Comm_rank(host, &rank), "MPI_Comm_rank");
  if (done) done = checked(MPI_Comm_free(&host), "MPI_Comm_free");
  if (!done) return std::unexpected(done.error());
  return static_cast<std::uint32_t>(rank);
}

Result<std::unique_ptr<collective::Meeting>> meet(const collective::MeetingPlace& place) {
  auto over_tcp = place.port == 0 ? fail(ErrorCode::kIo, "rank 0 has no address that others reach")
                                  : collective::meet_over_tcp(place);
  int good = over_tcp ? 1 : 0;
  int all_good = 0;
  auto done = checked(MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  if (!done) return std::unexpected(done.error());
  if (all_good == 1) return over_tcp;
  return std::make_unique<MpiMeeting>(place.rank, place.ranks);
}

}  // namespace angio::mpi
