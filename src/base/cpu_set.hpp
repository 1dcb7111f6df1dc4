// A set of CPU (or NUMA node) numbers, and the two texts the kernel prints it in:
// lists "0-3,8" and masks "ff,0000000f" (32-bit words, most significant first).
// Bounded: numbers above kMaxCpu are an error, so that hostile text cannot ask for the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace angio {

class CpuSet {
 public:
  static constexpr std::uint32_t kMaxCpu = 65535;

  CpuSet() = default;
  void insert(std::uint32_t cpu);  // ignored above kMaxCpu
  void erase(std::uint32_t cpu);
  [[nodiscard]] bool contains(std::uint32_t cpu) const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::optional<std::uint32_t> first() const;
  [[nodiscard]] std::vector<std::uint32_t> members() const;  // ascending

  [[nodiscard]] bool is_subset_of(const CpuSet& other) const;
  [[nodiscard]] bool intersects(const CpuSet& other) const;
  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other);
  CpuSet& operator-=(const CpuSet& other);
  bool operator==(const CpuSet& other) const;

 private:
  std::vector<std::uint64_t> words_;  // no trailing zero words
  void shrink();
};

CpuSet operator|(CpuSet a, const CpuSet& b);
CpuSet operator&(CpuSet a, const CpuSet& b);
CpuSet operator-(CpuSet a, const CpuSet& b);

std::optional<CpuSet> parse_cpu_list(
    std::string_view text);  // "0-3,8", "0-30:2", "0-99:2/25"; "" is the empty set
std::optional<CpuSet> parse_cpu_mask(std::string_view text);  // "ff,0000000f"
std::string to_list(const CpuSet& set);                       // "0-3,8"

}  // namespace angio
