// Version 5 of the interface: NCCL 2.28 and 2.29.
#include "core.hpp"

namespace angio::tuner {
namespace {

abi::Result init(void** context, std::uint64_t /*communicator*/, std::size_t ranks, std::size_t nodes,
                 abi::Logger logger, void* /*domains*/, void* /*constants*/) {
  *context = begin(ranks, nodes, logger);
  return abi::kSuccess;
}

abi::Result get_coll_info(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                          int algorithms, int protocols, int registered, int* channels) {
  choose_by_costs(context, {function, bytes, pipe_ops, registered}, costs, algorithms, protocols, channels);
  return abi::kSuccess;
}

abi::Result finalize(void* context) {
  end(context);
  return abi::kSuccess;
}

}  // namespace

}  // namespace angio::tuner

extern "C" {
extern const angio::tuner::abi::TunerV5 ncclTunerPlugin_v5 __attribute__((visibility("default")));
const angio::tuner::abi::TunerV5 ncclTunerPlugin_v5 = {angio::tuner::kName, angio::tuner::init,
                                                       angio::tuner::get_coll_info, angio::tuner::finalize};
}
