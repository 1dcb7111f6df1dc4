// `angio mesh-node`: the agent of `angio mesh` on one host, which a launcher starts and nobody else. Not in
// the help and not in the completion.
#pragma once

namespace angio::app {

// "mesh-node ADDRESS:PORT[,ADDRESS:PORT] [--name HOST] [--token-from-input]"; the token in ANGIO_MESH_TOKEN
// or as the first line of standard input.
int run_mesh_node_words(int argc, char** argv);

}  // namespace angio::app
