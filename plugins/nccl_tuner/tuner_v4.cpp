// Version 4 of the interface: NCCL 2.24 to 2.27.
#include "core.hpp"

namespace angio::tuner {
namespace {

abi::Result init(std::size_t ranks, std::size_t nodes, abi::Logger logger, void** context) {
  *context = begin(ranks, nodes, logger);
  return abi::kSuccess;
}

abi::Result get_coll_info(void* context, int function, std::size_t bytes, int pipe_ops, float** costs,
                          int algorithms, int protocols, int registered, int* channels) {
  choose_by_costs(context, {function, bytes, pipe_ops, registered}, costs, algorithms, protocols, channels);
  return abi::kSuccess;
}

abi::Result destroy(void* context) {
  end(context);
  return abi::kSuccess;
}

}  // namespace

}  // namespace angio::tuner

extern "C" {
extern const angio::tuner::abi::TunerV4 ncclTunerPlugin_v4 __attribute__((visibility("default")));
const angio::tuner::abi::TunerV4 ncclTunerPlugin_v4 = {angio::tuner::kName, angio::tuner::init,
                                                       angio::tuner::get_coll_info, angio::tuner::destroy};
}
