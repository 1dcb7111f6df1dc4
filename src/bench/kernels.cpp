#include "bench/kernels.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace angio::bench {
namespace {

#if defined(__x86_64__)

#define ANGIO_TARGET(features) __attribute__((target(features)))

// Eight registers of 64 bytes: one stride a turn.
ANGIO_TARGET("avx512f") std::uint64_t read_avx512(const std::byte* from, std::size_t size) {
  __m512i a = _mm512_setzero_si512();
  __m512i b = a;
  __m512i c = a;
  __m512i d = a;
  for (const std::byte* end = from + size; from < end; from += kStride) {
    const auto* at = reinterpret_cast<const __m512i*>(from);
    a = _mm512_xor_si512(a, _mm512_xor_si512(_mm512_load_si512(at), _mm512_load_si512(at + 1)));
    b = _mm512_xor_si512(b, _mm512_xor_si512(_mm512_load_si512(at + 2), _mm512_load_si512(at + 3)));
    c = _mm512_xor_si512(c, _mm512_xor_si512(_mm512_load_si512(at + 4), _mm512_load_si512(at + 5)));
    d = _mm512_xor_si512(d, _mm512_xor_si512(_mm512_load_si512(at + 6), _mm512_load_si512(at + 7)));
  }
  const __m512i all = _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
  std::array<std::uint64_t, 8> words{};
  _mm512_storeu_si512(words.data(), all);
  std::uint64_t result = 0;
  for (const std::uint64_t word : words)
    result ^= word;
  return result;
}

ANGIO_TARGET("avx512f") void copy_avx512(std::byte* to, const std::byte* from, std::size_t size) {
  for (const std::byte* end = from + size; from < end; from += 256, to += 256) {
    const auto* at = reinterpret_cast<const __m512i*>(from);
    auto* out = reinterpret_cast<__m512i*>(to);
    const __m512i a = _mm512_load_si512(at);
    const __m512i b = _mm512_load_si512(at + 1);
    const __m512i c = _mm512_load_si512(at + 2);
    const __m512i d = _mm512_load_si512(at + 3);
    _mm512_stream_si512(out, a);
    _mm512_stream_si512(out + 1, b);
    _mm512_stream_si512(out + 2, c);
    _mm512_stream_si512(out + 3, d);
  }
  _mm_sfence();
}

ANGIO_TARGET("avx512f") void write_avx512(std::byte* to, std::size_t size) {
  const __m512i value = _mm512_set1_epi64(1);
  for (std::byte* end = to + size; to < end; to += 256) {
    auto* out = reinterpret_cast<__m512i*>(to);
    _mm512_stream_si512(out, value);
    _mm512_stream_si512(out + 1, value);
    _mm512_stream_si512(out + 2, value);
    _mm512_stream_si512(out + 3, value);
  }
  _mm_sfence();
}

ANGIO_TARGET("avx2") std::uint64_t read_avx2(const std::byte* from, std::size_t size) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = a;
  __m256i c = a;
  __m256i d = a;
  for (const std::byte* end = from + size; from < end; from += 256) {
    const auto* at = reinterpret_cast<const __m256i*>(from);
    a = _mm256_xor_si256(a, _mm256_xor_si256(_mm256_load_si256(at), _mm256_load_si256(at + 1)));
    b = _mm256_xor_si256(b, _mm256_xor_si256(_mm256_load_si256(at + 2), _mm256_load_si256(at + 3)));
    c = _mm256_xor_si256(c, _mm256_xor_si256(_mm256_load_si256(at + 4), _mm256_load_si256(at + 5)));
    d = _mm256_xor_si256(d, _mm256_xor_si256(_mm256_load_si256(at + 6), _mm256_load_si256(at + 7)));
  }
  const __m256i all = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
  std::array<std::uint64_t, 4> words{};
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words.data()), all);
  return words[0] ^ words[1] ^ words[2] ^ words[3];
}

