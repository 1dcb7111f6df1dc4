#include "diagnose/identity.hpp"

#include <gtest/gtest.h>

namespace angio::diagnose {
namespace {

model::Machine node(const std::string& host, std::vector<std::string> uuids) {
  model::Machine machine;
  machine.name = host;
  machine.origin = "snapshot " + host + ".snap";
  for (std::string& uuid : uuids)
    machine.gpus.emplace_back().uuid = model::Observed<std::string>::known(std::move(uuid), {});
  return machine;
}

TEST(Identity, TheSameHostWithOneOfItsGpusExchangedIsTheSameNode) {
  const Identity before = identity_of(node("gpu-a", {"GPU-2", "GPU-1"}));
  EXPECT_EQ(before.marks, (std::vector<std::string>{"GPU-1", "GPU-2"}));
  EXPECT_EQ(compare(before, identity_of(node("gpu-a", {"GPU-1", "GPU-9"}))), Kinship::kSame);
  EXPECT_EQ(compare(before, identity_of(node("gpu-a", {}))), Kinship::kSame);
  EXPECT_EQ(compare(before, identity_of(node("gpu-b", {"GPU-1"}))), Kinship::kOther);
}

TEST(Identity, AHostNameOnOtherHardwareIsANamesake) {
  EXPECT_EQ(compare(identity_of(node("localhost", {"GPU-1"})), identity_of(node("localhost", {"GPU-2"}))),
            Kinship::kNamesakes);
}

TEST(Identity, AFilesNameIsNoHostName) {
  model::Machine text = node("lscpu.txt", {});
  text.origin = "lscpu lscpu.txt";
  EXPECT_TRUE(identity_of(text).host.empty());
  EXPECT_EQ(compare(identity_of(text), identity_of(text)), Kinship::kOther);
}

}  // namespace
}  // namespace angio::diagnose
