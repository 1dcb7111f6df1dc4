// Figures in the kernel's texts, "AnonHugePages:    2048 kB". Shared by what this folder reads of /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace angio::bench {

// The number behind key on this line; none when the key is not there or the number is absurd.
std::optional<std::uint64_t> kibibytes_after(std::string_view line, std::string_view key);

}  // namespace angio::bench
