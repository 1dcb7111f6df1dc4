#include "mesh/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::mesh {
namespace {

using model::MeshHost;
using model::MeshMeasure;
using model::MeshNic;
using model::MeshTransport;

// Of the rate that a port announces, what its line code leaves: the old speeds are named by their signal.
// Ethernet ports carry such names too ("40 Gb/sec (4X QDR)"), but announce data rates.
double code_share(const MeshNic& nic) {
  if (nic.link_layer == "Ethernet") return 1;
  const std::string_view name = nic.rate_name;
  const auto is = [&](std::string_view speed) { return name.ends_with(speed); };
  if (is(" SDR") || is(" DDR") || is(" QDR")) return knowledge::threshold("mesh.code-8b10b");
  if (is(" FDR")) return knowledge::threshold("mesh.code-64b66b");
  return 1;
}

// Payload of one packet against all that goes over the line for it.
double header_share(const MeshNic& nic) {
  if (!nic.path_mtu) return 1;
  const bool ethernet = nic.link_layer == "Ethernet";
  const double headers = knowledge::threshold(ethernet ? "rdma.headers.roce2" : "rdma.headers.infiniband");
  const auto payload = static_cast<double>(nic.path_mtu->value);
  return payload / (payload + headers);
}

void lower(Expectation& expectation, BitsPerSecond rate, std::string limit) {
  if (expectation.payload.value > 0 && rate.value >= expectation.payload.value) return;
  expectation.payload = rate;
  expectation.limit = std::move(limit);
}

void add_end(const MeshHost& host, const MeshNic& nic, MeshTransport transport, Expectation& expectation) {
  const std::string name = host.name + (nic.name.empty() ? "" : " " + nic.name);
  const bool rdma = transport == MeshTransport::kRdma;
  if (nic.rate) {
    const double share = rdma ? code_share(nic) * header_share(nic) : 1;
    const std::string kind = nic.rate_name.empty() ? std::string() : nic.rate_name + ", ";
    lower(expectation, *nic.rate * share, fmt::format("port of {}: {}{}", name, kind, in_words(*nic.rate)));
    if (expectation.line.value <= 0 || *nic.rate < expectation.line) expectation.line = *nic.rate;
  }
  if (rdma && nic.pcie) {
    const BitsPerSecond rate{nic.pcie->value * 8 * knowledge::threshold("mesh.pcie-packets")};
    lower(expectation, rate, fmt::format("PCIe of {}: {}, {}", name, nic.pcie_words, in_words(*nic.pcie)));
  }
}

}  // namespace

std::optional<Expectation> expect(const MeshHost& from, const MeshNic& source, const MeshHost& to,
                                  const MeshNic& sink, MeshTransport transport) {
  Expectation expectation{};
  add_end(from, source, transport, expectation);
  add_end(to, sink, transport, expectation);
  if (expectation.payload.value <= 0) return std::nullopt;
  return expectation;
}

bool is_small(const std::optional<Bytes>& message) {
  return message && static_cast<double>(message->value) < knowledge::threshold("mesh.least-message");
}

const MeshNic* find_nic(const model::MeshResult& result, const MeshMeasure& measure, bool from) {
  const std::uint32_t host = from ? measure.from : measure.to;
  const std::uint32_t nic = from ? measure.from_nic : measure.to_nic;
  if (host >= result.hosts.size()) return nullptr;
  const auto& nics =
      measure.transport == MeshTransport::kTcp ? result.hosts[host].tcp : result.hosts[host].rdma;
  return nic < nics.size() ? &nics[nic] : nullptr;
}

void judge_measures(model::MeshResult& result) {
  for (MeshMeasure& measure : result.measures) {
    measure.expected.reset();
    measure.limit.clear();
    measure.verdict = model::MeshVerdict::kUnknown;
    const MeshNic* source = find_nic(result, measure, true);
    const MeshNic* sink = find_nic(result, measure, false);
    if (source == nullptr || sink == nullptr) continue;
    const auto expected =
        expect(result.hosts[measure.from], *source, result.hosts[measure.to], *sink, measure.transport);
    if (!expected) continue;
    measure.expected = expected->payload;
    measure.limit = expected->limit;
    if (!measure.bandwidth) continue;
    const double share = *measure.bandwidth / expected->payload;
    const bool over = expected->line.value > 0 &&
                      *measure.bandwidth / expected->line > knowledge::threshold("mesh.impossible-share");
    // Two agents of one host never meet the port.
    const bool same_host = !result.hosts[measure.from].host_name.empty() &&
                           result.hosts[measure.from].host_name == result.hosts[measure.to].host_name;
    if (over) {
      measure.verdict = same_host ? model::MeshVerdict::kUnknown : model::MeshVerdict::kImpossible;
    } else if (measure.transport == MeshTransport::kRdma && !is_small(measure.message)) {
      measure.verdict = share < knowledge::threshold("mesh.low-share") ? model::MeshVerdict::kLow
                                                                       : model::MeshVerdict::kNormal;
    }
  }
}

}  // namespace angio::mesh
