#include "mesh/suspects.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "knowledge/knowledge.hpp"
#include "mesh/expectation.hpp"
#include "mesh/polish.hpp"

namespace angio::mesh {
namespace {

using model::MeshMeasure;
using model::MeshResult;

// Cells that are judged together: those of one rail, or all where every NIC met every other.
struct TableOf {
  std::optional<std::uint32_t> rail;
  std::vector<Cell> cells;            // ends are numbered anew
  std::vector<std::size_t> measures;  // by cell
  Polish fit;
};

struct End {
  std::uint32_t host = 0;
  std::uint32_t nic = 0;
  auto operator<=>(const End&) const = default;
};

// An effect of one end on all of its cells, against what is usual.
struct Effect {
  End end;
  double out = 0, in = 0;
  double out_limit = 0, in_limit = 0;  // beyond which it is no noise
  std::uint32_t partners = 0;
};

class Search {
 public:
  Search(MeshResult& result, model::MeshTransport transport, bool latency)
      : result_(result), transport_(transport), latency_(latency) {
    const double share = knowledge::threshold(latency ? "mesh.slow-latency-share" : "mesh.slow-host-share");
    host_limit_ = std::abs(std::log(share));
    path_limit_ = -std::log(knowledge::threshold("mesh.slow-path-share"));
    factor_ = knowledge::threshold("mesh.scatter-factor");
  }

  Suspects run() {
    collect();
    if (suspects_.hosts < 3) return suspects_;  // two have nothing to be compared with
    for (TableOf& table : tables_)
      fit(table);
    if (!latency_) judge_rails();
    judge_ends();
    if (!latency_) judge_paths();
    return suspects_;
  }

 private:
  [[nodiscard]] std::optional<double> value_of(const MeshMeasure& measure) const {
    if (measure.transport != transport_ || measure.state == model::MeshState::kMissing) return std::nullopt;
    if (latency_) {
      // Slow is low, as for bandwidth.
      if (!measure.latency_us || *measure.latency_us <= 0) return std::nullopt;
      return -std::log(*measure.latency_us);
    }
    if (!measure.bandwidth || measure.bandwidth->value <= 0) return std::nullopt;
    if (sizes_differ_ && is_small(measure.message)) return std::nullopt;
    const double expected = normalises_ ? std::min(measure.expected->value, most_) : 1;
    return std::log(measure.bandwidth->value / expected);
  }

  // Small messages are slow by themselves: beside large ones they say nothing about hosts.
  [[nodiscard]] bool find_different_sizes() const {
    bool small = false;
    bool large = false;
    for (const MeshMeasure& measure : result_.measures) {
      if (measure.transport != transport_ || !measure.bandwidth) continue;
      (is_small(measure.message) ? small : large) = true;
    }
    return small && large;
  }

  // CPUs bound TCP, not only ports: of a faster port no more is expected than the fastest ports really give.
  [[nodiscard]] double most_of_tcp() const {
    double fastest = 0;
    for (const MeshMeasure& measure : result_.measures) {
      if (measure.transport == transport_ && measure.bandwidth)
        fastest = std::max(fastest, measure.expected->value);
    }
    std::vector<double> rates;
    for (const MeshMeasure& measure : result_.measures) {
      if (measure.transport == transport_ && measure.bandwidth && measure.expected->value >= fastest)
        rates.push_back(measure.bandwidth->value);
    }
    return median_of(std::move(rates));
  }

  // Against what the hardware allows, where that is known for all: hosts with slower ports are no slow hosts.
  [[nodiscard]] bool all_expected() const {
    return !latency_ && std::ranges::all_of(result_.measures, [&](const MeshMeasure& measure) {
      return measure.transport != transport_ || !measure.bandwidth || measure.expected.has_value();
    });
  }

