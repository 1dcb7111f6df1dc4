// How a controller and its agents show each other that they hold the same token, without sending it: an HMAC
// of both sides' random words (RFC 2104 over SHA-256, FIPS 180-4). Not encryption: what is measured is no
// secret.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace angio::mesh {

using Digest = std::array<std::uint8_t, 32>;
Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view bytes);
std::string in_hex(const Digest& digest);

// 256 bits of the kernel's, in hexadecimal; empty where there are none: zeros would be no secret.
std::string random_word();

// "agent" or "controller" says whose proof it is, so that one cannot be played back as the other.
std::string proof(std::string_view token, std::string_view side, std::string_view challenge,
                  std::string_view answer);
// Takes as long for every wrong text.
bool is_same(std::string_view a, std::string_view b);

}  // namespace angio::mesh
