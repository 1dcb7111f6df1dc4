// Where the ranks of several nodes meet: address, port, backend, and which node is which.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/launch_rules.hpp"

namespace angio::lint {
namespace {

class Rendezvous {
 public:
  Rendezvous(const Job& job, const Context& context, Complaints& out)
      : job_(job), context_(context), out_(out) {}

  void check() {
    // Several "nodes" side by side on one host, for a test: localhost is right then.
    rehearsal_ = std::ranges::any_of(
        job_.lines, [](const Line& line) { return line.command->background && find_torch(line) != nullptr; });
    for (const auto& line : job_.lines) {
      if (const auto* torch = find_torch(line)) of_torch(line, *torch);
      if (const auto* accelerate = find_stage(line, {"accelerate"})) of_accelerate(line, *accelerate);
    }
    master_variable();
    fixed_port();
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void of_torch(const Line& line, const Stage& torch) {
    const auto nodes = find_option(torch, {"--nnodes"});
    const auto count = nodes_of(line, torch);
    standalone(torch, nodes, count);
    master_ignored(torch);
    if (count.value_or(2) < 2 || !nodes) return;
    const bool certain =
        count || context_.several_nodes.value_or(false) || job_.allocation.nodes.value_or(1) > 1;
    if (!certain) return;
    const auto backend = find_option(torch, {"--rdzv-backend"});
    const bool fixed = !backend || backend->value == "static";
    if (fixed && count && !find_option(torch, {"--standalone"})) node_rank(line, torch, *count);
    if (!fixed && backend->value == "c10d") endpoint(torch, *backend);
    if (!line.command->background && !rehearsal_) localhost(torch);
  }

  void standalone(const Stage& torch, const std::optional<Option>& nodes, std::optional<long> count) {
    const auto option = find_option(torch, {"--standalone"});
    if (!option || !nodes || count.value_or(1) < 2) return;
    add("launch.torch.standalone-nodes", option->word->place,
        "--standalone meets on this host only; with --nnodes=" + nodes->value +
            " each node waits for the others in vain",
        "--rdzv-backend=c10d --rdzv-endpoint=NODE0:29500");
  }

  void master_ignored(const Stage& torch) {
    const auto backend = find_option(torch, {"--rdzv-backend"});
    const auto master = find_option(torch, {"--master-addr"});
    if (!backend || backend->value != "c10d" || !master) return;
    add("launch.torch.master-ignored", master->word->place,
        "--master-addr is of the static rendezvous; with --rdzv-backend=c10d only --rdzv-endpoint counts",
        "name the host in --rdzv-endpoint and leave --master-addr out");
  }

  void node_rank(const Line& line, const Stage& torch, long count) {
    const auto rank = find_option(torch, {"--node-rank"});
    if (!rank) {
      if (variable_at(line, "PET_NODE_RANK") || has_setting("PET_NODE_RANK") ||
          has_setting("PET_RDZV_BACKEND"))
        return;
      add("launch.torch.node-rank-missing", torch.place(),
          "--nnodes=" + std::to_string(count) +
              " without --node-rank: every node takes rank 0 and the group never forms",
          "srun bash -c 'torchrun --node-rank=$SLURM_NODEID …', quoted so that each node expands it, or "
          "--rdzv-backend=c10d with --rdzv-endpoint");
      return;
    }
    const auto* srun = find_stage(line, {"srun", "pdsh", "clush"});
    if (srun == nullptr || rank->dynamic || !parse_integer<long>(rank->value)) return;
    if (number_option(line, *srun, {"--nodes", "-N"}).value_or(2) < 2 ||
        find_option(*srun, {"-w", "--nodelist"}))
      return;
    add("launch.torch.node-rank-constant", rank->word->place,
        "--node-rank " + rank->value + " is the same on all nodes that " + srun->program + " starts it on",
        "--node-rank=$SLURM_NODEID, inside bash -c '…' so that each node expands it");
  }

  [[nodiscard]] bool has_setting(std::string_view name) const {
    return std::ranges::any_of(job_.script->settings, [&](const Setting& s) { return s.name == name; });
  }

  void endpoint(const Stage& torch, const Option& backend) {
    if (find_option(torch, {"--rdzv-endpoint"}) || has_setting("PET_RDZV_ENDPOINT")) return;
    add("launch.torch.endpoint-missing", backend.word->place,
        "--rdzv-backend=c10d without --rdzv-endpoint: every node opens a store of its own on localhost",
        "--rdzv-endpoint=NODE0:29500, the same on all nodes");
  }

  void localhost(const Stage& torch) {
    for (const std::string_view name : {"--master-addr", "--rdzv-endpoint"}) {
      const auto address = find_option(torch, {name});
      if (!address || !is_this_host(address->value)) continue;
      add("launch.rendezvous.localhost", address->word->place,
          std::string(name) + " " + address->value +
              " with several nodes: the others look for rank 0 on themselves",
          "an address of node 0 that all nodes reach; it need not be of the InfiniBand network");
    }
  }

  void of_accelerate(const Line& line, const Stage& accelerate) {
    if (nodes_of(line, accelerate).value_or(1) < 2) return;
    const auto address = find_option(accelerate, {"--main_process_ip"});
    if (address && is_this_host(address->value))
      add("launch.rendezvous.localhost", address->word->place,
          "--main_process_ip " + address->value +
              " with several nodes: the others look for rank 0 on themselves",
          "an address of node 0 that all nodes reach");
    const auto rank = find_option(accelerate, {"--machine_rank"});
    const auto* srun = find_stage(line, {"srun", "pdsh", "clush"});
    if (rank && !rank->dynamic && srun != nullptr && parse_integer<long>(rank->value))
      add("launch.torch.node-rank-constant", rank->word->place,
          "--machine_rank " + rank->value + " is the same on all nodes that " + srun->program +
              " starts it on",
          "--machine_rank=$SLURM_NODEID, inside bash -c '…' so that each node expands it");
  }

  // export MASTER_ADDR=localhost in a job of several nodes.
  void master_variable() {
    if (job_.allocation.nodes.value_or(1) < 2) return;
    for (const auto& setting : job_.script->settings) {
      if (setting.name != "MASTER_ADDR" || setting.dynamic || setting.unset || !is_this_host(setting.value))
        continue;
      add("launch.rendezvous.localhost", setting.name_place,
          "MASTER_ADDR=" + setting.value + " in a job of " + counted(*job_.allocation.nodes, "node") +
              ": all but one look for rank 0 on themselves",
          "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)");
    }
  }

  void fixed_port() {
    if (!job_.allocation.slurm || job_.allocation.exclusive) return;
    for (const auto& setting : job_.script->settings) {
      if (setting.name != "MASTER_PORT" || setting.dynamic || setting.unset) continue;
      if (!parse_integer<std::uint16_t>(setting.value)) continue;
      add("launch.rendezvous.fixed-port", setting.name_place,
          "MASTER_PORT=" + setting.value + " is the same in every job: two of them on one node collide",
          "MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))");
      return;
    }
  }

  const Job& job_;
  const Context& context_;
  Complaints& out_;
  bool rehearsal_ = false;
};

}  // namespace

void check_rendezvous(const Job& job, const Context& context, Complaints& out) {
  Rendezvous(job, context, out).check();
}

}  // namespace angio::lint