ANGIO_TARGET("avx2") void copy_avx2(std::byte* to, const std::byte* from, std::size_t size) {
  for (const std::byte* end = from + size; from < end; from += 128, to += 128) {
    const auto* at = reinterpret_cast<const __m256i*>(from);
    auto* out = reinterpret_cast<__m256i*>(to);
    const __m256i a = _mm256_load_si256(at);
    const __m256i b = _mm256_load_si256(at + 1);
    const __m256i c = _mm256_load_si256(at + 2);
    const __m256i d = _mm256_load_si256(at + 3);
    _mm256_stream_si256(out, a);
    _mm256_stream_si256(out + 1, b);
    _mm256_stream_si256(out + 2, c);
    _mm256_stream_si256(out + 3, d);
  }
  _mm_sfence();
}

ANGIO_TARGET("avx2") void write_avx2(std::byte* to, std::size_t size) {
  const __m256i value = _mm256_set1_epi64x(1);
  for (std::byte* end = to + size; to < end; to += 128) {
    auto* out = reinterpret_cast<__m256i*>(to);
    _mm256_stream_si256(out, value);
    _mm256_stream_si256(out + 1, value);
    _mm256_stream_si256(out + 2, value);
    _mm256_stream_si256(out + 3, value);
  }
  _mm_sfence();
}

std::uint64_t read_sse2(const std::byte* from, std::size_t size) {
  __m128i a = _mm_setzero_si128();
  __m128i b = a;
  for (const std::byte* end = from + size; from < end; from += 128) {
    const auto* at = reinterpret_cast<const __m128i*>(from);
    a = _mm_xor_si128(a, _mm_xor_si128(_mm_load_si128(at), _mm_load_si128(at + 1)));
    b = _mm_xor_si128(b, _mm_xor_si128(_mm_load_si128(at + 2), _mm_load_si128(at + 3)));
    a = _mm_xor_si128(a, _mm_xor_si128(_mm_load_si128(at + 4), _mm_load_si128(at + 5)));
    b = _mm_xor_si128(b, _mm_xor_si128(_mm_load_si128(at + 6), _mm_load_si128(at + 7)));
  }
  std::array<std::uint64_t, 2> words{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words.data()), _mm_xor_si128(a, b));
  return words[0] ^ words[1];
}

void copy_sse2(std::byte* to, const std::byte* from, std::size_t size) {
  for (const std::byte* end = from + size; from < end; from += 64, to += 64) {
    const auto* at = reinterpret_cast<const __m128i*>(from);
    auto* out = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_load_si128(at);
    const __m128i b = _mm_load_si128(at + 1);
    const __m128i c = _mm_load_si128(at + 2);
    const __m128i d = _mm_load_si128(at + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  _mm_sfence();
}

void write_sse2(std::byte* to, std::size_t size) {
  const __m128i value = _mm_set1_epi64x(1);
  for (std::byte* end = to + size; to < end; to += 64) {
    auto* out = reinterpret_cast<__m128i*>(to);
    _mm_stream_si128(out, value);
    _mm_stream_si128(out + 1, value);
    _mm_stream_si128(out + 2, value);
    _mm_stream_si128(out + 3, value);
  }
  _mm_sfence();
}

constexpr std::array kAll{
    Kernels{"AVX-512", read_avx512, copy_avx512, write_avx512},
    Kernels{"AVX2", read_avx2, copy_avx2, write_avx2},
    Kernels{"SSE2", read_sse2, copy_sse2, write_sse2},
};

std::size_t first_usable() {
  if (__builtin_cpu_supports("avx512f") != 0) return 0;
  return __builtin_cpu_supports("avx2") != 0 ? 1 : 2;
}

#elif defined(__aarch64__)

std::uint64_t read_neon(const std::byte* from, std::size_t size) {
  uint64x2_t a = vdupq_n_u64(0);
  uint64x2_t b = a;
  for (const std::byte* end = from + size; from < end; from += 128) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(from);
    a = veorq_u64(a, veorq_u64(vld1q_u64(at), vld1q_u64(at + 2)));
    b = veorq_u64(b, veorq_u64(vld1q_u64(at + 4), vld1q_u64(at + 6)));
    a = veorq_u64(a, veorq_u64(vld1q_u64(at + 8), vld1q_u64(at + 10)));
    b = veorq_u64(b, veorq_u64(vld1q_u64(at + 12), vld1q_u64(at + 14)));
  }
  const uint64x2_t all = veorq_u64(a, b);
  return vgetq_lane_u64(all, 0) ^ vgetq_lane_u64(all, 1);
}

// STNP is a hint that the lines need not be kept; there is no intrinsic for it.
void copy_neon(std::byte* to, const std::byte* from, std::size_t size) {
  for (const std::byte* end = from + size; from < end; from += 64, to += 64) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(from);
    const uint64x2_t a = vld1q_u64(at);
    const uint64x2_t b = vld1q_u64(at + 2);
    const uint64x2_t c = vld1q_u64(at + 4);
    const uint64x2_t d = vld1q_u64(at + 6);
    asm volatile("stnp %q1, %q2, [%0]\n\tstnp %q3, %q4, [%0, #32]"
                 :
                 : "r"(to), "w"(a), "w"(b), "w"(c), "w"(d)
                 : "memory");
  }
}

