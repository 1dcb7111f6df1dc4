// Network commands that do not reach what NCCL uses: IPoIB's MTU, TCP buffers, rdma_cm's traffic class.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/system_rules.hpp"

namespace angio::lint {
namespace {

// IPoIB's limits (Linux Documentation/infiniband/ipoib.rst): the InfiniBand MTU less 4 in datagram mode.
constexpr long kDatagramMost = 4092;

class Network {
 public:
  Network(const Job& job, const Context& context, Complaints& out)
      : job_(job), context_(context), out_(out) {}

  void check() {
    for (const auto& line : job_.lines) {
      for (auto i = line.own; i < line.stages.size(); ++i) {
        const auto& stage = line.stages[i];
        if (stage.program == "ip" || stage.program == "ifconfig") mtu(stage);
        if (stage.program == "sysctl") tcp_buffers(line, stage);
        if (stage.program == "cma_roce_tos") rdma_cm(stage.place(), "cma_roce_tos");
        if (stage.program == "mlnx_qos") priorities(line, stage);
        switch_buffers(stage);
      }
    }
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  // ip link set [dev] ib0 mtu 4096; ifconfig ib0 mtu 4096.
  void mtu(const Stage& stage) {
    if (stage.program == "ip" && !has_word(stage, "link")) return;
    const Word* device = nullptr;
    const Word* value = nullptr;
    for (std::size_t i = 1; i < stage.words.size(); ++i) {
      if (stage.words[i]->text == "mtu" && i + 1 < stage.words.size()) value = stage.words[i + 1];
      if (is_ipoib(stage.words[i]->text)) device = stage.words[i];
    }
    const auto size = value != nullptr ? parse_integer<long>(value->text) : std::nullopt;
    if (device == nullptr || !size) return;
    const bool connected = contains(job_.script->text, "/mode") && contains(job_.script->text, "connected");
    const std::string what = "mtu " + std::to_string(*size) + " of " + device->text;
    constexpr std::string_view kAdvice =
        "RDMA's MTU is the port's active_mtu (ibv_devinfo); the subnet manager and the switch set it";
    if (*size > kDatagramMost && !connected) {
      add("system.mtu.ipoib", value->place,
          what + " is IPoIB's, not RDMA's; in datagram mode the kernel refuses more than " +
              std::to_string(kDatagramMost),
          std::string(kAdvice));
    } else if (!connected) {
      auto complaint = complain("system.mtu.ipoib", *job_.script, value->place,
                                what + " is IPoIB's (TCP over InfiniBand), not RDMA's", std::string(kAdvice));
      complaint.severity = model::Severity::kInfo;
      out_.push_back(std::move(complaint));
    }
  }

  // ib0, ibp65s0, ibs1f0: the names that udev and the driver give.
  [[nodiscard]] bool is_ipoib(std::string_view name) const {
    for (const auto& machine : context_.machines)
      for (const auto& network : machine.networks)
        if (network.name == name) return network.kind.is("ipoib") || network.driver.is("ib_ipoib");
    if (!name.starts_with("ib") || name.size() < 3) return false;
    const char third = name[2];
    const bool digits_follow = name.size() > 3 && name[3] >= '0' && name[3] <= '9';
    return (third >= '0' && third <= '9') || ((third == 'p' || third == 's') && digits_follow);
  }

  void tcp_buffers(const Line& line, const Stage& stage) {
    if (said_buffers_) return;
    const auto comment = to_lower(comment_near(*job_.script, line.command->place));
    const bool for_rdma = contains(comment, "rdma") || contains(comment, "infiniband") ||
                          contains(comment, "nccl") || contains(comment, "roce");
    if (!for_rdma) return;
    for (const auto* word : stage.words) {
      const auto& text = word->text;
      if (!text.starts_with("net.core.rmem") && !text.starts_with("net.core.wmem") &&
          !text.starts_with("net.ipv4.tcp_"))
        continue;
      said_buffers_ = true;
      add("system.network.tcp-buffers", word->place,
          text.substr(0, text.find('=')) +
              " is of TCP sockets: RDMA passes them by; NCCL's Socket transport and bootstrap use them",
          "leave it out of an RDMA tuning");
      return;
    }
  }

  [[nodiscard]] const Setting* setting(std::string_view name) const {
    for (const auto& setting : job_.script->settings)
      if (setting.name == name && !setting.unset) return &setting;
    return nullptr;
  }

  void rdma_cm(const Place& place, std::string_view tool) {
    if (setting("NCCL_IB_TC") != nullptr) return;
    add("system.qos.rdma-cm", place,
        std::string(tool) +
            " marks connections of rdma_cm; NCCL makes its own queue pairs and takes NCCL_IB_TC",
        "export NCCL_IB_TC with the class that the fabric expects (its DSCP times 4)");
  }

  // mlnx_qos --pfc 0,0,0,1,… against NCCL_IB_TC: DSCP is the class / 4, its priority DSCP / 8 unless mapped.
  void priorities(const Line& line, const Stage& stage) {
    static_cast<void>(line);
    const auto pfc = find_option(stage, {"--pfc", "-f"});
    const auto* traffic = setting("NCCL_IB_TC");
    if (!pfc || pfc->dynamic || traffic == nullptr || traffic->dynamic ||
        contains(job_.script->text, "dscp2prio"))
      return;
    const auto value = parse_integer<std::uint8_t>(traffic->value);
    const auto flags = split(pfc->value, ',');
    if (!value || flags.size() != 8) return;
    const auto priority = static_cast<std::size_t>(*value / 4 / 8);
    if (flags[priority] != "0") return;
    add("system.qos.lossy-priority", traffic->name_place,
        "NCCL_IB_TC=" + traffic->value + " is DSCP " + std::to_string(*value / 4) + ", priority " +
            std::to_string(priority) + "; --pfc " + pfc->value + " leaves it without flow control",
        "the class whose priority has PFC, or map the DSCP with --dscp2prio");
  }

  void switch_buffers(const Stage& stage) {
    const bool named = stage.program == "apply-buffer-profile" || stage.program == "buffer-profile" ||
                       has_word(stage, "buffer-profile");
    if (!named || said_switch_) return;
    said_switch_ = true;
    add("system.switch.buffer-profile", stage.place(),
        "the command reference of InfiniBand switches has no buffer profiles; a full buffer there stalls the "
        "sender and drops nothing",
        "congestion shows as port_xmit_wait: angio doctor; ask the fabric's owner with that evidence");
  }

  const Job& job_;
  const Context& context_;
  Complaints& out_;
  bool said_buffers_ = false;
  bool said_switch_ = false;
};

}  // namespace

void check_network(const Job& job, const Context& context, Complaints& out) {
  Network(job, context, out).check();
}

}  // namespace angio::lint
