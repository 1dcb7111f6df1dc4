// Simulated meshes for tests: a rate, noise, and faults that are planted as factors. Deterministic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "mesh/analysis.hpp"
#include "mesh/schedule.hpp"
#include "model/mesh.hpp"

namespace angio::mesh::test {

struct MeshSpec {
  std::uint32_t hosts = 8;
  std::uint32_t rails = 1;
  model::MeshTransport transport = model::MeshTransport::kRdma;
  double noise = 0.03;  // standard deviation, as a share
  std::uint32_t seed = 1;
  std::uint32_t partners = 0;
  bool rates = true;  // of the ports are known
  double rate = 200e9;
  double reached = 0.92;  // of it, before noise; nothing goes faster than the line unless this does
};

// What a fault makes of one direction: a factor.
using Fault =
    std::function<double(std::uint32_t from, std::uint32_t from_nic, std::uint32_t to, std::uint32_t to_nic)>;

// The same numbers from every standard library, which std::normal_distribution does not promise.
class Noise {
 public:
  explicit Noise(std::uint32_t seed) : generator_(seed) {}
  double next() {
    double sum = 0;
    constexpr int kTerms = 12;  // of uniform ones: variance 1
    for (int i = 0; i < kTerms; ++i)
      sum += static_cast<double>(generator_()) / static_cast<double>(std::mt19937::max());
    return sum - kTerms / 2.0;
  }

 private:
  std::mt19937 generator_;
};

inline model::MeshResult make_mesh(const MeshSpec& spec, const Fault& fault = {}, const Fault& late = {}) {
  model::MeshResult result;
  result.name = "simulated";
  result.plan.tcp = spec.transport == model::MeshTransport::kTcp;
  result.plan.rdma = !result.plan.tcp;
  result.plan.partners = spec.partners;
  for (std::uint32_t i = 0; i < spec.hosts; ++i) {
    model::MeshHost& host = result.hosts.emplace_back();
    host.name = "n" + std::to_string(i);
    host.host_name = host.name;
    host.tested = true;
    for (std::uint32_t rail = 0; rail < spec.rails; ++rail) {
      model::MeshNic nic;
      nic.name = (result.plan.rdma ? "mlx5_" : "eth") + std::to_string(rail);
      if (spec.rates) nic.rate = BitsPerSecond{spec.rate};
      (result.plan.rdma ? host.rdma : host.tcp).push_back(nic);
    }
  }
  Noise noise(spec.seed);
  const auto rounds = spec.partners == 0 ? full_mesh(spec.hosts) : sampled_mesh(spec.hosts, spec.partners);
  for (const Round& round : rounds) {
    for (const HostPair& pair : round) {
      for (std::uint32_t rail = 0; rail < spec.rails; ++rail) {
        for (const bool back : {false, true}) {
          model::MeshMeasure measure;
          measure.transport = spec.transport;
          measure.state = model::MeshState::kDone;
          measure.from = back ? pair.second : pair.first;
          measure.to = back ? pair.first : pair.second;
          measure.from_nic = measure.to_nic = rail;
          const double factor = fault ? fault(measure.from, rail, measure.to, rail) : 1;
          const double share = spec.reached * factor * std::exp(spec.noise * noise.next());
          measure.bandwidth = BitsPerSecond{spec.rate * (spec.reached < 1 ? std::min(share, 1.0) : share)};
          const double delay = late ? late(measure.from, rail, measure.to, rail) : 1;
          measure.latency_us = 2.0 * delay * std::exp(spec.noise * noise.next());
          result.measures.push_back(measure);
        }
      }
    }
  }
  return result;
}

inline std::set<std::string> rules_of(const model::MeshReport& report) {
  std::set<std::string> rules;
  for (const model::Finding& finding : report.findings)
    rules.insert(finding.rule);
  return rules;
}

inline bool is_undecided(const model::MeshReport& report, const std::string& rule) {
  for (const model::Undecided& gap : report.undecided) {
    if (gap.rule == rule) return true;
  }
  return false;
}

inline bool has_held(const model::MeshReport& report, const std::string& rule) {
  for (const std::string& held : report.held) {
    if (held == rule) return true;
  }
  return false;
}

// The only finding's title, or what else there is.
inline std::string only_title(const model::MeshReport& report) {
  std::string titles;
  for (const model::Finding& finding : report.findings)
    titles += (titles.empty() ? "" : "\n") + finding.title;
  return titles;
}

}  // namespace angio::mesh::test
