// Version 2 of the interface: NCCL 2.21.
#include "core.hpp"

namespace angio::tuner {
namespace {

abi::Result init(std::size_t ranks, std::size_t nodes, abi::Logger logger, void** context) {
  *context = begin(ranks, nodes, logger);
  return abi::kSuccess;
}

abi::Result get_coll_info(void* context, int function, std::size_t bytes, int collnet, int nvls, int pipe_ops,
                          int* algorithm, int* protocol, int* channels) {
  const Question question{function, bytes, pipe_ops, 0};
  choose_by_support(context, question, collnet != 0, nvls != 0, algorithm, protocol, channels);
  return abi::kSuccess;
}

abi::Result destroy(void* context) {
  end(context);
  return abi::kSuccess;
}

}  // namespace

}  // namespace angio::tuner

extern "C" {
extern const angio::tuner::abi::TunerV2 ncclTunerPlugin_v2 __attribute__((visibility("default")));
const angio::tuner::abi::TunerV2 ncclTunerPlugin_v2 = {angio::tuner::kName, angio::tuner::init,
                                                       angio::tuner::get_coll_info, angio::tuner::destroy};
}
