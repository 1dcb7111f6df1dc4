// The parts of check_tools. Not for other topics.
#pragma once

#include "lint/rules/launch_line.hpp"

namespace angio::lint {

void check_fabric_tools(const Job& job, const Context& context, Complaints& out);  // ibstat and its kin
void check_gpu_tools(const Job& job, Complaints& out);                             // nvidia-smi, dcgmi
void check_profilers(const Job& job, Complaints& out);                             // nsys, perf, strace
void check_phrases(const Job& job, Complaints& out);  // what comments, greps and Python expect to find

// A grep of the line's pipeline whose pattern has one of these, in any case; null when none.
const Word* grepped(const Job& job, const Line& line, std::initializer_list<std::string_view> patterns);

}  // namespace angio::lint
