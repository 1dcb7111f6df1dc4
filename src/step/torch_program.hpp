// The PyTorch program inside the binary, and the command lines that start it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace angio::step {

std::string_view torch_program();  // the text of torch_step.py

struct TorchrunRequest {
  std::string python;
  std::string program;  // path of the text above
  std::string spec;
  std::string logs;  // a folder for torchrun
  std::uint32_t ranks = 1;
  std::string address;
  std::uint16_t port = 0;
};
std::vector<std::string> torchrun_command(const TorchrunRequest& request);

// The rank that torchrun says failed first: "rank 2 (pid 4711) killed by SIGSEGV"; empty: it says none.
std::string failed_rank_of(std::string_view torchrun_errors);

}  // namespace angio::step
