// Our steps beside the real NCCL's: logs of libnccl over soft-RoCE, once with its own choice and once told
// index 0.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "model/gid_choice.hpp"
#include "support/shared_corpus.hpp"

namespace angio::model {
namespace {

struct Logged {
  std::uint32_t index = 0;
  std::string gid;  // as sysfs prints it
};

// Two 64-bit words, each printed as the machine reads it: little endian, without leading zeros.
void append_word(std::uint64_t word, std::string& gid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int byte = 0; byte < 8; ++byte) {
    if (!gid.empty() && byte % 2 == 0) gid += ':';
    const std::uint64_t value = (word >> (8U * static_cast<unsigned>(byte))) & 0xffU;
    gid += kDigits[value >> 4U];
    gid += kDigits[value & 0xfU];
  }
}

// "GID 1 (0/100070AFFFF0000)" of the first line that has it.
std::optional<Logged> first_gid(const std::string& log) {
  const std::size_t at = log.find(" GID ");
  const std::size_t open = log.find(" (", at);
  const std::size_t slash = log.find('/', open);
  const std::size_t close = log.find(')', slash);
  if (at == log.npos || close == log.npos) return std::nullopt;
  const auto index = parse_integer<std::uint32_t>(std::string_view(log).substr(at + 5, open - at - 5));
  const auto prefix =
      parse_integer<std::uint64_t>(std::string_view(log).substr(open + 2, slash - open - 2), 16);
  const auto id =
      parse_integer<std::uint64_t>(std::string_view(log).substr(slash + 1, close - slash - 1), 16);
  if (!index || !prefix || !id) return std::nullopt;
  Logged logged{*index, {}};
  append_word(*prefix, logged.gid);
  append_word(*id, logged.gid);
  return logged;
}

TEST(GidChoiceShared, TheRealNcclOverSoftRoce) {
  ANGIO_SHARED_OR_SKIP(chosen_path, "nccl-dryrun/soft-roce/auto.log");
  ANGIO_SHARED_OR_SKIP(told_path, "nccl-dryrun/soft-roce/gid0.log");
  const auto chosen = first_gid(test::read_whole_file(chosen_path));
  const auto told = first_gid(test::read_whole_file(told_path));
  ASSERT_TRUE(chosen && told);
  ASSERT_EQ(told->index, 0U);
  EXPECT_TRUE(is_link_local(parse_gid(told->gid).value())) << told->gid;
  EXPECT_EQ(address_of(parse_gid(chosen->gid).value()), "10.7.0.1") << chosen->gid;
  RdmaPort port;  // soft-RoCE makes entries of version 2 alone
  port.link_layer = LinkLayer::kEthernet;
  for (const Logged& one : {*told, *chosen}) {
    Gid gid;
    gid.index = one.index;
    gid.gid = one.gid;
    gid.type = Observed<std::string>::known("RoCE v2", {});
    port.gids.push_back(gid);
  }
  EXPECT_EQ(choose_gid(port, {}).index, chosen->index);
}

}  // namespace
}  // namespace angio::model
