// Version 3 of the interface: NCCL 2.22 and 2.23.
#include "core.hpp"

namespace angio::tuner {
namespace {

abi::Result init(std::size_t ranks, std::size_t nodes, abi::Logger logger, void** context) {
  *context = begin(ranks, nodes, logger);
  return abi::kSuccess;
}

abi::Result get_coll_info(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                          int algorithms, int protocols, int* channels) {
  choose_by_costs(context, {function, bytes, pipe_ops, 0}, costs, algorithms, protocols, channels);
  return abi::kSuccess;
}

abi::Result destroy(void* context) {
  end(context);
  return abi::kSuccess;
}

}  // namespace

}  // namespace angio::tuner

extern "C" {
extern const angio::tuner::abi::TunerV3 ncclTunerPlugin_v3 __attribute__((visibility("default")));
const angio::tuner::abi::TunerV3 ncclTunerPlugin_v3 = {angio::tuner::kName, angio::tuner::init,
                                                       angio::tuner::get_coll_info, angio::tuner::destroy};
}
