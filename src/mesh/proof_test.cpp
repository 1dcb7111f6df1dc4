#include "mesh/proof.hpp"

#include <gtest/gtest.h>

#include <string>

namespace angio::mesh {
namespace {

TEST(Proof, Sha256AsItsStandardHasIt) {
  EXPECT_EQ(in_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(in_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(in_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(in_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Proof, HmacAsRfc4231HasIt) {
  EXPECT_EQ(in_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(in_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      in_hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Proof, HmacAsRfc4231HasItForDataAndKeysOfOtherLengths) {
  std::string counting;
  for (char c = 1; c <= 25; ++c)
    counting += c;
  EXPECT_EQ(in_hex(hmac_sha256(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(in_hex(hmac_sha256(counting, std::string(50, '\xcd'))),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(
      in_hex(hmac_sha256(std::string(131, '\xaa'),
                         "This is a test using a larger than block-size key and a larger than block-size "
                         "data. The key needs to be hashed before being used by the HMAC algorithm.")),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Proof, RandomWordsDiffer) {
  EXPECT_EQ(random_word().size(), 64U);
  EXPECT_NE(random_word(), random_word());
}

TEST(Proof, IsOfOneSideAndOneMeeting) {
  const std::string one = proof("token", "agent", "a", "b");
  EXPECT_TRUE(is_same(one, proof("token", "agent", "a", "b")));
  EXPECT_FALSE(is_same(one, proof("token", "controller", "a", "b")));
  EXPECT_FALSE(is_same(one, proof("other", "agent", "a", "b")));
  EXPECT_FALSE(is_same(one, proof("token", "agent", "b", "a")));
  EXPECT_FALSE(is_same(one, one.substr(1)));
}

}  // namespace
}  // namespace angio::mesh
