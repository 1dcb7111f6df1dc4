#include "nccl_run/nccl_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/text.hpp"

namespace angio::nccl_run {
namespace {

// Finds functions and remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void find(const char* name, Function*& to) {
    if (!find_if_there(name, to) && missing_.empty()) missing_ = name;
  }
  template <typename Function>
  bool find_if_there(const char* name, Function*& to) {
    to = reinterpret_cast<Function*>(dlsym(library_, name));
    return to != nullptr;
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace

Result<NcclApi> load_nccl(const std::string& path) {
  // Never closed: NCCL's threads outlive its communicators.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* said = dlerror();
    return fail(ErrorCode::kUnsupported, printable(said != nullptr ? said : "dlopen failed"));
  }
  NcclApi api;
  Symbols symbols(library);
  symbols.find("ncclGetVersion", api.get_version);
  symbols.find("ncclGetErrorString", api.error_string);
  symbols.find("ncclGetUniqueId", api.get_unique_id);
  symbols.find("ncclCommInitRank", api.init_rank);
  symbols.find("ncclCommDestroy", api.destroy);
  symbols.find("ncclGroupStart", api.group_start);
  symbols.find("ncclGroupEnd", api.group_end);
  symbols.find("ncclAllReduce", api.all_reduce);
  symbols.find("ncclAllGather", api.all_gather);
  symbols.find("ncclReduceScatter", api.reduce_scatter);
  symbols.find("ncclBroadcast", api.broadcast);
  symbols.find("ncclReduce", api.reduce);
  symbols.find("ncclSend", api.send);
  symbols.find("ncclRecv", api.receive);
  symbols.find_if_there("ncclGetLastError", api.last_error);
  symbols.find_if_there("ncclGroupSimulateEnd", api.simulate_end);
  if (symbols.missing().empty()) return api;
  return fail(ErrorCode::kUnsupported, fmt::format("{} has no {}", printable(path), symbols.missing()));
}

Result<StandInApi> find_stand_in() {
  StandInApi api;
  Symbols symbols(RTLD_DEFAULT);
  symbols.find("angio_phantom_redirect", api.redirect);
  symbols.find("angio_phantom_memory", api.memory);
  symbols.find("angio_phantom_last_launch", api.last_launch);
  symbols.find("angio_phantom_refused", api.refused);
  symbols.find("angio_phantom_progress", api.progress);
  symbols.find("angio_phantom_settle", api.settle);
  symbols.find("angio_phantom_own", api.own);
  symbols.find("angio_phantom_problem", api.problem);
  symbols.find("cudaGetErrorString", api.error_string);
  symbols.find("cudaSetDevice", api.set_device);
  symbols.find("cudaMalloc", api.allocate);
  symbols.find("cudaStreamCreateWithFlags", api.make_stream);
  if (symbols.missing().empty()) return api;
  return fail(ErrorCode::kBug,
              fmt::format("the stand-in for the CUDA runtime is not loaded: no {}", symbols.missing()));
}

}  // namespace angio::nccl_run
