#include "nccl_topo_command.hpp"

#include <memory>
#include <string>
#include <vector>

#include "knowledge/nccl_topology.hpp"
#include "nccl_topo_command_run.hpp"
#include "options.hpp"

namespace angio::app {
namespace {

using nccl_topo::Options;

void add_out(CommandLine& command, Options& options) {
  command.option("--out", options.out, "Write here, not to standard output").type_name("FILE");
}
void add_format(CommandLine& command, Options& options, const std::vector<std::string>& formats) {
  command.option("--format", options.format, "How to show it").one_of(formats);
  add_out(command, options);
}
void add_release(CommandLine& command, Options& options) {
  command
      .option("--nccl", options.nccl,
              "Release of NCCL, 2.12 or later; else " + std::string(knowledge::newest_nccl_topology()))
      .type_name("VERSION");
}
void add_snap(CommandLine& command, Options& options, const char* text) {
  command.option("--snap", options.snap, text).type_name("FILE");
}
void add_file(CommandLine& command, Options& options, const char* text, bool needed) {
  Option option = command.option("file", options.file, text).type_name("FILE");
  if (needed) option.required();
}

using Run = int (*)(const Options&);

CommandLine add(CommandLine& parent, const std::shared_ptr<Options>& options, const char* name,
                const char* text, Run run, int& exit_code) {
  CommandLine command = parent.subcommand(name, text);
  command.callback([options, run, &exit_code] { exit_code = run(*options); });
  return command;
}

void add_computing(CommandLine& command, Options& options) {
  add_file(command, options, "Topology file; none: --snap or this host", false);
  add_snap(command, options, "Machine to complete the file with, or to use without one");
  add_release(command, options);
  command.option("--nodes", options.nodes, "Nodes of this kind in the job").type_name("N").range(1, 65536);
}

void setup_making(CommandLine& command, const std::shared_ptr<Options>& options, int& exit_code) {
  CommandLine made =
      add(command, options, "generate", "Write the topology file of this host or of a snapshot",
          nccl_topo::generate, exit_code);
  add_snap(made, *options, "Snapshot, tree or foreign text; none: this host");
  add_out(made, *options);

  CommandLine set_command =
      add(command, options, "set", "Change what elements say, and write the file", nccl_topo::set, exit_code);
  add_file(set_command, *options, "Topology file", true);
  set_command
      .option("selector", options->selector, "gpu:0, pci:BUSID, nic:BUSID, net:NAME, cpu:0, gpu:*, system")
      .type_name("SELECTOR")
      .required();
  set_command.option("words", options->words, "[nvlink|c2c|…[:KEY]] NAME=VALUE …, at least one")
      .type_name("WORDS");
  add_out(set_command, *options);

  CommandLine remove_command =
      add(command, options, "remove", "Remove elements or attributes, and write the file", nccl_topo::remove,
          exit_code);
  add_file(remove_command, *options, "Topology file", true);
  remove_command.option("selector", options->selector, "As for set").type_name("SELECTOR").required();
  remove_command.option("words", options->words, "Elements below it, or attributes; none: itself")
      .type_name("WORDS");
  add_out(remove_command, *options);

  CommandLine merged = add(command, options, "merge", "Join files of one host as NCCL joins its ranks' trees",
                           nccl_topo::merge, exit_code);
  merged.option("files", options->files, "Two or more topology files")
      .type_name("FILE")
      .required()
      .expected(2, 1024);
  add_release(merged, *options);
  add_out(merged, *options);
}

void setup_looking(CommandLine& command, const std::shared_ptr<Options>& options, int& exit_code) {
  CommandLine checked = add(command, options, "validate", "Say what NCCL makes of a topology or graph file",
                            nccl_topo::validate, exit_code);
  add_file(checked, *options, "Topology or graph file, - for standard input", true);
  add_snap(checked, *options, "Also compare with this machine");
  checked.flag("--live", options->live, "Also compare with this host");
  add_release(checked, *options);
  add_format(checked, *options, {"terminal", "json"});

  CommandLine shown =
      add(command, options, "show", "Show a topology or graph file", nccl_topo::show_file, exit_code);
  add_file(shown, *options, "Topology or graph file, - for standard input", true);
  add_release(shown, *options);
  add_format(shown, *options, {"terminal", "json"});

  CommandLine compared =
      add(command, options, "diff", "Say what differs between two files; exit with 1 if something does",
          nccl_topo::diff, exit_code);
  compared.option("files", options->files, "Two topology files").type_name("A B").required().expected(2);
  compared.flag("--all", options->all, "Also guid and host_hash, which differ between equal hosts");
  add_format(compared, *options, {"terminal", "json"});
}

void setup_computing(CommandLine& command, const std::shared_ptr<Options>& options, int& exit_code) {
  CommandLine path = add(command, options, "paths", "Show the path classes and bandwidths NCCL computes",
                         nccl_topo::paths, exit_code);
  add_computing(path, *options);
  add_format(path, *options, {"terminal", "json", "nccl"});

  CommandLine searched = add(command, options, "graph",
                             "Show rings, trees and channels NCCL is expected to find, or a graph dump",
                             nccl_topo::graph, exit_code);
  add_computing(searched, *options);
  searched.option("--cross-nic", options->cross_nic, "NCCL_CROSS_NIC; NCCL's default is 2")
      .type_name("0|1|2")
      .range(0, 2);
  add_format(searched, *options, {"terminal", "json", "nccl", "xml"});

  CommandLine believed = add(command, options, "tuning",
                             "Show the table of NCCL's tuner and what it chooses by size, without NCCL",
                             nccl_topo::tuning, exit_code);
  add_computing(believed, *options);
  believed.option("--collectives", options->collectives, "allreduce (default), allgather, …, or all")
      .type_name("LIST");
  believed.option("--sizes", options->sizes, "8,64K,1M or 8:1G:4; else where the choice changes")
      .type_name("LIST");
  believed.option("--env", options->environment, "A setting of NCCL, as NCCL_ALGO=Ring; may be repeated")
      .type_name("NAME=VALUE")
      .one_value();
  add_format(believed, *options, {"terminal", "json", "nccl"});
}

}  // namespace

void setup_nccl_topo(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("nccl-topo", "Make, check and read NCCL topology files; compute NCCL's channels");
  command.require_subcommand();
  command.footer(
      "NCCL has no tool of this name: it detects the topology itself, and writes what it found with\n"
      "NCCL_TOPO_DUMP_FILE. NCCL_TOPO_FILE is for virtual machines; leave it unset on bare metal.");
  const auto options = std::make_shared<Options>();
  setup_making(command, options, exit_code);
  setup_looking(command, options, exit_code);
  setup_computing(command, options, exit_code);
}

}  // namespace angio::app
