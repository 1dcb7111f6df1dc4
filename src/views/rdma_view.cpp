#include "views/rdma_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/rdma_counters.hpp"
#include "views/doctor_view.hpp"
#include "views/rdma_words.hpp"

namespace angio::views {

using knowledge::RdmaCounterFact;
using knowledge::RdmaCounterKind;
using model::RdmaChange;
using model::RdmaChangeKind;
using model::RdmaPortRates;
using model::RdmaVerdict;
using report::Align;
using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

std::string port_name(const RdmaPortRates& port) {
  return printable(port.device) + " port " + std::to_string(port.port);
}

std::string_view layer_name(const RdmaPortRates& port) {
  switch (port.link_layer) {
    case model::LinkLayer::kInfiniBand:
      return "InfiniBand";
    case model::LinkLayer::kEthernet:
      return "RoCE";
    case model::LinkLayer::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view place_name(model::RdmaCounterPlace place) {
  switch (place) {
    case model::RdmaCounterPlace::kPort:
      return "port";
    case model::RdmaCounterPlace::kHardware:
      return "hardware";
    case model::RdmaCounterPlace::kInterface:
      return "interface";
    case model::RdmaCounterPlace::kEthtool:
      return "ethtool";
  }
  return "";
}

std::string_view change_name(RdmaChangeKind kind) {
  switch (kind) {
    case RdmaChangeKind::kCounted:
      return "counted";
    case RdmaChangeKind::kWrapped:
      return "wrapped";
    case RdmaChangeKind::kStopped:
      return "at_maximum";
    case RdmaChangeKind::kReset:
      return "reset";
    case RdmaChangeKind::kGone:
      return "gone";
    case RdmaChangeKind::kNew:
      return "new";
    case RdmaChangeKind::kUnread:
      return "unreadable";
  }
  return "";
}

std::string_view verdict_name(RdmaVerdict verdict) {
  switch (verdict) {
    case RdmaVerdict::kFine:
      return "fine";
    case RdmaVerdict::kNarrows:
      return "narrows";
    case RdmaVerdict::kUnknown:
      break;
  }
  return "unknown";
}

std::string interval_words(double seconds) {
  constexpr double kHour = 3600;
  if (seconds >= 2 * kHour) return fmt::format("{:.1f} h", seconds / kHour);
  const std::string text = fmt::format("{:.1f}", seconds);
  return (text.ends_with(".0") ? text.substr(0, text.size() - 2) : text) + " s";
}

namespace {

constexpr std::size_t kRowsShown = 30;

std::size_t count_layer(const model::RdmaRates& rates, model::LinkLayer layer) {
  return static_cast<std::size_t>(std::ranges::count(rates.ports, layer, &RdmaPortRates::link_layer));
}

// Shortest and longest time of the ports: each has its own.
std::string time_words(const model::RdmaRates& rates) {
  double least = 0;
  double most = 0;
  for (const RdmaPortRates& port : rates.ports) {
    if (!port.seconds) continue;
    least = least == 0 ? *port.seconds : std::min(least, *port.seconds);
    most = std::max(most, *port.seconds);
  }
  if (most == 0) return "time not known";
  const std::string from = interval_words(least);
  const std::string to = interval_words(most);
  return from == to ? from : from + " to " + to;
}

std::string headline(const RdmaReport& report) {
  const model::RdmaRates& rates = report.rates;
  std::vector<std::string> kinds;
  const std::size_t infiniband = count_layer(rates, model::LinkLayer::kInfiniBand);
  const std::size_t roce = count_layer(rates, model::LinkLayer::kEthernet);
  const std::size_t unknown = rates.ports.size() - infiniband - roce;
  if (infiniband > 0) kinds.push_back(fmt::format("{} InfiniBand", infiniband));
  if (roce > 0) kinds.push_back(fmt::format("{} RoCE", roce));
  if (unknown > 0) kinds.push_back(fmt::format("{} of unknown kind", unknown));
  std::string line = rates.host.empty() ? std::string() : printable(rates.host) + ": ";
  line += fmt::format("{} ({}), {}, {}", count_of(rates.ports.size(), "RDMA port"), join(kinds, ", "),
                      time_words(rates), count_of(rates.readings, "reading"));
  if (!report.command.empty())
    line += "; during " + printable(report.command) + (report.end.empty() ? "" : ", which " + report.end);
  return line;
}

std::string rate_words(BitsPerSecond rate, const model::RdmaTraffic& traffic) {
  return (traffic.at_least ? ">= " : "") + in_words(rate);
}

std::string share_words(const RdmaPortRates& port) {
  if (port.idle) return "idle";
  if (!port.traffic || port.traffic->at_least || !port.rate) return "";
  const double rate = std::max(port.rate->value, port.rate_was.value_or(BitsPerSecond{}).value);
  const double share = std::max(port.traffic->sent.value, port.traffic->received.value) / rate;
  return fmt::format("{:.{}f} %", share * 100, share < 0.01 ? 2 : 0);
}

Line state_line(const RdmaPortRates& port) {
  if (!port.absent.empty()) return toned(port.absent, Tone::kCritical);
  const std::string state = printable(port.state.empty() ? "unknown" : port.state);
  const Tone tone = port.state == "ACTIVE" ? Tone::kPlain
                    : port.state.empty()   ? Tone::kUnknown
                                           : Tone::kCritical;
  return toned(port.states.size() > 1 ? printable(join(port.states, ", then ")) : state, tone);
}

void add_ports(const RdmaReport& report, Document& document) {
  Table table{{{"port"},
               {"kind"},
               {"state"},
               {"data rate", Align::kRight},
               {"sent", Align::kRight},
               {"received", Align::kRight},
               {"of rate", Align::kRight}},
              {}};
  bool of_interface = false;
  for (const RdmaPortRates& port : report.rates.ports) {
    const bool known = port.traffic.has_value();
    of_interface = of_interface || (known && port.traffic->of_interface);
    table.rows.push_back(
        {toned(port_name(port), Tone::kStrong), plain(std::string(layer_name(port))), state_line(port),
         port.rate ? plain(in_words(*port.rate)) : toned("?", Tone::kUnknown),
         known ? plain(rate_words(port.traffic->sent, *port.traffic)) : toned("?", Tone::kUnknown),
         known ? plain(rate_words(port.traffic->received, *port.traffic)) : toned("?", Tone::kUnknown),
         toned(share_words(port), port.idle ? Tone::kQuiet : Tone::kPlain)});
  }
  document.blocks.emplace_back(std::move(table));
  if (of_interface)
    document.blocks.emplace_back(Paragraph{toned(
        "Ports without data counters of their own: sent and received are the network interface's, other "
        "Ethernet traffic included.",
        Tone::kQuiet)});
}

// Peaks tell of bursts where the mean hides them.
void add_peaks(const RdmaReport& report, Document& document) {
  Fields fields{{}, 2};
  constexpr double kWorthAWord = 1.1;  // of the mean
  for (const RdmaPortRates& port : report.rates.ports) {
    if (!port.traffic || port.idle || report.rates.readings < 3) continue;
    const double mean = std::max(port.traffic->sent.value, port.traffic->received.value);
    const double peak = std::max(port.traffic->peak_sent.value, port.traffic->peak_received.value);
    if (mean <= 0 || peak < mean * kWorthAWord) continue;
    fields.rows.emplace_back(port_name(port), plain(fmt::format("fastest part: sent {}, received {}",
                                                                in_words(port.traffic->peak_sent),
                                                                in_words(port.traffic->peak_received))));
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

bool is_shown(const RdmaChange& change, const RdmaCounterFact* fact) {
  return fact != nullptr && fact->kind != RdmaCounterKind::kTraffic && change.growth > 0;
}

std::string growth_words(const RdmaChange& change) {
  const bool least = change.kind == RdmaChangeKind::kReset || change.kind == RdmaChangeKind::kStopped;
  return (least ? ">= " : "") + std::to_string(change.growth);
}

std::string each_second(const RdmaPortRates& port, const RdmaChange& change, const RdmaCounterFact& fact) {
  if (!port.seconds || fact.unit == "percent") return "";
  const double rate = static_cast<double>(change.growth) / *port.seconds;
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.2g}", rate);
}

struct Grown {
  Table table{{{"port"}, {"counter that grew"}, {"by", Align::kRight}, {"a second", Align::kRight}, {"unit"}},
              {}};
  std::vector<std::string> names;  // to be explained, each once
  std::size_t left_out = 0;
  std::size_t unknown = 0;
};

void collect_grown(const RdmaPortRates& port, Grown& grown) {
  bool first = true;
  for (const RdmaChange& change : port.changes) {
    const RdmaCounterFact* fact = knowledge::find_rdma_counter(change.name);
    if (fact == nullptr && change.growth > 0) ++grown.unknown;
    if (!is_shown(change, fact)) continue;
    const std::string name(fact->name);
    if (std::ranges::find(grown.names, name) == grown.names.end()) grown.names.push_back(name);
    if (grown.table.rows.size() >= kRowsShown) {
      ++grown.left_out;
      continue;
    }
    const std::string shown = change.interface.empty() || port.interfaces.size() < 2
                                  ? printable(change.name)
                                  : printable(change.interface) + " " + printable(change.name);
    grown.table.rows.push_back({first ? toned(port_name(port), Tone::kStrong) : Line{}, plain(shown),
                                plain(growth_words(change)), plain(each_second(port, change, *fact)),
                                toned(std::string(fact->unit), Tone::kQuiet)});
    first = false;
  }
}

void add_grown(const RdmaReport& report, Document& document) {
  Grown grown;
  for (const RdmaPortRates& port : report.rates.ports)
    collect_grown(port, grown);
  if (!grown.table.rows.empty()) {
    document.blocks.emplace_back(std::move(grown.table));
    Fields meanings{{}, 2};
    for (const std::string& name : grown.names)
      meanings.rows.emplace_back(name,
                                 toned(std::string(knowledge::meaning_of_rdma_counter(name)), Tone::kQuiet));
    document.blocks.emplace_back(std::move(meanings));
  }
  std::vector<std::string> more;
  if (grown.left_out > 0) more.push_back(count_of(grown.left_out, "counter") + " that grew");
  if (grown.unknown > 0)
    more.push_back(count_of(grown.unknown, "counter") + " that grew and are not known here");
  if (!more.empty())
    document.blocks.emplace_back(
        Paragraph{toned("Left out: " + join(more, ", ") + " (--format json)", Tone::kQuiet)});
}

// Counters that could not be read, went away or stopped: what the report does not see.
std::vector<std::string> blind_spots(const RdmaPortRates& port) {
  std::vector<std::string> stopped;
  std::map<std::string, std::vector<std::string>> unread;  // by reason: a driver often refuses all
  for (const RdmaChange& change : port.changes) {
    if (knowledge::find_rdma_counter(change.name) == nullptr) continue;
    if (change.kind == RdmaChangeKind::kStopped && change.growth == 0) stopped.push_back(change.name);
    if (change.kind == RdmaChangeKind::kUnread)
      unread[printable(change.why)].push_back(printable(change.name));
    if (change.kind == RdmaChangeKind::kGone) unread["not there any more"].push_back(printable(change.name));
  }
  std::vector<std::string> spots;
  if (!stopped.empty()) spots.push_back("at their maximum, where they stop: " + join(stopped, ", "));
  constexpr std::size_t kNamed = 6;
  for (auto& [why, names] : unread) {
    const std::size_t all = names.size();
    names.resize(std::min(all, kNamed));
    spots.push_back("not read: " + join(names, ", ") +
                    (all > kNamed ? fmt::format(" and {} more", all - kNamed) : "") + " (" + why + ")");
  }
  return spots;
}

// Ports with the same words share a line: on a healthy host it is often all of them.
void add_blind_spots(const RdmaReport& report, Document& document) {
  std::vector<std::pair<std::string, std::vector<std::string>>> spots;
  for (const RdmaPortRates& port : report.rates.ports) {
    for (std::string& spot : blind_spots(port)) {
      const auto known = std::ranges::find(spots, spot, &decltype(spots)::value_type::first);
      if (known != spots.end()) known->second.push_back(port_name(port));
      if (known == spots.end()) spots.push_back({std::move(spot), {port_name(port)}});
    }
  }
  Fields fields{{}, 2};
  constexpr std::size_t kNamed = 2;
  for (const auto& [spot, ports] : spots)
    fields.rows.emplace_back(ports.size() <= kNamed ? join(ports, ", ") : count_of(ports.size(), "port"),
                             plain(spot));
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

void add_remarks(const RdmaReport& report, Document& document) {
  Fields fields{{}, 0};
  for (const std::string& remark : report.rates.remarks)
    fields.rows.emplace_back("NOTE", plain(printable(remark)));
  const auto idle =
      std::ranges::count_if(report.rates.ports, [](const RdmaPortRates& port) { return port.idle; });
  if (idle > 0)
    fields.rows.emplace_back(
        "NOTE",
        plain(fmt::format("{} idle: nothing can be concluded from quiet counters; look while traffic runs",
                          static_cast<std::size_t>(idle) == report.rates.ports.size()
                              ? (idle == 1 ? std::string("the port was") : std::string("all ports were"))
                              : fmt::format("{} {}", count_of(static_cast<std::size_t>(idle), "port"),
                                            idle == 1 ? "was" : "were"))));
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

void add_findings(const RdmaReport& report, Document& document) {
  DoctorReport judged = report.judged;
  judged.nodes.clear();  // the headline names the host
  Document findings = doctor_document(judged);
  if (!findings.blocks.empty()) findings.blocks.pop_back();  // its closing line counts rules of the doctor
  document.blocks.insert(document.blocks.end(), std::make_move_iterator(findings.blocks.begin()),
                         std::make_move_iterator(findings.blocks.end()));
}

Tone tone_of(RdmaVerdict verdict) {
  return verdict == RdmaVerdict::kFine      ? Tone::kGood
         : verdict == RdmaVerdict::kNarrows ? Tone::kWarning
                                            : Tone::kUnknown;
}

void add_path(const model::RdmaPath& path, Document& document) {
  document.blocks.emplace_back(Paragraph{
      {{"From a low bandwidth to its cause: ", Tone::kPlain}, {printable(path.port), Tone::kStrong}}});
  Fields fields{{}, 0};
  std::size_t number = 0;
  for (const model::RdmaStep& step : path.steps) {
    fields.rows.emplace_back(
        fmt::format("{:>2} {}", ++number, verdict_name(step.verdict)),
        toned(step.topic, step.verdict == RdmaVerdict::kNarrows ? tone_of(step.verdict) : Tone::kStrong));
    for (const std::string& seen : step.seen)
      fields.rows.emplace_back("", plain(printable(seen)));
    for (const std::string& next : step.next)
      fields.rows.emplace_back("   look", toned(printable(next), Tone::kQuiet));
  }
  document.blocks.emplace_back(std::move(fields));
}

std::string closing(const RdmaReport& report) {
  const DoctorReport& judged = report.judged;
  std::string line = judged.findings.empty() ? "no findings" : count_of(judged.findings.size(), "finding");
  line +=
      fmt::format(", {} undecided, {} held", judged.undecided.size(), count_of(rules_held(judged), "rule"));
  if (report.may_follow && report.paths.empty())
    line += ". The steps from a low bandwidth to its cause: --device DEVICE, or --expect RATE";
  return line;
}

}  // namespace

Document rdma_document(const RdmaReport& report) {
  Document document;
  if (report.rates.ports.empty()) {
    const std::string why = report.rates.problem.empty() ? "no RDMA port was read" : report.rates.problem;
    const std::string host = report.rates.host.empty() ? "" : printable(report.rates.host) + ": ";
    document.blocks.emplace_back(Paragraph{plain(host + printable(why))});
    return document;
  }
  document.blocks.emplace_back(Paragraph{plain(headline(report))});
  add_ports(report, document);
  add_peaks(report, document);
  add_remarks(report, document);
  add_grown(report, document);
  add_blind_spots(report, document);
  add_findings(report, document);
  for (const model::RdmaPath& path : report.paths)
    add_path(path, document);
  document.blocks.emplace_back(Paragraph{plain(closing(report))});
  return document;
}

}  // namespace angio::views
