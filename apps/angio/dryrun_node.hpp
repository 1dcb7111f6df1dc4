// `angio dryrun-node`: the process of one phantom node, which `angio dryrun` starts and nobody else. Not in
// the help and not in the completion.
#pragma once

namespace angio::app {

// "dryrun-node SCRIPT_FD REPORT_FD". Does not return when it was started as it should be.
int run_dryrun_node_words(int argc, char** argv);

}  // namespace angio::app
