// The few machine instructions that the redirection writes: a jump over the entry of a function, and a small
// function that names a refused call. For x86-64 and aarch64. Bytes only; nothing here changes memory that is
// executed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace angio::phantom {

#if defined(__x86_64__)

// movabs $target,%rax; jmp *%rax. rax carries no argument of a function without variable arguments.
inline constexpr std::size_t kJumpSize = 12;
inline std::array<unsigned char, kJumpSize> jump_to(const void* target) {
  std::array<unsigned char, kJumpSize> code{0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  std::memcpy(code.data() + 2, &target, sizeof target);
  return code;
}

// movabs $argument,%rdi; movabs $target,%rax; jmp *%rax
inline constexpr std::size_t kCallSize = 32;
inline std::array<unsigned char, kCallSize> call_with(const void* target, const void* argument) {
  std::array<unsigned char, kCallSize> code{0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0,    0x48,
                                            0xb8, 0,    0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  std::memcpy(code.data() + 2, &argument, sizeof argument);
  std::memcpy(code.data() + 12, &target, sizeof target);
  return code;
}

#elif defined(__aarch64__)

// ldr x16, .+8; br x16; the address. x16 is the register that calls may overwrite (AAPCS64).
inline constexpr std::size_t kJumpSize = 16;
inline std::array<unsigned char, kJumpSize> jump_to(const void* target) {
  std::array<unsigned char, kJumpSize> code{0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6};
  std::memcpy(code.data() + 8, &target, sizeof target);
  return code;
}

// ldr x0, .+16; ldr x16, .+20; br x16; nop; the argument; the address
inline constexpr std::size_t kCallSize = 32;
inline std::array<unsigned char, kCallSize> call_with(const void* target, const void* argument) {
  std::array<unsigned char, kCallSize> code{0x80, 0x00, 0x00, 0x58, 0xb0, 0x00, 0x00, 0x58,
                                            0x00, 0x02, 0x1f, 0xd6, 0x1f, 0x20, 0x03, 0xd5};
  std::memcpy(code.data() + 16, &argument, sizeof argument);
  std::memcpy(code.data() + 24, &target, sizeof target);
  return code;
}

#endif

}  // namespace angio::phantom
