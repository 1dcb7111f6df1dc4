#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/draft.hpp"
#include "import/known_text.hpp"

namespace angio::import {
namespace {

struct Look {
  std::string_view sign;
  std::string_view what;
};

// Texts that people send too and that hold no machine, by words that stand in them. The first match counts.
constexpr std::array kLooks{
    Look{"NVRM:", "a kernel log"},
    Look{"nvidia-peermem", "a kernel log"},
    Look{"segfault at ", "a kernel log"},
    Look{"NCCL INFO", "a NCCL log"},
    Look{"NCCL WARN", "a NCCL log"},
    Look{"nvbandwidth Version", "a result of nvbandwidth"},
    Look{"p2pBandwidthLatencyTest", "a result of p2pBandwidthLatencyTest"},
    Look{"Bandwidth (P2P Writes) Matrix", "a bandwidth matrix of p2pBandwidthLatencyTest"},
    Look{"Bandwidth Matrix (GB/s)", "a bandwidth matrix of p2pBandwidthLatencyTest"},
    Look{"Link 0: ", "a result of nvidia-smi nvlink"},
    Look{"CA type:", "a result of ibstat"},
    Look{"# nccl-tests version", "a result of nccl-tests"},
    Look{"algbw", "a result of nccl-tests"},
};

std::string_view compressed(std::string_view bytes) {
  if (bytes.starts_with("\x1F\x8B")) return "gzip";
  if (bytes.starts_with("BZh")) return "bzip2";
  if (bytes.starts_with("\xFD"
                        "7zXZ"))
    return "xz";
  if (bytes.starts_with("PK\x03\x04")) return "zip";
  return bytes.starts_with("\x28\xB5\x2F\xFD") ? "zstd" : "";
}

bool is_utf16(std::string_view bytes) {
  return bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
}

std::string looks_like(std::string_view bytes) {
  if (is_utf16(bytes)) return ": it is UTF-16; save it as UTF-8";
  if (bytes.starts_with("\x7F"
                        "ELF"))
    return ": it is a program (ELF)";
  if (is_binary(bytes)) return ": it is a binary file";
  for (const Look& look : kLooks) {
    if (contains(bytes, look.sign)) return fmt::format(": it looks like {}", look.what);
  }
  const std::string_view text = trim(bytes);
  if (text.starts_with('{') || text.starts_with("[{")) return ": it is JSON, but not of lscpu -J";
  if (text.starts_with('<')) return ": it is XML, but neither NCCL's <system> nor hwloc's <topology>";
  return "";
}

}  // namespace

bool is_binary(std::string_view bytes) {
  constexpr std::size_t kLooked = 4096;
  constexpr std::size_t kStray = 16;  // one NUL in that many bytes may be damage
  if (bytes.starts_with("\x7F"
                        "ELF"))
    return true;
  if (is_utf16(bytes)) return false;  // PowerShell's "> topo.txt": readable once its NULs are left out
  const std::string_view start = trim(bytes.substr(0, kLooked));
  const auto nuls = static_cast<std::size_t>(std::ranges::count(start, '\0'));
  return nuls * kStray > start.size();
}

Error refuse_unknown(std::string_view bytes, const std::string& name) {
  const std::string file = printable(name);
  if (trim(bytes).empty())
    return {ErrorCode::kInvalidInput, file + ": the file is empty", "run the command again"};
  if (const auto format = compressed(bytes); !format.empty()) {
    return {ErrorCode::kInvalidInput, fmt::format("{}: the file is compressed ({})", file, format),
            "unpack it first"};
  }
  return {ErrorCode::kInvalidInput,
          fmt::format("{}: not a file that describes a machine{}", file, looks_like(bytes)),
          "known are snapshots of angio collect, nvidia-smi topo -m, topo -p2p r and -q, lscpu, numactl "
          "--hardware, lspci -vvv, the topology XML of NCCL and hwloc, and logs that tell of memory that ran "
          "out"};
}

}  // namespace angio::import
