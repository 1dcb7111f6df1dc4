// What `angio fabric` reads: texts of fabrics as one fabric, the list of jobs, snapshots of hosts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/fabric.hpp"
#include "model/machine.hpp"

namespace angio::app {

// The first file with cables in it is laid under the others; one that is of other nodes (another plane) is
// put beside them. What the reader should know beyond the fabric's own notes goes into remarks.
Result<model::Fabric> load_fabric(const std::vector<std::string>& files, std::vector<std::string>& remarks);

// Host name → jobs, of the text of `squeue -h -o "%i %N"` or lines "JOB HOST".
using JobsByHost = std::map<std::string, std::vector<std::string>>;
Result<JobsByHost> load_jobs(const std::string& path, std::vector<std::string>& remarks);

Result<std::vector<model::Machine>> load_hosts(const std::vector<std::string>& files);

}  // namespace angio::app
