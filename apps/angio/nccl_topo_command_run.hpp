// What each subcommand of `angio nccl-topo` does, apart from how its options are read
// (nccl_topo_command.cpp). Each returns an exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace angio::app::nccl_topo {

struct Options {
  std::vector<std::string> files;
  std::string file;
  std::optional<std::string> snap;
  bool live = false;
  std::optional<std::string> nccl;
  int nodes = 1;
  bool all = false;   // diff: guid and host_hash as well
  int cross_nic = 2;  // NCCL_CROSS_NIC's default
  std::string format = "terminal";
  std::string out = "-";
  std::vector<std::string> environment;   // tuning: NCCL's settings
  std::string collectives = "allreduce";  // tuning
  std::string sizes;                      // tuning; empty: where the choice changes
  std::string selector;
  std::vector<std::string> words;
};

int generate(const Options& options);
int validate(const Options& options);
int show_file(const Options& options);
int paths(const Options& options);
int graph(const Options& options);
int tuning(const Options& options);
int set(const Options& options);
int remove(const Options& options);
int diff(const Options& options);
int merge(const Options& options);

}  // namespace angio::app::nccl_topo
