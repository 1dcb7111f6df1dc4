#include "import/nccl_log/call_trace.hpp"

#include <algorithm>
#include <string>

#include "import/nccl_log/scan.hpp"

namespace angio::import::nccl_log {

namespace {

std::uint64_t call_hash(const Call& call) {
  const auto kind = (std::uint64_t{call.function} << 16U) | (std::uint64_t{call.datatype} << 8U) | call.op;
  return mix(mix(mix(3, call.count), kind), static_cast<std::uint64_t>(call.root));
}

model::NcclCall to_model(const Call& call) {
  model::NcclCall made;
  made.op_count = call.op_count;
  made.function = std::string(kFunctions[call.function]);
  made.count = call.count;
  made.datatype = call.datatype;
  made.op = call.op;
  made.root = call.root;
  made.source = {call.place, call.line, ""};
  return made;
}

}  // namespace

// The finished block joins the others; when there are too many, neighbours become one and blocks twice as
// long.
void CallTrace::close_block() {
  if (blocks_.size() >= kBlocks) {
    for (std::size_t i = 0; i + 1 < blocks_.size(); i += 2)
      blocks_[i / 2] = model::join_blocks(blocks_[i], blocks_[i + 1]);
    blocks_.resize(blocks_.size() / 2);
    block_length_ *= 2;
    if (block_.calls < block_length_) return;
  }
  blocks_.push_back(block_);
  block_ = {};
}

void CallTrace::add(const Call& call) {
  if (block_.calls == 0) {
    block_.first_op = call.op_count;
    block_.source = {call.place, call.line, ""};
  }
  block_ = model::join_blocks(block_, call_hash(call));
  if (block_.calls >= block_length_) close_block();
  if (first_.size() < kFirst) first_.push_back(call);
  if (last_.size() < kLast) {
    last_.push_back(call);
  } else {
    last_[collectives_ % kLast] = call;
  }
  ++collectives_;
}

model::NcclCalls CallTrace::finish() const {
  model::NcclCalls calls;
  calls.collectives = collectives_;
  calls.point_to_point = point_to_point_;
  calls.block_length = block_length_;
  for (const auto& call : first_)
    calls.first.push_back(to_model(call));
  const auto oldest = last_.size() < kLast ? 0 : collectives_ % kLast;
  for (std::size_t i = 0; i < last_.size(); ++i)
    calls.last.push_back(to_model(last_[(oldest + i) % last_.size()]));
  calls.blocks = blocks_;
  if (block_.calls > 0) calls.blocks.push_back(block_);
  return calls;
}

}  // namespace angio::import::nccl_log
