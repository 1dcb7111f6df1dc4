// What angio-mpi and angio-gloo have in common: their words, one line for an error, and the way from a word
// to a transport and a meeting. Each program brings only how ranks meet and what moves the data.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "collective/meeting.hpp"
#include "collective/transport.hpp"
#include "collective/worker.hpp"

namespace angio::backend {

struct RankProgram {
  std::string name;     // "angio-mpi"
  std::string library;  // "Open MPI v4.1.4"
  std::string start;    // how ranks are started, for --help
  // This rank: where it meets the others, and what makes its transport. Called once, after the words are
  // right.
  std::function<Result<collective::RankProcess>()> process;
  // Instead of a meeting over TCP; empty: over TCP. May answer no meeting: then over TCP, too.
  std::function<Result<std::unique_ptr<collective::Meeting>>(const collective::RankProcess&)> meet;
  // At the end of a rank that went well; may be empty.
  std::function<void()> leave;
};

int run_program(const RankProgram& program, int argc, char** argv);

}  // namespace angio::backend
