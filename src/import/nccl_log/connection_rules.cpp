// "Channel 00/0 : 0[1b000] -> 1[43000] via P2P/IPC" and "Channel 00/16 : 0 7 6 5": ways between ranks, and
// rings. These lines make most of a large log: one look-up for a line that was seen before in another
// channel.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/nccl_log/rules.hpp"

namespace angio::import::nccl_log {

namespace {

using Transport = model::NcclTransport;
using Direction = model::NcclDirection;

constexpr std::uint64_t kConnectionKey = 601;
constexpr std::size_t kMaxRing = std::size_t{1} << 17U;
constexpr std::size_t kSearched = 32;

struct Line {
  std::uint32_t channel = 0;
  std::uint32_t connection = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Direction direction = Direction::kNone;
  std::string_view way;
};

// "0[1b000]", "0"
bool read_end(Scan& scan, std::uint32_t& rank) {
  if (!scan.number(rank)) return false;
  if (!scan.eat('[')) return true;
  while (!scan.done() && scan.peek() != ']')
    scan.skip(1);
  return scan.eat(']');
}

bool read_line(Scan scan, Line& line) {
  if (!read_end(scan, line.from)) return false;
  if (!scan.eat(" -> ")) return false;
  if (!read_end(scan, line.to)) return false;
  if (scan.eat(" [send]")) {
    line.direction = Direction::kSend;
  } else if (scan.eat(" [receive]")) {
    line.direction = Direction::kReceive;
  }
  if (!scan.eat(" via ")) return false;
  line.way = scan.rest();
  return true;
}

Transport p2p_transport(std::string_view kind) {
  if (kind.starts_with("CUMEM")) return Transport::kP2pCumem;
  if (kind.starts_with("IPC")) return Transport::kP2pIpc;
  if (kind.starts_with("direct")) return Transport::kP2pDirect;
  if (kind.starts_with("indirect")) return Transport::kP2pIndirect;
  if (kind.starts_with("MNNVL")) return Transport::kP2pMnnvl;
  return Transport::kP2pOther;
}

// Behind "NET/": "IB/0", "IB/3(5)/GDRDMA(PCI)/Shared", "AWS Libfabric/3/GDRDMA".
void read_net_way(Scan scan, model::NcclConnection& connection) {
  connection.net = printable(scan.until('/').substr(0, 64));
  std::uint32_t number = 0;
  if (scan.eat('/') && scan.number(number)) connection.net_device = number;
  if (scan.eat('(') && scan.number(number)) connection.proxy_rank = number;
  const auto rest = scan.rest();
  connection.gdr = rest.find("GDRDMA") != std::string_view::npos;
  connection.gdr_pci = rest.find("GDRDMA(PCI)") != std::string_view::npos;
  connection.shared = rest.find("/Shared") != std::string_view::npos;
}

void read_way(std::string_view way, model::NcclConnection& connection) {
  connection.text = printable(way.substr(0, 100));
  Scan scan(way);
  connection.read = way.find("/read") != std::string_view::npos;
  if (scan.eat("P2P/")) {
    connection.transport = p2p_transport(scan.rest());
  } else if (scan.eat("NET/")) {
    connection.transport = Transport::kNet;
    read_net_way(scan, connection);
  } else if (scan.eat("COLLNET/")) {
    connection.transport = Transport::kCollNet;
    read_net_way(scan, connection);
  } else if (way.starts_with("SHM") || way.starts_with("direct shared memory")) {
    connection.transport = Transport::kShm;
  }
}

bool same_way(const model::NcclTransportCount& known, const model::NcclConnection& connection) {
  return known.transport == connection.transport && known.gdr == connection.gdr &&
         known.shared == connection.shared && known.proxied == connection.proxy_rank.has_value() &&
         known.net == connection.net && known.net_device == connection.net_device;
}

// The sum over all connections of one way; kNone when there are too many ways.
std::uint32_t find_way(Member& member, const model::NcclConnection& connection, model::Source source) {
  auto& ways = member.rank.transports;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (same_way(ways[i], connection)) return static_cast<std::uint32_t>(i);
  }
  if (ways.size() >= kMaxTransports) return Index::kNone;
  ways.push_back({connection.transport, connection.gdr, connection.shared, connection.proxy_rank.has_value(),
                  connection.net, connection.net_device, 0, connection.text, source});
  return static_cast<std::uint32_t>(ways.size() - 1);
}

bool may_be(const Member& member, const Line& line, std::uint32_t owner) {
  if (member.rank.rank && *member.rank.rank != owner) return false;
  return member.nranks == 0 || (line.from < member.nranks && line.to < member.nranks);
}

// Sends are told by the sender, receives by the receiver. Communicators are mixed in one thread when they
// connect at their first use: the rank number of the line tells which one it cannot be.
std::uint32_t find_owner(Parser& parser, const Message& message, const Line& line) {
  auto& thread = parser.thread(message);
  auto& members = parser.members();
  const auto owner = line.direction == Direction::kReceive ? line.to : line.from;
  if (thread.connecting_at != parser.ranks_told()) {
    thread.connecting = parser.rank(message);
    thread.connecting_at = parser.ranks_told();
  }
  const auto likely = thread.connecting;
  if (likely == Members::kNone || may_be(members.at(likely), line, owner)) return likely;
  const auto& all = members.of_process(message.process);
  const auto device = message.envelope->device;
  std::size_t searched = 0;
  for (auto other = all.rbegin(); other != all.rend() && searched < kSearched; ++other, ++searched) {
    const Member& member = members.at(*other);
    if (device && member.rank.cuda_device && member.rank.cuda_device != device) continue;
    if (may_be(member, line, owner)) return *other;
  }
  return likely;
}

void count_line(Tally& tally, std::uint32_t channel) {
  ++tally.lines;
  if (channel < 64) tally.channels |= std::uint64_t{1} << channel;
}

void add_way(Parser& parser, std::uint32_t owner, std::uint64_t key, const Line& line, model::Source source) {
  Member& member = parser.members().at(owner);
  model::NcclConnection connection;
  read_way(line.way, connection);
  const auto way = find_way(member, connection, source);
  if (member.rank.connections.size() >= kMaxConnections) {
    if (way != Index::kNone) ++member.rank.transports[way].count;
    ++member.rank.connections_left_out;
    return;
  }
  connection.direction = line.direction;
  connection.from = line.from;
  connection.to = line.to;
  connection.connection = line.connection;
  connection.source = source;
  parser.connections().put(key, static_cast<std::uint32_t>(parser.tallies().size()));
  parser.tallies().push_back({0, 0, owner, static_cast<std::uint32_t>(member.rank.connections.size())});
  count_line(parser.tallies().back(), line.channel);
  member.rank.connections.push_back(std::move(connection));
  member.ways.push_back(way);
}

bool add_connection(Parser& parser, const Message& message, const Line& line) {
  const auto owner = find_owner(parser, message, line);
  if (owner == Members::kNone) return true;
  Member& member = parser.members().at(owner);
  if (!member.rank.rank) member.rank.rank = line.direction == Direction::kReceive ? line.to : line.from;
  // Ranks stay below 2^32, connections and directions are a handful: two steps for five numbers.
  auto key = mix(kConnectionKey, (std::uint64_t{line.from} << 32U) | line.to);
  key = mix(key, (std::uint64_t{owner} << 32U) | (std::uint64_t{line.connection} << 2U) |
                     static_cast<std::uint64_t>(line.direction));
  key = hash_text(line.way, key);
  const auto known = parser.connections().find(key);
  if (known == Index::kNone) {
    add_way(parser, owner, key, line, message.source);
    return true;
  }
  count_line(parser.tallies()[known], line.channel);
  return true;
}

bool add_ring(Parser& parser, const Message& message, std::uint32_t channel, Scan scan) {
  const auto member = parser.init_rank(message);
  if (member == Members::kNone || channel >= kMaxChannels) return true;
  auto& rings = parser.members().group_of(member).facts.rings;
  if (std::any_of(rings.begin(), rings.end(), [&](const auto& ring) { return ring.channel == channel; }))
    return true;
  model::NcclRing ring;
  ring.channel = channel;
  ring.source = message.source;
  std::uint32_t rank = 0;
  for (scan.blanks(); scan.number(rank) && ring.order.size() < kMaxRing; scan.blanks())
    ring.order.push_back(rank);
  if (!ring.order.empty()) rings.push_back(std::move(ring));
  return true;
}

// "0 -> 7 -> 6" behind "Ring 00 : ": before, this rank, after.
bool add_ring_hop(Parser& parser, const Message& message, std::uint32_t channel, Scan scan) {
  std::uint32_t before = 0;
  std::uint32_t self = 0;
  RingHop hop{channel, 0};
  if (!scan.number(before) || !scan.eat(" -> ") || !scan.number(self) || !scan.eat(" -> ") ||
      !scan.number(hop.next) || !scan.done())
    return false;
  const auto index = parser.init_rank(message);
  if (index == Members::kNone || channel >= kMaxChannels) return true;
  Member& member = parser.members().at(index);
  if (member.ring_hops.size() < kMaxChannels && (!member.rank.rank || *member.rank.rank == self))
    member.ring_hops.push_back(hop);
  return true;
}

// Behind "Channel " and, up to 2.5 and for the hops of a ring, "Ring ".
bool read_channel(Parser& parser, const Message& message, Scan scan) {
  Line line;
  if (!scan.number(line.channel)) return false;
  const bool has_second = scan.eat('/') && scan.number(line.connection);
  if (!scan.eat(" : ")) return false;
  if (scan.peek() == ' ') return add_ring(parser, message, line.channel, scan);
  if (read_line(scan, line)) return add_connection(parser, message, line);
  if (add_ring_hop(parser, message, line.channel, scan)) return true;
  std::uint32_t rank = 0;
  Scan ring = scan;
  if (has_second && ring.number(rank) && (ring.done() || ring.peek() == ' ') &&
      ring.rest().find('>') == std::string_view::npos)
    return add_ring(parser, message, line.channel, scan);
  return scan.peek() >= '0' && scan.peek() <= '9';
}

// "CollNet 00/1 : 0 [send] via COLLNET/SHARP/0/GDRDMA"
bool read_collnet(Parser& parser, const Message& message, Scan scan) {
  Line line;
  if (!scan.number(line.channel)) return false;
  if (scan.eat('/')) (void)scan.number(line.connection);
  if (!scan.eat(" : ") || !read_end(scan, line.from)) return false;
  line.to = line.from;
  line.direction = scan.eat(" [send]") ? Direction::kSend : Direction::kReceive;
  if (line.direction == Direction::kReceive) (void)scan.eat(" [receive]");
  if (!scan.eat(" via ")) return false;
  line.way = scan.rest();
  return add_connection(parser, message, line);
}

// "all rings, use ring PXN 0 GDR 1", "all trees", "NVLS tree", "binomial trees"
bool read_connected(Parser& parser, const Message& message, Scan scan) {
  if (scan.rest().starts_with("to proxy")) return true;
  const auto member = parser.rank(message);
  if (member == Members::kNone) return true;
  auto& rank = parser.members().at(member).rank;
  if (scan.eat("all rings")) {
    rank.connected_rings = true;
    rank.rings_source = message.source;
    std::uint32_t flag = 0;
    if (scan.skip_past(" PXN ") && scan.number(flag)) rank.ring_pxn = flag != 0;
    if (scan.skip_past(" GDR ") && scan.number(flag)) rank.ring_gdr = flag != 0;
  } else if (scan.eat("all trees")) {
    rank.connected_trees = true;
  } else if (scan.eat("NVLS")) {
    rank.connected_nvls = true;
  }
  return true;
}

}  // namespace

std::span<const Rule> connection_rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"Channel ", read_channel},
      {"Connected ", read_connected},
      {"Ring ", read_channel},
      {"CollNet ", read_collnet},
  });
  return kRules;
}

}  // namespace angio::import::nccl_log
