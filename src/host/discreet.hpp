// What may leave a machine. Settings go by an allow-list of names, secrets never; arguments of programs
// keep names and numbers; large lists that hold private paths are reduced to what the probes use.
// The discreet root applies this before any recorder sees the content.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/root.hpp"

namespace angio::host {

// Names that matter to GPU communication (NCCL_, UCX_, SLURM_, RANK ...) and hold no secret by their name.
bool is_shareable_setting(std::string_view name);

// The value without credentials in URLs ("https://user:word@host" loses "user:word").
std::string shareable_value(std::string_view value);

// NAME=value entries behind each other, each ended by separator: only the shareable ones.
// Of a file's lines (separator '\n') the others become empty, so that line numbers stay true.
std::string shareable_settings(std::string_view entries, char separator);

// A program's arguments, each ended by NUL: the program, its script, option names and plain numbers stay,
// every other word becomes "...".
std::string shareable_arguments(std::string_view arguments);

// A file a user adds to a snapshot: "NAME=value" lines whose name speaks of a secret lose the value.
std::string shareable_artefact(std::string_view text);

// Options of the kernel's command line whose name speaks of a secret lose their value.
std::string shareable_kernel_options(std::string_view options);

// /proc/<pid>/maps: one line for each mapped file named *.so* and each shared segment of NCCL and PyTorch,
// without addresses.
std::string reduced_maps(std::string_view maps);

// /proc/<pid>/numa_maps: mappings of equal policy, kind and page size summed up, "0 default anon=12 N0=12
// mappings=3 kernelpagesize_kB=4"; no addresses, no file names. The kind is "anon=PAGES", "huge",
// "file=(file)", "file=(shared)", "file=(zero)" (shared anonymous) or "file=(device)". Pages that a process
// wrote in its private mapping of a file are anonymous; numa_maps tells their number but not their nodes, so
// they are spread as the mapping is. Reducing twice changes nothing.
std::string reduced_numa_maps(std::string_view numa_maps);

// A shared segment that NCCL or PyTorch made ("nccl-4f2a", "torch_77_123"), by its name in /dev/shm.
bool is_training_segment(std::string_view name);

// /proc/<pid>/status: the lines on CPUs, memory nodes, locked memory, state, parent and the name.
std::string reduced_status(std::string_view status);

// /proc/<pid>/stat: number, name, state and the CPU it last ran on; zeros between, nothing behind.
std::string reduced_stat(std::string_view stat);

// The lines of /proc/<pid>/mountinfo for "/", /dev/shm and control groups; of file systems over the network
// only the type, addresses and the transport. Reducing twice changes nothing.
std::string reduced_mounts(std::string_view mountinfo);
// Types of /proc/self/mountinfo whose files lie on other machines: "nfs4", "lustre".
bool is_network_file_system(std::string_view type);

// Everything else passes through. settings_files: further files read as lists of settings.
std::unique_ptr<Root> make_discreet_root(std::unique_ptr<Root> inner,
                                         std::vector<std::string> settings_files);

}  // namespace angio::host
