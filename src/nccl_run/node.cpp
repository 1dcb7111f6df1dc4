#include "nccl_run/node.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <expected>

#include "base/text.hpp"
#include "model/dryrun_end.hpp"
#include "nccl_run/amounts.hpp"
#include "nccl_run/nccl_api.hpp"
#include "nccl_run/pipe_lines.hpp"
#include "nccl_run/script.hpp"

namespace angio::nccl_run {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr unsigned kNonBlocking = 1;     // cudaStreamNonBlocking
constexpr Outcome kInvalidArgument = 4;  // ncclInvalidArgument
constexpr Outcome kInvalidUsage = 5;     // ncclInvalidUsage

using Step = std::expected<void, FailedReport>;
using Estimate = std::expected<std::optional<double>, FailedReport>;  // microseconds

struct Rank {
  std::uint32_t rank = 0;
  std::uint32_t device = 0;
  Communicator communicator = nullptr;
  Stream stream = nullptr;
  void* from = nullptr;
  void* to = nullptr;
};

struct Node {
  NodeScript script;
  StandInApi stand_in;
  NcclApi nccl;
  int version = 0;
  bool progress = false;
  int report_fd = -1;
  std::vector<Rank> ranks;
  std::vector<std::uint64_t> after_init;  // bytes, by rank
};

std::unexpected<FailedReport> failed(std::string call, std::string text, std::optional<int> result = {}) {
  return std::unexpected(FailedReport{std::move(call), result, std::move(text)});
}

// False when `angio dryrun` is gone: then nobody wants an answer.
bool report(const Node& node, const std::string& line) {
  return write_fully(node.report_fd, line + "\n");
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Step checked(const Node& node, const char* call, Outcome result) {
  if (result == 0) return {};
  std::string text = node.nccl.error_string(result);
  const char* last = node.nccl.last_error != nullptr ? node.nccl.last_error(nullptr) : nullptr;
  const std::string_view more = last != nullptr ? trim(last) : std::string_view();
  if (!more.empty()) text += ": " + std::string(more);
  return failed(call, std::move(text), result);
}

Step checked_cuda(const Node& node, const char* call, int result) {
  if (result == 0) return {};
  return failed(call, fmt::format("{} (CUDA error {}, of the phantom GPUs)",
                                  node.stand_in.error_string(result), result));
}

// What the stand-in could not read of its hardware; without it there is only "no device".
Step check_hardware(const Node& node) {
  std::string problem(node.stand_in.problem(nullptr, 0) + 1, '\0');
  node.stand_in.problem(problem.data(), problem.size());
  problem.pop_back();
  return problem.empty() ? Step{} : failed("the description of the phantom node", std::move(problem));
}

Step load(Node& node) {
  Result<StandInApi> stand_in = find_stand_in();
  if (!stand_in) return failed("load", stand_in.error().message);
  node.stand_in = *stand_in;
  if (Step step = check_hardware(node); !step) return step;
  Result<NcclApi> nccl = load_nccl(node.script.library);
  if (!nccl) return failed("dlopen", nccl.error().message);
  node.nccl = *nccl;
  LoadedReport loaded;
  if (node.script.redirect) {
    const int result = node.stand_in.redirect(node.script.library.c_str(), &loaded.redirect_ms,
                                              &loaded.provided, &loaded.refused);
    if (result != 0)
      return failed("redirect",
                    fmt::format("the entries of its CUDA runtime could not be redirected ({})", result));
  }
  if (Step step = checked(node, "ncclGetVersion", node.nccl.get_version(&loaded.version)); !step) return step;
  node.version = loaded.version;
  node.progress = node.script.progress && node.stand_in.progress(node.version) == 1;
  loaded.progress = node.progress;
  report(node, write_loaded(loaded));
  return {};
}

std::string hexadecimal(const UniqueId& id) {
  std::string text;
  for (const char byte : id.internal)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

bool read_hexadecimal(std::string_view text, UniqueId& id) {
  if (text.size() != 2 * kUniqueIdSize) return false;
  for (std::size_t i = 0; i < kUniqueIdSize; ++i) {
    const auto byte = parse_integer<std::uint8_t>(text.substr(2 * i, 2), 16);
    if (!byte) return false;
    id.internal[i] = static_cast<char>(*byte);
  }
  return true;
}

// Node 0 makes it and hands it on, the others get it.
Step agree_on_id(const Node& node, LineReader& script, UniqueId& id) {
  if (node.script.node == 0) {
    if (Step step = checked(node, "ncclGetUniqueId", node.nccl.get_unique_id(&id)); !step) return step;
    report(node, write_id(hexadecimal(id)));
    return {};
  }
  const std::optional<std::string> line = script.next();
  if (!line || !read_hexadecimal(*line, id)) return failed("ncclUniqueId", "node 0 gave none");
  return {};
}

std::uint64_t device_memory(const Node& node, std::uint32_t device, MemoryReport* all = nullptr) {
  unsigned long long now = 0;
  unsigned long long peak = 0;
  unsigned long long host = 0;
  node.stand_in.memory(device, &now, &peak, &host);
  if (all != nullptr) *all = {device, 0, peak, host};
  return now;
}

Step init_all(Node& node, const UniqueId& id) {
  if (Step step = checked(node, "ncclGroupStart", node.nccl.group_start()); !step) return step;
  for (Rank& rank : node.ranks) {
    if (Step step =
            checked_cuda(node, "cudaSetDevice", node.stand_in.set_device(static_cast<int>(rank.device)));
        !step) {
      return step;
    }
    const Outcome result = node.nccl.init_rank(&rank.communicator, static_cast<int>(node.script.world), id,
                                               static_cast<int>(rank.rank));
    if (Step step = checked(node, "ncclCommInitRank", result); !step) return step;
  }
  return checked(node, "ncclCommInitRank", node.nccl.group_end());
}

Step init(Node& node, const UniqueId& id) {
  const auto start = std::chrono::steady_clock::now();
  if (Step step = init_all(node, id); !step) return step;
  report(node, write_init({milliseconds_since(start) / 1000.0}));
  for (const Rank& rank : node.ranks)
    node.after_init.push_back(device_memory(node, rank.device));
  return {};
}

// What an application brings along: a stream and two buffers. Not counted as NCCL's memory, and never
// touched, so they cost address space only.
Step prepare_rank(const Node& node, std::uint64_t bytes, Rank& rank) {
  const StandInApi& cuda = node.stand_in;
  if (Step step = checked_cuda(node, "cudaSetDevice", cuda.set_device(static_cast<int>(rank.device))); !step)
    return step;
  if (Step step =
          checked_cuda(node, "cudaStreamCreateWithFlags", cuda.make_stream(&rank.stream, kNonBlocking));
      !step) {
    return step;
  }
  if (Step step = checked_cuda(node, "cudaMalloc", cuda.allocate(&rank.from, bytes)); !step) return step;
  // A lone rank copies from one buffer to the other, which would touch them: it works in place.
  rank.to = rank.from;
  return node.script.world == 1 ? Step{} : checked_cuda(node, "cudaMalloc", cuda.allocate(&rank.to, bytes));
}

Step prepare(Node& node) {
  const std::uint64_t bytes = buffer_bytes(node.script.operations, node.script.world, kElement);
  node.stand_in.own(1);
  Step step;
  for (Rank& rank : node.ranks) {
    step = prepare_rank(node, bytes, rank);
    if (!step) break;
  }
  node.stand_in.own(0);
  return step;
}

// As PyTorch and nccl-tests up to 2.27 do it: a send and a receive for each pair.
Outcome call_all_to_all(const NcclApi& nccl, const Rank& rank, std::size_t count, std::uint32_t world) {
  for (std::uint32_t peer = 0; peer < world; ++peer) {
    const std::size_t offset = peer * count * kElement;
    Outcome result = nccl.send(static_cast<char*>(rank.from) + offset, count, kFloat32,
                               static_cast<int>(peer), rank.communicator, rank.stream);
    if (result != 0) return result;
    result = nccl.receive(static_cast<char*>(rank.to) + offset, count, kFloat32, static_cast<int>(peer),
                          rank.communicator, rank.stream);
    if (result != 0) return result;
  }
  return 0;
}

Outcome call_send_receive(const NcclApi& nccl, const Rank& rank, std::size_t count, std::uint32_t world) {
  const int next = static_cast<int>((rank.rank + 1) % world);
  const int before = static_cast<int>((rank.rank + world - 1) % world);
  const Outcome result = nccl.send(rank.from, count, kFloat32, next, rank.communicator, rank.stream);
  if (result != 0) return result;
  return nccl.receive(rank.to, count, kFloat32, before, rank.communicator, rank.stream);
}

Outcome call(const Node& node, const Rank& rank, const Operation& operation) {
  const NcclApi& nccl = node.nccl;
  const std::uint32_t world = node.script.world;
  const std::size_t count = element_count(operation, world, kElement);
  const Communicator with = rank.communicator;
  switch (operation.collective) {
    case Collective::kAllReduce:
      return nccl.all_reduce(rank.from, rank.to, count, kFloat32, kSum, with, rank.stream);
    case Collective::kAllGather:
      return nccl.all_gather(rank.from, rank.to, count, kFloat32, with, rank.stream);
    case Collective::kReduceScatter:
      return nccl.reduce_scatter(rank.from, rank.to, count, kFloat32, kSum, with, rank.stream);
    case Collective::kBroadcast:
      return nccl.broadcast(rank.from, rank.to, count, kFloat32, 0, with, rank.stream);
    case Collective::kReduce:
      return nccl.reduce(rank.from, rank.to, count, kFloat32, kSum, 0, with, rank.stream);
    case Collective::kAllToAll:
      return call_all_to_all(nccl, rank, count, world);
    case Collective::kSendRecv:
      return call_send_receive(nccl, rank, count, world);
  }
  return 0;
}

Step call_all(const Node& node, const Operation& operation) {
  if (Step step = checked(node, "ncclGroupStart", node.nccl.group_start()); !step) return step;
  const std::string name = fmt::format("nccl{}", label(operation.collective));
  for (const Rank& rank : node.ranks) {
    if (Step step = checked(node, name.c_str(), call(node, rank, operation)); !step) return step;
  }
  return {};
}

// NCCL's own estimate. NCCL has none for point to point. Where the ranks are not connected yet NCCL connects
// them here, and what fails in that does not fail again: the operation after it is enqueued all the same.
Estimate estimate(const Node& node, const Operation& operation) {
  const bool wanted = node.script.estimates && node.nccl.simulate_end != nullptr;
  if (!wanted || model::is_point_to_point(label(operation.collective)) || node.script.world == 1)
    return std::nullopt;
  SimulationInfo info;
  info.version = static_cast<std::uint32_t>(node.version);
  if (Step step = call_all(node, operation); !step) return std::unexpected(std::move(step.error()));
  const Outcome result = node.nccl.simulate_end(&info);
  if (result == kInvalidArgument || result == kInvalidUsage)
    return std::nullopt;  // it estimates no such thing
  if (Step step = checked(node, "ncclGroupSimulateEnd", result); !step)
    return std::unexpected(std::move(step.error()));
  return info.estimated_time >= 0 ? std::optional<double>(info.estimated_time) : std::nullopt;
}

void note_launch(const Node& node, OperationReport& done) {
  std::array<char, 512> name{};
  unsigned grid = 0;
  unsigned block = 0;
  if (node.stand_in.last_launch(node.ranks.front().device, name.data(), name.size(), &grid, &block) != 1)
    return;
  done.kernel = name.data();
  done.grid = grid;
  done.block = block;
}

Step run_operation(const Node& node, std::uint32_t index, const Operation& operation) {
  // NCCL's lines leave its buffer one by one (the program of a node sees to it), so this one stands before
  // them.
  write_fully(STDOUT_FILENO, operation_mark(index, operation) + "\n");
  OperationReport done;
  done.index = index;
  Estimate estimated = estimate(node, operation);
  if (!estimated) return std::unexpected(std::move(estimated.error()));
  done.estimate_us = *estimated;
  OperationReport before;
  note_launch(node, before);
  const auto start = std::chrono::steady_clock::now();
  if (Step step = call_all(node, operation); !step) return step;
  const std::string name = fmt::format("nccl{}", label(operation.collective));
  if (Step step = checked(node, name.c_str(), node.nccl.group_end()); !step) return step;
  done.enqueue_ms = milliseconds_since(start);
  note_launch(node, done);
  report(node, write_operation(done));
  return {};
}

void report_memory(const Node& node) {
  for (std::size_t i = 0; i < node.ranks.size(); ++i) {
    MemoryReport memory;
    device_memory(node, node.ranks[i].device, &memory);
    memory.after_init = i < node.after_init.size() ? node.after_init[i] : 0;
    report(node, write_memory(memory));
  }
}

void report_refused(const Node& node) {
  if (node.stand_in.refused == nullptr) return;
  std::string names(node.stand_in.refused(nullptr, 0) + 1, '\0');
  node.stand_in.refused(names.data(), names.size());
  for (const std::string_view name : split_lines(names)) {
    if (const std::string_view call = trim(name); !call.empty()) report(node, write_refused(call));
  }
}

void report_done(const Node& node) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report(node, write_done({static_cast<std::uint64_t>(usage.ru_maxrss) << 10U}));  // kB
}

// Without the pump, proxies wait for GPUs that never come, and NCCL for them.
Step destroy(Node& node) {
  if (!node.progress) return {};
  node.stand_in.settle();  // NCCL up to 2.23 drops what its proxies have not taken up yet
  for (const Rank& rank : node.ranks) {
    if (Step step = checked(node, "ncclCommDestroy", node.nccl.destroy(rank.communicator)); !step)
      return step;
  }
  return {};
}

Step work(Node& node, LineReader& script) {
  if (Step step = load(node); !step) return step;
  UniqueId id{};
  if (Step step = agree_on_id(node, script, id); !step) return step;
  if (Step step = init(node, id); !step) return step;
  if (Step step = prepare(node); !step) return step;
  for (std::uint32_t i = 0; i < node.script.operations.size(); ++i) {
    if (Step step = run_operation(node, i, node.script.operations[i]); !step) return step;
  }
  report_memory(node);
  return destroy(node);
}

}  // namespace

int run_node(int script_fd, int report_fd) {
  LineReader lines(script_fd);
  const std::optional<std::string> line = lines.next();
  Result<NodeScript> script = parse_script(line.value_or(""));
  Node node;
  node.report_fd = report_fd;
  if (!script) {
    report(node, write_failed({"script", std::nullopt, script.error().message}));
    return kFailed;
  }
  node.script = std::move(*script);
  for (std::uint32_t i = 0; i < node.script.ranks; ++i)
    node.ranks.push_back({node.script.first_rank + i, node.script.devices[i]});
  const Step step = work(node, lines);
  if (!step) report(node, write_failed(step.error()));
  report_refused(node);
  report_done(node);
  // Others may still talk to this node: it stays until `angio dryrun` says that all are done.
  while (lines.next()) {
  }
  return step ? kDone : kFailed;
}

}  // namespace angio::nccl_run
