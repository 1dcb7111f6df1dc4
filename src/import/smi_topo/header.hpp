// The header line of an nvidia-smi table: device names, then the titles of the affinity columns.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace angio::import::smi_topo {

struct Header {
  std::vector<std::string_view> devices;
  std::vector<std::string_view> columns;
};

// continued: the second half of a header that a terminal wrapped; it may start with anything a header has.
std::optional<Header> parse_header(std::string_view line, bool continued);

// "GPU0" of "GPU0GPU1": tables whose tabs got lost glue the names together.
std::string_view leading_numbered(std::string_view text, std::string_view stem);
bool is_device_name(std::string_view word);  // "mlx5_0", "rocep4s0f0": has a letter first and a digit

// Without what other tools put in front of each line: "node-3: ", "> ", "| ".
std::string_view without_prefix(std::string_view line);

}  // namespace angio::import::smi_topo