  void collect() {
    sizes_differ_ = find_different_sizes();
    normalises_ = all_expected();
    if (normalises_ && transport_ == model::MeshTransport::kTcp) most_ = most_of_tcp();
    std::map<std::optional<std::uint32_t>, std::size_t> places;
    std::set<std::uint32_t> hosts;
    for (std::size_t i = 0; i < result_.measures.size(); ++i) {
      MeshMeasure& measure = result_.measures[i];
      const auto value = value_of(measure);
      if (!value) continue;
      hosts.insert({measure.from, measure.to});
      ++suspects_.cells;
      suspects_.rails = std::max({suspects_.rails, measure.from_nic + 1, measure.to_nic + 1});
      std::optional<std::uint32_t> rail;
      if (!result_.plan.all_nics) rail = measure.from_nic;
      const auto [place, is_new] = places.try_emplace(rail, tables_.size());
      if (is_new) tables_.push_back({rail, {}, {}, {}});
      TableOf& table = tables_[place->second];
      table.cells.push_back(
          {number_of({measure.from, measure.from_nic}), number_of({measure.to, measure.to_nic}), *value});
      table.measures.push_back(i);
    }
    suspects_.hosts = static_cast<std::uint32_t>(hosts.size());
    suspects_.compares_rails = normalises_ && suspects_.rails > 1;
  }

  std::uint32_t number_of(const End& end) {
    const auto [place, is_new] = numbers_.try_emplace(end, static_cast<std::uint32_t>(ends_.size()));
    if (is_new) ends_.push_back(end);
    return place->second;
  }

  void fit(TableOf& table) {
    const auto count = static_cast<std::uint32_t>(ends_.size());
    if (!latency_) take_groups(table, count);
    table.fit = polish(table.cells, count);
    suspects_.scatter = std::max(suspects_.scatter, table.fit.scatter);
  }

  // What lies between groups is the trunk's: it is named once and then taken out.
  void take_groups(TableOf& table, std::uint32_t count) {
    const auto groups = find_groups(table.cells, count, path_limit_, factor_);
    if (!groups) return;
    SlowGroups slow;
    slow.rail = table.rail;
    std::vector<std::set<std::uint32_t>> hosts(groups->count);
    for (std::uint32_t end = 0; end < count; ++end) {
      if (groups->group_of[end] != kAlone) hosts[groups->group_of[end]].insert(ends_[end].host);
    }
    for (const auto& group : hosts)
      slow.groups.emplace_back(group.begin(), group.end());
    const double apart = groups->within - groups->between;
    slow.share = std::exp(-apart);
    slow.sender = groups->sender;
    std::vector<double> within;
    std::vector<double> between;
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
      Cell& cell = table.cells[i];
      const std::uint32_t a = groups->group_of[cell.from];
      const double rate = result_.measures[table.measures[i]].bandwidth->value;
      if (a != kAlone && a == groups->group_of[cell.to]) within.push_back(rate);
      if (!groups->is_between(cell)) continue;
      between.push_back(rate);
      cell.value += apart;
    }
    slow.within = BitsPerSecond{median_of(within)};
    slow.between = BitsPerSecond{median_of(between)};
    suspects_.groups.push_back(std::move(slow));
  }

  // The whole of an end: its table's level and its own effect.
  [[nodiscard]] std::vector<Effect> effects() const {
    constexpr double kOfMedian = 1.2533;  // standard error of a median against that of a mean
    std::vector<Effect> list;
    for (const TableOf& table : tables_) {
      for (std::uint32_t end = 0; end < ends_.size(); ++end) {
        const std::uint32_t out = table.fit.out_cells[end];
        const std::uint32_t in = table.fit.in_cells[end];
        if (out == 0 && in == 0) continue;
        Effect effect{ends_[end], 0, 0, 0, 0, std::max(out, in)};
        const auto limit = [&](std::uint32_t cells) {
          // A load that comes and goes makes all of a host's round trips late at once: partners are no
          // independent witnesses then, and their number takes nothing from the noise.
          const double share = latency_ ? 1 : kOfMedian / std::sqrt(std::max(1U, cells));
          return std::max(host_limit_, factor_ * share * table.fit.scatter);
        };
        effect.out = table.fit.overall + table.fit.out[end];
        effect.in = table.fit.overall + table.fit.in[end];
        effect.out_limit = limit(out);
        effect.in_limit = limit(in);
        list.push_back(effect);
      }
    }
    return list;
  }

