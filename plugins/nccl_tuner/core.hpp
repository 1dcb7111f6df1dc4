// What every version of the interface calls: one context a communicator. Nothing leaves these functions but
// values: no exception, no failure that would end the job. Without a usable table, or without memory for the
// context (it is null then), NCCL's own choices stand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi.hpp"

namespace angio::tuner {

inline constexpr const char* kName = "angio";  // NCCL prints it: "TUNER/Plugin: Using angio (v5)"
inline constexpr const char* kTableVariable = "ANGIO_TUNER_TABLE";

void* begin(std::size_t ranks, std::size_t nodes, abi::Logger logger) noexcept;
void end(void* context) noexcept;

struct Question {
  int function = 0;  // ncclFunc_t
  std::size_t bytes = 0;
  int pipe_ops = 1;
  int registered = 0;
};

// From version 3 on. NCCL's predicted times stand in costs; the chosen one becomes 0, so that it is the
// least. One that NCCL marks as not available stays so, and with it NCCL's own choice.
void choose_by_costs(void* context, const Question& question, float** costs, int algorithms, int protocols,
                     int* channels) noexcept;

// Version 2 has no cost table. What NCCL does not say there to be available is not chosen: LL128, which
// corrupts data where the hardware does not keep its promises; NVLS and CollNet without their support.
void choose_by_support(void* context, const Question& question, bool collnet, bool nvls, int* algorithm,
                       int* protocol, int* channels) noexcept;

}  // namespace angio::tuner
