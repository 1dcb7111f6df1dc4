#include "step/pipeline.hpp"

#include <algorithm>

namespace angio::step {
namespace {

class Order {
 public:
  Order(std::uint32_t stages, std::uint32_t stage) : first_(stage == 0), last_(stage + 1 == stages) {}

  void forward() { turns_.push_back({Turn::kForward, forwards_++, false, false, false}); }
  void backward() { turns_.push_back({Turn::kBackward, backwards_++, false, false, false}); }
  void with_next(bool send, bool receive) { exchange(!last_, true, send, receive); }
  void with_previous(bool send, bool receive) { exchange(!first_, false, send, receive); }
  std::vector<PipelineTurn> take() { return std::move(turns_); }

 private:
  void exchange(bool there, bool next, bool send, bool receive) {
    if (there && (send || receive)) turns_.push_back({Turn::kExchange, 0, next, send, receive});
  }
  bool first_;
  bool last_;
  std::uint32_t forwards_ = 0;
  std::uint32_t backwards_ = 0;
  std::vector<PipelineTurn> turns_;
};

}  // namespace

std::vector<PipelineTurn> pipeline_order(std::uint32_t stages, std::uint32_t stage,
                                         std::uint32_t micro_batches) {
  const std::uint32_t warm_up = std::min(stages - stage - 1, micro_batches);
  const std::uint32_t rest = micro_batches - warm_up;
  Order order(stages, stage);
  for (std::uint32_t i = 0; i < warm_up; ++i) {
    order.with_previous(false, true);
    order.forward();
    order.with_next(true, false);
  }
  if (rest > 0) order.with_previous(false, true);
  for (std::uint32_t i = 0; i < rest; ++i) {
    order.forward();
    order.with_next(true, true);
    order.backward();
    order.with_previous(true, i + 1 < rest);
  }
  for (std::uint32_t i = 0; i < warm_up; ++i) {
    order.with_next(false, true);
    order.backward();
    order.with_previous(true, false);
  }
  return order.take();
}

double bubble_share(std::uint32_t stages, std::uint32_t micro_batches) {
  return (stages - 1.0) / (micro_batches + stages - 1.0);
}

}  // namespace angio::step