  [[nodiscard]] double level_of_rail(const std::vector<Effect>& list, std::uint32_t rail) const {
    std::vector<double> values;
    for (const Effect& effect : list) {
      if (effect.end.nic == rail) values.push_back((effect.out + effect.in) / 2);
    }
    return median_of(std::move(values));
  }

  // Rails against the best of them, where their hardware is known to be alike.
  void judge_rails() {
    effects_ = effects();
    std::set<std::uint32_t> rails;
    for (const Effect& effect : effects_)
      rails.insert(effect.end.nic);
    std::map<std::uint32_t, double> levels;
    double best = -1e300;
    for (const std::uint32_t rail : rails) {
      levels[rail] = level_of_rail(effects_, rail);
      best = std::max(best, levels[rail]);
    }
    for (const std::uint32_t rail : rails) {
      const double below = best - levels[rail];
      const double noise = factor_ * suspects_.scatter / std::sqrt(static_cast<double>(suspects_.hosts));
      if (suspects_.compares_rails && below >= std::max(host_limit_, noise))
        suspects_.slow_rails.push_back(slow_rail(rail, best, below));
      // From here on each end against its own rail.
      for (Effect& effect : effects_) {
        if (effect.end.nic != rail) continue;
        effect.out -= levels[rail];
        effect.in -= levels[rail];
      }
    }
  }

  // Half of the hosts may be enough to draw the whole rail's median down.
  [[nodiscard]] SlowRail slow_rail(std::uint32_t rail, double best, double below) const {
    SlowRail slow{rail, std::exp(-below), 0, 0};
    for (const MeshMeasure& measure : result_.measures) {
      if (measure.from_nic != rail || measure.to_nic != rail) continue;
      const auto value = value_of(measure);
      if (!value) continue;
      ++slow.directions;
      slow.slow += *value < best - below / 2 ? 1U : 0U;
    }
    return slow;
  }

  void judge_ends() {
    if (latency_) {
      effects_ = effects();
      const double level = level_of_all();
      for (Effect& effect : effects_) {
        effect.out -= level;
        effect.in -= level;
      }
    }
    std::map<std::uint32_t, std::vector<Effect>> by_host;
    for (const Effect& effect : effects_)
      by_host[effect.end.host].push_back(effect);
    for (const auto& [host, list] : by_host)
      judge_host(host, list);
  }

  [[nodiscard]] double level_of_all() const {
    std::vector<double> values;
    for (const Effect& effect : effects_)
      values.push_back((effect.out + effect.in) / 2);
    return median_of(std::move(values));
  }

  void judge_host(std::uint32_t host, const std::vector<Effect>& list) {
    const auto is_slow = [](const Effect& effect, bool out) {
      const bool sends = effect.out <= -effect.out_limit;
      const bool receives = effect.in <= -effect.in_limit;
      // One partner alone does not tell the host from the path; two are few, so both directions have to say
      // it.
      if (effect.partners <= 2) return effect.partners == 2 && sends && receives;
      return out ? sends : receives;
    };
    const auto all = [&](bool out) {
      return std::ranges::all_of(list, [&](const Effect& effect) { return is_slow(effect, out); });
    };
    SlowEnd whole{host, {}, static_cast<std::uint32_t>(list.size()), all(true), all(false), 1, 1, 0};
    if (whole.out || whole.in) {
      std::vector<double> outs;
      std::vector<double> ins;
      for (const Effect& effect : list) {
        outs.push_back(effect.out);
        ins.push_back(effect.in);
        whole.partners = std::max(whole.partners, effect.partners);
      }
      whole.out_share = std::exp(median_of(std::move(outs)));
      whole.in_share = std::exp(median_of(std::move(ins)));
      if (list.size() == 1) whole.nic = list.front().end.nic;
      suspects_.ends.push_back(whole);
    }
    for (const Effect& effect : list) {
      const bool out = is_slow(effect, true) && !whole.out;
      const bool in = is_slow(effect, false) && !whole.in;
      if (list.size() > 1 && (out || in))
        suspects_.ends.push_back({host, effect.end.nic, static_cast<std::uint32_t>(list.size()), out, in,
                                  std::exp(effect.out), std::exp(effect.in), effect.partners});
    }
  }

