#include "mesh/proof.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>

namespace angio::mesh {
namespace {

// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;
constexpr std::size_t kBlock = 64;

void mix(State& state, std::string_view block) {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < kBlock; ++i)
    words[i / 4] = words[i / 4] << 8U | static_cast<std::uint8_t>(block[i]);
  for (std::size_t i = 16; i < words.size(); ++i) {
    const std::uint32_t a = words[i - 15];
    const std::uint32_t b = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U);
  }
  State s = state;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const std::uint32_t first = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                choice + kRound[i] + words[i];
    const std::uint32_t second = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] += s[i];
}

}  // namespace

Digest sha256(std::string_view bytes) {
  State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string text(bytes);
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  text += '\x80';
  text.resize((text.size() + 8 + kBlock - 1) / kBlock * kBlock - 8, '\0');
  for (int shift = 56; shift >= 0; shift -= 8)
    text += static_cast<char>(bits >> static_cast<unsigned>(shift));
  for (std::size_t at = 0; at < text.size(); at += kBlock)
    mix(state, std::string_view(text).substr(at, kBlock));
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - i % 4 * 8));
  return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string block(kBlock, '\0');
  if (key.size() > kBlock) {
    std::ranges::copy(sha256(key), block.begin());
  } else {
    std::ranges::copy(key, block.begin());
  }
  std::string inner = block;
  std::string outer = block;
  for (std::size_t i = 0; i < kBlock; ++i) {
    inner[i] = static_cast<char>(inner[i] ^ 0x36);
    outer[i] = static_cast<char>(outer[i] ^ 0x5c);
  }
  const Digest first = sha256(inner.append(bytes));
  return sha256(outer.append(first.begin(), first.end()));
}

std::string in_hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string random_word() {
  Digest bytes{};
  // Never short up to 256 bytes (getrandom(2)).
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  return in_hex(bytes);
}

std::string proof(std::string_view token, std::string_view side, std::string_view challenge,
                  std::string_view answer) {
  std::string text(side);
  text.append("|").append(challenge).append("|").append(answer);
  return in_hex(hmac_sha256(token, text));
}

bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differences = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differences |= static_cast<unsigned>(static_cast<std::uint8_t>(a[i]) ^ static_cast<std::uint8_t>(b[i]));
  return differences == 0;
}

}  // namespace angio::mesh
