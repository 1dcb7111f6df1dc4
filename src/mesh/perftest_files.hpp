// Texts of perftest that people collected by hand as a mesh: whose they are by what the shell's prompt and
// command say, by the file's name (A-to-B), or by the addresses of both ends in the text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/mesh.hpp"

namespace angio::mesh {

struct PerftestFile {
  std::string name;  // path
  std::string bytes;
};

// Several runs of the same direction: the last one counts. What cannot be told is left out with a note.
model::MeshResult mesh_of_files(const std::vector<PerftestFile>& files);

// "gpu-a" and "gpu-b" of "results/gpu-a-to-gpu-b.txt" or "gpu-a_to_gpu-b.log": who ran the client, and
// against whom. Empty: the name says nothing.
std::pair<std::string, std::string> ends_of_name(std::string_view path);

}  // namespace angio::mesh
