// The words of NCCL as small numbers, for a slot has no room for text: functions, algorithms, protocols, data
// types. A number is NCCL's own plus one, so that interface 1, which gives numbers, needs no table; 0 is a
// word that is not known here. Depends on nothing: the plugin uses it too.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace angio::profile_ring {

// ncclFunc_t of src/include/nccl_common.h, 2.23 to 2.32.
inline constexpr std::array<std::string_view, 15> kFunctions = {
    "Broadcast", "Reduce",  "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send",      "Recv",
    "AlltoAll",  "Scatter", "Gather",    "AllGatherV",    "PutSignal", "Signal",   "WaitSignal"};
// NCCL_ALGO_* and NCCL_PROTO_*, 2.23 to 2.32.
inline constexpr std::array<std::string_view, 7> kAlgorithms = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
inline constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "SIMPLE"};

struct DataType {
  std::string_view name;
  std::uint32_t bytes;
};
// ncclDataType_t of nccl.h.
inline constexpr std::array<DataType, 12> kDataTypes = {{{"ncclInt8", 1},
                                                         {"ncclUint8", 1},
                                                         {"ncclInt32", 4},
                                                         {"ncclUint32", 4},
                                                         {"ncclInt64", 8},
                                                         {"ncclUint64", 8},
                                                         {"ncclFloat16", 2},
                                                         {"ncclFloat32", 4},
                                                         {"ncclFloat64", 8},
                                                         {"ncclBfloat16", 2},
                                                         {"ncclFloat8e4m3", 1},
                                                         {"ncclFloat8e5m2", 1}}};

// Length and last letter tell nearly all of these words apart before the letters are compared.
constexpr bool is_word(std::string_view known, std::string_view word) {
  return known.size() == word.size() && !word.empty() && known.back() == word.back() && known == word;
}

constexpr std::uint8_t number_of(std::span<const std::string_view> words, std::string_view word) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (is_word(words[i], word)) return static_cast<std::uint8_t>(i + 1);
  return 0;
}

constexpr std::uint8_t data_type_number(std::string_view word) {
  for (std::size_t i = 0; i < kDataTypes.size(); ++i)
    if (is_word(kDataTypes[i].name, word)) return static_cast<std::uint8_t>(i + 1);
  return 0;
}

// Empty for 0 and for numbers beyond the table.
constexpr std::string_view word_of(std::span<const std::string_view> words, std::uint8_t number) {
  return number == 0 || number > words.size() ? std::string_view{} : words[number - 1U];
}

// Bytes of one element; 0 when the type is not known.
constexpr std::uint32_t element_size(std::uint8_t data_type) {
  return data_type == 0 || data_type > kDataTypes.size() ? 0 : kDataTypes[data_type - 1U].bytes;
}

}  // namespace angio::profile_ring
