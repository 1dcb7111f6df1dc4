// One stand-in for each identifier, the same everywhere in a snapshot. First everything is noted, then
// settled; stand-ins follow the order of the originals where order means something, neighbours stay
// neighbours (ports of one card), makers' prefixes stay, and addresses of one subnet stay in one.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "probe/snapshot/identifiers.hpp"

namespace angio::probe::snapshot {

class Pseudonyms {
 public:
  explicit Pseudonyms(std::uint64_t seed) : random_(seed), seed_(seed) {}

  enum class Word : std::uint8_t { kHost, kDomain, kUser, kAccount, kCluster, kSerial };

  // First pass.
  void note(const Identifier& found, std::string_view text);
  void note_word(Word kind, std::string_view word);
  void note_own_host(std::string_view name);
  [[nodiscard]] bool is_family(std::string_view host) const;  // "gpu-007" where "gpu-003" is known
  [[nodiscard]] bool is_family_prefix(std::string_view prefix) const { return families_.contains(prefix); }
  [[nodiscard]] bool is_in_domain(std::string_view host) const;

  // Between the passes.
  void settle();

  // Second pass.
  [[nodiscard]] std::string replace(const Identifier& found, std::string_view text);
  // Length of the known word at the start of text (0: none) and its stand-in. serials_only: names of hosts
  // and people mean nothing in the kernel's own files.
  [[nodiscard]] std::size_t find_word(std::string_view text, bool serials_only,
                                      std::string& replacement) const;
  [[nodiscard]] std::string word(std::string_view known) const;

 private:
  struct Named {
    Word kind;
    std::string replacement;
  };
  void note_guid(std::uint64_t guid);
  void note_ipv6(const Ipv6& address);
  [[nodiscard]] std::uint64_t mac_of(std::uint64_t mac) const;
  [[nodiscard]] std::uint64_t guid_of(std::uint64_t guid) const;
  [[nodiscard]] Ipv6 ipv6_of(Ipv6 address);
  [[nodiscard]] std::uint32_t ipv4_of(std::uint32_t address);
  [[nodiscard]] std::string numbered(const std::map<std::string, std::uint64_t, std::less<>>& table,
                                     std::string_view text) const;
  void number(std::map<std::string, std::uint64_t, std::less<>>& table);

  std::mt19937_64 random_;
  std::uint64_t seed_;
  using Table = std::map<std::uint64_t, std::uint64_t>;  // original → stand-in
  std::map<std::uint32_t, Table> by_maker_;              // 24-bit prefix → lower 24 bits
  Table guids_;                                          // those without a maker's form
  Table prefixes_;                                       // upper halves of IPv6 addresses
  std::map<std::string, std::uint64_t, std::less<>> uuids_;
  std::map<std::string, std::uint64_t, std::less<>> hex_ids_;
  std::set<std::uint32_t> ipv4_;
  std::map<std::uint64_t, bool> flips_;  // prefix with its length → whether the next bit is flipped
  std::map<std::string, Named, std::less<>> words_;
  std::map<std::string, std::set<std::size_t>, std::less<>> families_;  // "gpu-" → numbers of digits
  std::string own_host_;
  std::size_t longest_word_ = 0;
};

}  // namespace angio::probe::snapshot
