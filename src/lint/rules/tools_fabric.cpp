// InfiniBand's tools: what each of them does not print, and which of them need an InfiniBand fabric.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/tools_rules.hpp"

namespace angio::lint {
namespace {

bool is_ipv4(std::string_view text) {
  const auto parts = split(text, '.');
  return parts.size() == 4 &&
         std::ranges::all_of(parts, [](auto part) { return parse_integer<std::uint8_t>(part).has_value(); });
}

class Fabric {
 public:
  Fabric(const Job& job, const Context& context, Complaints& out) : job_(job), context_(context), out_(out) {}

  void check(const Line& line, const Stage& stage) {
    const auto& program = stage.program;
    if (program == "nccl-topo") no_such_command(stage);
    if (program == "ibstat") ibstat(line, stage);
    if (program == "iblinkinfo") iblinkinfo(line, stage);
    if (program == "ibswitches") ibswitches(line, stage);
    if (program == "ibping") ibping(stage);
    if (program == "ibdev2netdev") ibdev2netdev(line, stage);
    if (program == "mlnxofedinstall") mlnxofedinstall(stage);
    no_fabric(stage);
    impossible_rate(stage);
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void no_such_command(const Stage& stage) {
    add("tools.command.unknown", stage.place(), "nccl-topo: no package of NCCL has this command",
        "any NCCL program writes the topology with NCCL_TOPO_DUMP_FILE=FILE; angio nccl-topo makes one "
        "without a job");
  }

  void ibstat(const Line& line, const Stage& stage) {
    if (const auto* word = grepped(job_, line, {"mtu"})) {
      add("tools.ibstat.not-printed", word->place, "ibstat prints no MTU: this grep finds nothing",
          "ibv_devinfo | grep -E 'active_mtu|max_mtu'");
    } else if (const auto* gid = grepped(job_, line, {"gid"})) {
      add("tools.ibstat.not-printed", gid->place, "ibstat prints GUIDs, no GIDs: this grep finds nothing",
          "ibv_devinfo -v | grep GID, show_gids, or /sys/class/infiniband/*/ports/*/gids/");
    }
    static_cast<void>(stage);
  }

  void iblinkinfo(const Line& line, const Stage& stage) {
    const bool errors =
        grepped(job_, line, {"error", "symbol", "downed", "counter"}) != nullptr ||
        mentions(comment_near(*job_.script, line.command->place), {"error", "symbol", "错误"});
    const auto port = find_option(stage, {"-p", "--port-info"});
    if (!errors && !port) return;
    auto complaint =
        complain("tools.iblinkinfo.no-counters", *job_.script, port ? port->word->place : stage.place(),
                 std::string("iblinkinfo prints no error counters") +
                     (port ? "; -p adds LifeTime, HoqLife and VLStallCount" : ""),
                 "ibqueryerrors, perfquery -x, or /sys/class/infiniband/*/ports/*/counters; angio doctor");
    if (!errors) complaint.severity = model::Severity::kInfo;
    out_.push_back(std::move(complaint));
  }

  void ibswitches(const Line& line, const Stage& stage) {
    if (grepped(job_, line, {"buffer", "vl", "credit"}) == nullptr) return;
    add("tools.ibswitches.no-buffers", stage.place(),
        "ibswitches lists switch nodes, nothing of their buffers",
        "congestion shows in port_xmit_wait: perfquery -x on the switch port, or angio doctor");
  }

  void ibping(const Stage& stage) {
    if (find_option(stage, {"-S", "--Server"})) return;
    const auto guid = find_option(stage, {"-G", "--Guid"});
    for (const auto* word : stage.words) {
      const bool small =
          guid && guid->value_word == word && parse_integer<std::uint16_t>(guid->value).has_value();
      if (!is_ipv4(word->text) && !small) continue;
      add("tools.ibping.not-a-lid", word->place,
          "ibping takes a LID, or with -G a port GUID, of a peer that runs ibping -S; no IP and no GID "
          "index: \"" +
              word->text + "\"",
          "RoCE or by IP: rping, or ib_write_bw -x INDEX; InfiniBand: ibping LID");
      return;
    }
  }

  void ibdev2netdev(const Line& line, const Stage& stage) {
    if (!line.command->sudo) return;
    add("tools.ibdev2netdev.sudo", stage.place(),
        "ibdev2netdev needs no root; only MLNX_OFED and DOCA-OFED bring it", "everywhere: rdma link show");
  }

  void mlnxofedinstall(const Stage& stage) {
    for (const auto* word : stage.words) {
      if (word->text != "--enable-ethernet" && word->text != "--with-mlnx-virt") continue;
      add("tools.mlnxofed.unknown-option", word->place,
          word->text +
              " is no documented option of mlnxofedinstall, which takes any --with- and --enable- word "
              "without a complaint",
          "./mlnxofedinstall --help; NCCL itself needs libibverbs only");
    }
  }

  // Tools that speak to a subnet manager, on machines that have Ethernet ports only.
  void no_fabric(const Stage& stage) {
    static constexpr std::string_view kTools =
        "ibping iblinkinfo ibswitches ibhosts ibnetdiscover perfquery ibqueryerrors "
        "ibdiagnet smpquery saquery sminfo ibportstate";
    const auto tools = split_words(kTools);
    if (std::ranges::find(tools, stage.program) == tools.end()) return;
    for (const auto& machine : context_.machines) {
      bool ethernet = false;
      bool other = false;
      for (const auto& device : machine.rdma)
        for (const auto& port : device.ports)
          (port.link_layer == model::LinkLayer::kEthernet ? ethernet : other) = true;
      if (!ethernet || other) continue;
      add("tools.ib.no-fabric", stage.place(),
          stage.program + " works on InfiniBand; all RDMA ports of " + machine.name + " are Ethernet (RoCE)",
          "rdma link show, rdma statistic, ethtool -S; angio doctor");
      return;
    }
  }

  static bool mentions(std::string_view text, std::initializer_list<std::string_view> words) {
    const auto lower = to_lower(text);
    return std::ranges::any_of(words, [&](auto word) { return contains(lower, word); });
  }

  // "100G port, 92 GB/s": more bytes than the bits of the port carry.
  void impossible_rate(const Stage& stage) {
    if (!stage.program.starts_with("ib_") || !stage.program.ends_with("_bw")) return;
    const auto comment = comment_near(*job_.script, stage.place());
    const auto bytes = number_before(comment, {"GB/s", "GB/S", "GByte"});
    const auto bits = number_before(comment, {"Gb/s", "Gbps", "Gbit", "G port", "G link", "G NIC", "G "});
    if (!bytes || !bits || *bytes * 8 <= *bits) return;
    add("tools.perftest.impossible-rate", stage.place(),
        "the comment claims more GB/s than a port of " + std::to_string(static_cast<long>(*bits)) +
            " Gb/s carries: 8 bits make a byte",
        "ib_write_bw prints MiB/s, with --report_gbits Gb/s");
  }

  static std::optional<double> number_before(std::string_view text,
                                             std::initializer_list<std::string_view> units) {
    for (const auto unit : units) {
      const auto at = text.find(unit);
      if (at == std::string_view::npos) continue;
      auto head = text.substr(0, at);
      while (head.ends_with(' '))
        head.remove_suffix(1);
      auto begin = head.size();
      while (begin > 0 && ((head[begin - 1] >= '0' && head[begin - 1] <= '9') || head[begin - 1] == '.'))
        --begin;
      if (const auto number = parse_double(head.substr(begin))) return number;
    }
    return std::nullopt;
  }

  const Job& job_;
  const Context& context_;
  Complaints& out_;
};

}  // namespace

void check_fabric_tools(const Job& job, const Context& context, Complaints& out) {
  Fabric rules(job, context, out);
  for (const auto& line : job.lines)
    for (auto i = line.own; i < line.stages.size(); ++i)
      rules.check(line, line.stages[i]);
}

}  // namespace angio::lint