void write_neon(std::byte* to, std::size_t size) {
  const uint64x2_t value = vdupq_n_u64(1);
  for (std::byte* end = to + size; to < end; to += 64) {
    asm volatile("stnp %q1, %q1, [%0]\n\tstnp %q1, %q1, [%0, #32]" : : "r"(to), "w"(value) : "memory");
  }
}

constexpr std::array kAll{Kernels{"NEON", read_neon, copy_neon, write_neon}};

std::size_t first_usable() {
  return 0;
}

#else

std::uint64_t read_words(const std::byte* from, std::size_t size) {
  std::uint64_t result = 0;
  for (std::size_t at = 0; at < size; at += sizeof result) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, sizeof word);
    result ^= word;
  }
  return result;
}

void copy_words(std::byte* to, const std::byte* from, std::size_t size) {
  std::memcpy(to, from, size);
}

constexpr std::array kAll{Kernels{"plain", read_words, copy_words, nullptr}};

std::size_t first_usable() {
  return 0;
}

#endif

}  // namespace

std::span<const Kernels> usable_kernels() {
  return std::span(kAll).subspan(first_usable());
}

std::uint64_t shuffled(std::uint64_t index, std::uint64_t count, std::uint64_t seed) {
  if (count < 2) return 0;
  const auto bits = static_cast<unsigned>(std::bit_width(count - 1));
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const unsigned half = (bits + 1) / 2;
  // Each step is a bijection of `bits` bits: adding, multiplying by an odd number, folding the upper half
  // down.
  do {
    index = (index + seed) & mask;
    index = (index * 0x9e3779b97f4a7c15U) & mask;
    index ^= index >> half;
    index = (index * 0xbf58476d1ce4e5b9U) & mask;
    index ^= index >> half;
    index = (index * 0x94d049bb133111ebU) & mask;
    index ^= index >> half;
  } while (index >= count);
  return index;
}

void make_chain(std::span<ChainLine> lines, std::uint64_t seed) {
  if (lines.empty()) return;
  const std::size_t count = lines.size();
  const std::size_t first = shuffled(0, count, seed);
  std::size_t at = first;
  for (std::size_t index = 1; index < count; ++index) {
    const std::size_t next = shuffled(index, count, seed);
    lines[at].next = &lines[next];
    at = next;
  }
  lines[at].next = &lines[first];
}

const ChainLine* follow_chain(const ChainLine* start, std::size_t steps) {
  const ChainLine* at = start;
  for (; steps >= 8; steps -= 8)
    at = at->next->next->next->next->next->next->next->next;
  for (; steps > 0; --steps)
    at = at->next;
  return at;
}

}  // namespace angio::bench