  // Faults stand apart from the noise. Bursts of other traffic do not: they are of all sizes, so some lie
  // between what is noise (half of the limit) and what would be named. Of noise alone 1 in 700 is there.
  bool is_heavy(TableOf& table, double limit) {
    std::uint32_t tail = 0;
    std::uint32_t beyond = 0;
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
      const double residual = table.fit.residuals[i];
      result_.measures[table.measures[i]].share = std::exp(residual);
      if (residual <= -limit)
        ++beyond;
      else if (residual <= -limit / 2)
        ++tail;
    }
    const auto cells = static_cast<double>(table.cells.size());
    constexpr double kOfNoise = 0.01;
    constexpr double kOfFaults = 0.05;  // more are not single paths, whatever they are
    constexpr double kFew = 4;          // two paths, there and back
    const bool many = beyond > std::max(kFew, kOfFaults * cells);
    constexpr double kLeast = 20;  // cells; of four hosts a slow path pulls the medians of others along
    const bool tailed = cells >= kLeast && tail >= 1 + kOfNoise * cells;
    if (beyond == 0 || (!many && !tailed)) return false;
    suspects_.unsettled += beyond;
    return true;
  }

  void judge_paths() {
    std::map<std::pair<End, End>, std::size_t> slow;  // by direction → place in paths
    for (TableOf& table : tables_) {
      const double limit = std::max(path_limit_, factor_ * table.fit.scatter);
      if (is_heavy(table, limit)) continue;
      for (std::size_t i = 0; i < table.cells.size(); ++i) {
        const Cell& cell = table.cells[i];
        const double residual = table.fit.residuals[i];
        const bool known = table.fit.out_cells[cell.from] >= 2 && table.fit.in_cells[cell.to] >= 2;
        if (!known || residual > -limit) continue;
        const End from = ends_[cell.from];
        const End to = ends_[cell.to];
        const auto other = slow.find({to, from});
        if (other == slow.end()) {
          slow.emplace(std::pair{from, to}, suspects_.paths.size());
          suspects_.paths.push_back({table.measures[i], {}, std::exp(residual)});
          continue;
        }
        SlowPath& path = suspects_.paths[other->second];
        path.back = table.measures[i];
        if (std::exp(residual) < path.share) {
          std::swap(path.there, *path.back);
          path.share = std::exp(residual);
        }
      }
    }
    std::ranges::stable_sort(suspects_.paths, {}, &SlowPath::share);
  }

  MeshResult& result_;
  model::MeshTransport transport_;
  bool latency_;
  bool normalises_ = false;
  bool sizes_differ_ = false;
  double most_ = 1e300;  // bit/s, of what may be expected
  double host_limit_ = 0, path_limit_ = 0, factor_ = 0;
  std::vector<TableOf> tables_;
  std::map<End, std::uint32_t> numbers_;
  std::vector<End> ends_;
  std::vector<Effect> effects_;
  Suspects suspects_;
};

}  // namespace

Suspects find_suspects(MeshResult& result, model::MeshTransport transport, bool latency) {
  return Search(result, transport, latency).run();
}

}  // namespace angio::mesh
