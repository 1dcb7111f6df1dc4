// Quantities in words, one way everywhere: decimal prefixes for rates, binary for memory, units always.
#pragma once

#include <string>

#include "base/units.hpp"

namespace angio {

std::string in_words(Bytes size);                // "503.5 GiB", "64 KiB", "12 B"
std::string in_words(BytesPerSecond rate);       // "25.2 GB/s"
std::string in_words(BitsPerSecond rate);        // "400 Gb/s"
std::string in_words(TransfersPerSecond speed);  // "16 GT/s", "2.5 GT/s"
std::string in_words(Nanoseconds time);          // "96 ns", "1.5 us"
std::string in_words(Hertz frequency);           // "2.6 GHz", "1410 MHz"
std::string in_words(Watts power);               // "700 W"
std::string in_words(Celsius temperature);       // "64 C"

// "1 GPU", "8 GPUs", "0 GPUs".
std::string count_of(std::size_t count, const std::string& singular);

}  // namespace angio
