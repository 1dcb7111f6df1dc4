// Runs one side of a test by a program of perftest: its words, its time limit, its output. What the output
// means is for import/perftest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mesh/messages.hpp"

namespace angio::mesh {

// ib_write_bw -d mlx5_0 -i 1 -p 40123 -F --report_gbits -D 2 -s 1048576 [ADDRESS]. Pure.
std::vector<std::string> perftest_words(const Order& order, std::uint16_t tcp_port);

// environment: of the program. ready: called by the listening side with its port once it waits there.
Outcome run_perftest(const Order& order, const std::vector<std::string>& environment,
                     const std::function<void(std::uint16_t)>& ready, const std::function<bool()>& stop);

// Those of perftest's programs that PATH leads to.
std::vector<std::string> find_programs(const std::vector<std::string>& environment);

}  // namespace angio::mesh
