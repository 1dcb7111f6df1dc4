#include "collective_phantom.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "dryrun_inputs.hpp"
#include "host/descriptor.hpp"
#include "nccl_run/environment.hpp"
#include "nccl_run/memory_file.hpp"
#include "phantom/hardware.hpp"

namespace angio::app {
namespace {

struct Files {
  std::vector<host::Descriptor> held;
  nccl_run::NodeFiles paths;
};

template <typename Content>
Result<std::string> add_file(Files& files, const char* name, const Content& content) {
  auto file = nccl_run::make_memory_file(name, content);
  if (!file) return std::unexpected(std::move(file.error()));
  (void)fcntl(file->get(), F_SETFD, 0);  // it goes along
  std::string path = nccl_run::path_of(*file);
  files.held.push_back(std::move(*file));
  return path;
}

Result<Files> make_files(const nccl_run::ClusterRequest& request, const PhantomRank& rank) {
  Files files;
  const nccl_run::StandIns& all = request.stand_ins;
  const auto cudart = request.library.cuda_major == 13 ? all.cudart13 : all.cudart12;
  for (const auto& [name, content] : {std::pair{"cudart", cudart}, {"nvml", all.nvml}, {"net", all.net}}) {
    auto path = add_file(files, name, content);
    if (!path) return std::unexpected(std::move(path.error()));
    files.paths.preload.push_back(std::move(*path));
  }
  const nccl_run::NodeRequest& node = request.nodes[rank.rank];
  auto topology = add_file(files, "topology", std::string_view(node.topology));
  if (!topology) return std::unexpected(std::move(topology.error()));
  const std::string text = phantom::write_hardware(node.hardware);
  auto hardware = add_file(files, "hardware", std::string_view(text));
  if (!hardware) return std::unexpected(std::move(hardware.error()));
  files.paths.topology = std::move(*topology);
  files.paths.hardware = std::move(*hardware);
  files.paths.shared_memory = rank.shared_folder;
  return files;
}

bool stays(std::string_view entry) {
  constexpr std::string_view kKept[] = {
      "RANK=",       "LOCAL_RANK=",  "WORLD_SIZE=",  "LOCAL_WORLD_SIZE=", "NODE_RANK=",
      "GROUP_RANK=", "MASTER_ADDR=", "MASTER_PORT=", "ANGIO_COLLECTIVE_"};
  return std::ranges::any_of(kKept, [entry](std::string_view name) { return entry.starts_with(name); });
}

std::vector<std::string> environment_of(const PhantomRank& rank, const nccl_run::NodeFiles& files,
                                        const nccl_run::Settings& own,
                                        const std::vector<std::string>& environment) {
  std::vector<std::string> all =
      nccl_run::node_environment(rank.rank, nccl_run::NetKind::kPhantom, files, {}, own);
  // NCCL's log would stand between the results.
  std::erase_if(all, [](const std::string& entry) { return entry.starts_with("NCCL_DEBUG"); });
  all.emplace_back("NCCL_DEBUG=WARN");
  std::ranges::copy_if(environment, std::back_inserter(all), stays);
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));  // NOLINT: execve does not write to them
  result.push_back(nullptr);
  return result;
}

}  // namespace

Error become_phantom(const PhantomRank& rank, const std::vector<std::string>& environment, char** argv) {
  dryrun::Options options;
  options.topology = rank.topology;
  options.nccl = rank.nccl;
  options.nodes = rank.ranks;
  options.ranks = 1;
  auto inputs = dryrun::read_inputs(options);
  if (!inputs) return inputs.error();
  auto prepared = dryrun::prepare(options, *inputs, {});
  if (!prepared) return prepared.error();
  const auto files = make_files(prepared->request, rank);
  if (!files) return files.error();
  const std::vector<std::string> own =
      environment_of(rank, files->paths, prepared->request.nodes[rank.rank].environment, environment);
  const std::vector<std::string> words{"angio", argv[0], argv[1]};
  execve("/proc/self/exe", pointers(words).data(), pointers(own).data());
  return {ErrorCode::kIo, fmt::format("cannot start this program anew: {}", errno_text(errno)), {}};
}

}  // namespace angio::app
