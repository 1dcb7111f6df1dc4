// What the subcommands of `angio nccl-topo` share: the release of NCCL that was asked for, files read and
// written, errors said. What each subcommand does is in nccl_topo_command_run.cpp and …_edit.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "nccl/topology_xml.hpp"
#include "nccl_topo_command_run.hpp"
#include "report/document.hpp"

namespace angio::app::nccl_topo {

// The release to compute as: what was asked for, the newest known one at most.
std::string release(const Options& options);
// Fails for what is no version or too old.
Result<void> check_release(const Options& options);
// "NCCL 9.9 is newer than …"; empty when it is not.
std::string newer_note(const Options& options);
void say_newer(const Options& options);

struct Input {
  nccl::XmlText text;
  nccl::Remarks remarks;
  nccl::Element* root = nullptr;
};
Result<Input> read_file(const std::string& path);
Error no_root(const std::string& path);
// Fails for a graph file and for what is neither.
Result<void> check_topology_root(const std::string& path, const Input& input);
// Files that NCCL would not take are read tolerantly; says so once.
void say_if_broken(const std::string& path, const Input& input);
Result<Input> read_topology(const std::string& path);

// Say the error; the exit code for what the command line says, for what may be either's fault, and for what
// is the file's fault.
int usage(const Error& error);
int fail_with(const Error& error);
int computed_nothing(const Error& error);

int write(const Options& options, const std::string& text);
int show(const Options& options, const report::Document& document, const Json& json);

}  // namespace angio::app::nccl_topo
