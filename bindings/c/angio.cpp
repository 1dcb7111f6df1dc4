// The C entry points: argument checks, one call into the library `place`, and no exception across the border.
#include "angio.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "host/system_roots.hpp"
#include "launch/bind.hpp"
#include "launch/threads.hpp"
#include "place/own_place.hpp"
#include "views/placement_view.hpp"

namespace {

struct Answer {
  int result = ANGIO_UNBOUND;
  std::string message;
};

std::optional<std::uint32_t> given(int number) {
  if (number < 0) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

std::string problems_of(const angio::launch::BindOutcome& outcome) {
  std::string text;
  for (const angio::launch::BindPart* part : {&outcome.cpus, &outcome.memory}) {
    if (!part->problem.empty()) text += "; " + part->problem;
  }
  return text;
}

// Threads that exist already keep their memory policy: the caller should have come earlier.
std::string threads_of(const angio::model::RankPlacement& rank) {
  if (rank.cpus.empty()) return "";
  const angio::launch::OtherThreads others = angio::launch::bind_other_threads(rank.cpus);
  if (others.found == 0) return "";
  return "; " + std::to_string(others.bound) + " of " + std::to_string(others.found) +
         " threads that existed already got the CPUs, their memory policy stays";
}

Answer bind(int local_rank, int local_size) {
  const std::vector<std::string> environment = angio::host::read_environment();
  const auto place =
      angio::place::find_own_place({given(local_rank), given(local_size)}, {}, false, environment);
  if (!place) return {ANGIO_UNBOUND, "not bound: " + place.error().message};
  const angio::model::RankPlacement& rank = place->placement.ranks.front();
  const std::string sentence = angio::views::rank_sentence(place->machine, rank);
  if (rank.cpus.empty()) return {ANGIO_UNBOUND, "not bound: " + sentence + "; its place is not known"};
  const angio::launch::BindOutcome outcome = angio::launch::apply_placement(rank);
  return {outcome.complete() ? ANGIO_BOUND : ANGIO_PARTLY,
          sentence + problems_of(outcome) + threads_of(rank)};
}

Answer bind_safely(int local_rank, int local_size) noexcept {
  try {
    return bind(local_rank, local_size);
  } catch (const std::exception& exception) {
    return {ANGIO_UNBOUND, exception.what()};
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int angio_bind(int local_rank, int local_size,
                                                                 char* message, size_t size) {
  const Answer answer = bind_safely(local_rank, local_size);
  if (message != nullptr && size > 0) {
    const size_t length = std::min(answer.message.size(), size - 1);
    std::memcpy(message, answer.message.data(), length);
    message[length] = '\0';
  }
  return answer.result;
}

extern "C" __attribute__((visibility("default"))) const char* angio_version(void) {
  return ANGIO_VERSION;
}
