// Every file of the corpus about InfiniBand: what it is read as, with counts made by grep and awk over the
// file, or how it is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "import/fabric/fabric_import.hpp"
#include "support/shared_corpus.hpp"

namespace angio::import {
namespace {

struct Expected {
  std::string_view file;
  std::string_view facts;  // the beginning is enough for a refusal
};

// clang-format off
constexpr std::array kExpected{
    Expected{"Books-an-zhuang-pei-zhi-jian-cha-wang-ka-zhuang-tai-L11.txt", "refused"},
    Expected{"Books-xin-xi-pian-ibportstate-L153.txt", "refused"},
    Expected{"cloud-native-stack-install-guides-RHEL-8-10_Server_x86-arm64-L919.txt", "refused"},
    Expected{"cloud-native-stack-install-guides-RHEL-8-10_Server_x86-arm64-L968.txt", "refused"},
    Expected{"cloud-native-stack-install-guides-Ubuntu-24-04_Server_x86-arm64_v19.0-L919.txt", "refused"},
    Expected{"cori-gpu-ucx_info-d.txt", "refused"},
    Expected{"deepops-k8s-cluster-roce-perf-k8s-L99.txt", "refused"},
    Expected{"dranet-demo_gke_rdma-README-L248.txt", "refused"},
    Expected{"gcm-DGX_A100.json", "refused: it is JSON"},
    Expected{"gcm-eth_learn_degraded_intf.json", "lldpctl: 2 switches, 1 adapters, 0 routers, 0 unknown, 2 cables"},
    Expected{"gcm-eth_learn_good.json", "lldpctl: 2 switches, 1 adapters, 0 routers, 0 unknown, 2 cables"},
    Expected{"gcm-eth_learn_missing_intf.json", "lldpctl: 1 switches, 1 adapters, 0 routers, 0 unknown, 1 cables"},
    Expected{"gcm-eth_learn_mtu_bad.json", "lldpctl: 2 switches, 1 adapters, 0 routers, 0 unknown, 2 cables"},
    Expected{"gcm-eth_learn_nic_swap.json", "lldpctl: 2 switches, 1 adapters, 0 routers, 0 unknown, 2 cables"},
    Expected{"gcm-learn_good.json", "refused: it is JSON"},
    Expected{"gcm-learn_ib_intf_bad_rate.json", "refused: it is JSON"},
    Expected{"gcm-learn_ib_intf_bad_version.json", "refused: it is JSON"},
    Expected{"gcm-learn_ib_intf_operstate_down.json", "refused: it is JSON"},
    Expected{"gcm-learn_ib_misbound_if.json", "refused: it is JSON"},
    Expected{"gcm-learn_stuck_ib_intf.json", "refused: it is JSON"},
    Expected{"gpu-cluster-networking-how-to-multi-node-config-L234.txt", "refused"},
    Expected{"gpud-ibstat.39.0.a100.failed.ibpanic.exit-255.0.txt", "refused: it looks like ibstat"},
    Expected{"gpud-ibstat.47.0.a100.all.active.0.txt", "refused: it looks like ibstat"},
    Expected{"gpud-ibstat.47.0.all.active.0.txt", "refused: it looks like ibstat"},
    Expected{"gpud-ibstat.47.0.h100.all.active.2.txt", "refused: it looks like ibstat"},
    Expected{"gpud-ibstat.47.0.some.down.0.txt", "refused: it looks like ibstat"},
    Expected{"gpud-ibstat.47.0.some.down.1.txt", "refused: it looks like ibstat"},
    Expected{"gpud-sys-class-infiniband-h100.tar.gz", "refused: the file is compressed (gzip)"},
    Expected{"ibqueryerrors-ibsim.txt", "ibqueryerrors: 1 switches, 0 adapters, 0 routers, 0 unknown, 0 cables, 1 ports with counters"},
    Expected{"ibqueryerrors-sx6036-bad-cables.txt", "ibqueryerrors: 1 switches, 3 adapters, 0 routers, 0 unknown, 0 cables, 14 ports with counters"},
    Expected{"ibsim-examples.README.txt", "refused"},
    Expected{"ibsim-net.2sw2path.txt", "ibnetdiscover: 2 switches, 2 adapters, 0 routers, 0 unknown, 4 cables, 0 ports with counters"},
    Expected{"ibsim-net.txt", "ibnetdiscover: 2 switches, 2 adapters, 0 routers, 0 unknown, 4 cables, 0 ports with counters"},
    Expected{"infiniband-diags-common-sec_topology-file-L29.txt", "ibnetdiscover: 2 switches, 4 adapters, 0 routers, 0 unknown, 7 cables, 0 ports with counters"},
    Expected{"ml-engineering-debug-README-L64.txt", "refused"},
    Expected{"odissei-ibstat-excerpt.txt", "refused"},
    Expected{"procfs-fixtures.ttar", "refused"},
    Expected{"stelline-docs-host-dependencies-L142.txt", "refused"},
    Expected{"stelline-hardware-asus-esc8000a-e12-L1406.txt", "refused"},
    Expected{"stelline-hardware-puget-threadripper-pro-wrx90-L752.txt", "refused"},
    Expected{"superbench-gpcnet_network_load.log", "refused"},
    Expected{"superbench-ib_loopback_8M_size.log", "refused: it looks like a result of perftest"},
    Expected{"superbench-ib_loopback_all_sizes.log", "refused: it looks like a result of perftest"},
    Expected{"superbench-ib_traffic_topo_aware_ibnetdiscover.txt", "ibnetdiscover: 8 switches, 11 adapters, 0 routers, 0 unknown, 18 cables, 0 ports with counters"},
    Expected{"superbench-ib_traffic_topo_aware_ibstat.txt", "refused: it looks like a list of GUIDs by host"},
    Expected{"topograph-ibnetdiscover-bad.txt", "ibnetdiscover: 0 switches, 1 adapters, 0 routers, 0 unknown, 0 cables, 0 ports with counters"},
    Expected{"topograph-ibnetdiscover-example.txt", "ibnetdiscover: 40 switches, 582 adapters, 0 routers, 0 unknown, 1114 cables, 0 ports with counters"},
    Expected{"topograph-netq-computeNodes.json", "refused: it is JSON"},
    Expected{"topograph-netq-topologyGraph.json", "refused: it is JSON"},
    Expected{"treydock-ibnetdiscover-test.out.txt", "ibnetdiscover: 4 switches, 3 adapters, 0 routers, 0 unknown, 4 cables, 0 ports with counters"},
    // Two lines give one GUID to two adapters: one node, and the second cable contradicts the first.
    Expected{"treydock-ibnetdiscover-test2.out.txt", "ibnetdiscover: 5 switches, 2 adapters, 0 routers, 0 unknown, 2 cables, 0 ports with counters"},
    Expected{"treydock-ibnetdiscover-test3.out.txt", "ibnetdiscover: 1 switches, 0 adapters, 0 routers, 0 unknown, 0 cables, 0 ports with counters"},
    Expected{"treydock-ibswinfo-test-err1.out.txt", "refused: it looks like ibswinfo"},
    Expected{"treydock-ibswinfo-test-err3.out.txt", "refused: it looks like ibswinfo"},
    Expected{"treydock-ibswinfo-test1-missing.out.txt", "refused: it looks like ibswinfo"},
    Expected{"treydock-ibswinfo-test2.out.txt", "refused: it looks like ibswinfo"},
    Expected{"treydock-perfquery-0x7cfe9003003b4b96.out.txt", "perfquery: 0 switches, 0 adapters, 0 routers, 1 unknown, 0 cables, 1 ports with counters"},
    Expected{"treydock-perfquery-0x7cfe9003003b4bde.out.txt", "perfquery: 0 switches, 0 adapters, 0 routers, 1 unknown, 0 cables, 1 ports with counters"},
    Expected{"treydock-perfquery-0x7cfe9003009ce5b0.out.txt", "perfquery: 0 switches, 0 adapters, 0 routers, 1 unknown, 0 cables, 2 ports with counters"},
    Expected{"treydock-perfquery-rcv-error-0x506b4b03005c2740-1.out.txt", "refused: expected the counters themselves, not their details"},
    Expected{"treydock-perfquery-rcv-error-0x7cfe9003003b4b96-1.out.txt", "refused: expected the counters themselves, not their details"},
    Expected{"treydock-perfquery-rcv-error-0x7cfe9003009ce5b0-2.out.txt", "refused: expected the counters themselves, not their details"},
};
// clang-format on

std::string facts_of(const std::string& bytes, const std::string& name) {
  const auto fabric = import_fabric(bytes, name);
  if (!fabric) return "refused: " + fabric.error().message.substr(fabric.error().message.rfind(": ") + 2);
  std::array<std::size_t, 4> kinds{};
  std::size_t ends = 0;
  std::size_t counted = 0;
  for (const model::FabricNode& node : fabric->nodes) {
    ++kinds.at(static_cast<std::size_t>(node.kind));
    for (const model::FabricPort& port : node.ports) {
      ends += port.peer ? 1U : 0U;
      counted += port.counters.empty() ? 0U : 1U;
    }
  }
  return fmt::format(
      "{}: {} switches, {} adapters, {} routers, {} unknown, {} cables, {} ports with counters",
      name_of(recognise_fabric(bytes)), kinds[2], kinds[1], kinds[3], kinds[0], ends / 2, counted);
}

TEST(FabricCorpus, EveryFileIsReadOrRefused) {
  ANGIO_SHARED_OR_SKIP(folder, "ib");
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    seen.insert(name);
    const auto* const expected = std::ranges::find(kExpected, name, &Expected::file);
    const std::string facts = facts_of(test::read_whole_file(entry.path().string()), name);
    if (expected == kExpected.end()) {
      ADD_FAILURE() << name << " is new: " << facts;
    } else {
      EXPECT_TRUE(facts.starts_with(expected->facts)) << name << ": " << facts;
    }
  }
  for (const Expected& expected : kExpected)
    EXPECT_TRUE(seen.contains(std::string(expected.file))) << expected.file << " is gone";
}

TEST(FabricCorpus, SamplesOfValues) {
  ANGIO_SHARED_OR_SKIP(folder, "ib");
  const auto leafs =
      import_fabric(test::read_whole_file(folder + "/topograph-ibnetdiscover-example.txt"), "t");
  ASSERT_TRUE(leafs.has_value());
  std::size_t ndr = 0;
  for (const model::FabricNode& node : leafs->nodes) {
    for (const model::FabricPort& port : node.ports)
      ndr += port.speed == model::LaneSpeedName::kNdr && port.lanes == 4 ? 1U : 0U;
  }
  EXPECT_EQ(ndr, 2228U);
  EXPECT_EQ(leafs->captured, "2025-08-06T16:11:23Z");
  EXPECT_EQ(leafs->notes.size(), 1U) << "only that the time has no zone";

  const auto errors =
      import_fabric(test::read_whole_file(folder + "/ibqueryerrors-sx6036-bad-cables.txt"), "e");
  ASSERT_TRUE(errors.has_value());
  std::size_t stuck = 0;
  for (const model::FabricNode& node : errors->nodes) {
    for (const model::FabricPort& port : node.ports)
      stuck += port.counters.is_stuck(model::FabricCounter::kSymbolErrors) ? 1U : 0U;
  }
  EXPECT_EQ(stuck, 2U);
}

}  // namespace
}  // namespace angio::import
