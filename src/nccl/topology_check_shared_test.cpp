// The verdict on every real topology and graph file of the corpus, and that each writes and reads to the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "nccl/graph_dump.hpp"
#include "nccl/topology_check.hpp"
#include "support/shared_corpus.hpp"

namespace angio::nccl {
namespace {

// Errors, warnings and notes by id with their number; empty: nothing to say.
std::string verdict(const std::string& path) {
  Remarks remarks;
  const XmlText text = read_topology_xml(test::read_whole_file(path), remarks);
  const Element* root = root_of(text);
  if (root == nullptr) return "no root";
  if (root->name == "graphs") {
    static_cast<void>(read_graphs(*root, "2.30.7", remarks));
  } else {
    check_topology(text, "2.30.7", remarks);
  }
  const std::string once = write_topology_xml(*root);
  Remarks again;
  if (write_topology_xml(read_topology_xml(once, again).roots.at(0)) != once) return "does not round-trip";
  std::map<std::string, std::size_t> counts;
  for (const Remark& remark : remarks.all())
    counts[(remark.weight == Weight::kError     ? "E "
            : remark.weight == Weight::kWarning ? "W "
                                                : "N ") +
           remark.id] += remark.count;
  std::string words = root->name == "graphs" ? "graphs" : is_rccl(*root) ? "rccl" : "nccl";
  for (const auto& [id, count] : counts)
    words += ", " + id + " " + std::to_string(count);
  return words;
}

// Files not named here have nothing against them. Why the named ones do:
//  aws-g5: the bridges have no class.
//  azure-ncv4: each GPU's nvlink leads to itself. The NC series says nothing about link speeds.
//  issue256 kvm: an extract of a dump that ends in the middle.
//  topo_4p4h, topo_8p1h_1: bus ids that stand twice.
const std::map<std::string, std::string>& expected() {
  static const std::map<std::string, std::string> kVerdicts{
      {"aws-g5.48xl-topo.xml", "nccl, N value.missing 9"},
      {"azure-ncv4-topo.xml", "nccl, N pci.speed-unknown 4, W link.self 4"},
      {"azurehpc-nc48v4-topo.xml", "nccl, N pci.speed-unknown 2"},
      {"issue256-h200-kvm-flat-partial.xml", "nccl, E xml.unterminated 2"},
      {"rccl/topo_4p4h.xml", "rccl, W pci.twice 14"},
      {"rccl/topo_8p1h_1.xml", "rccl, W pci.twice 1"},
  };
  return kVerdicts;
}

TEST(Corpus, EveryFileHasItsVerdict) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-topo");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".xml") continue;
    ++files;
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    const auto named = expected().find(name);
    const std::string quiet = name.starts_with("rccl/")                 ? "rccl"
                              : name.find("graph") != std::string::npos ? "graphs"
                                                                        : "nccl";
    EXPECT_EQ(verdict(entry.path().string()), named == expected().end() ? quiet : named->second) << name;
  }
  EXPECT_GE(files, 50U);
}

TEST(Corpus, DumpsOfRunsReadWithoutARemark) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-dryrun");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".xml") continue;
    const std::string found = verdict(entry.path().string());
    EXPECT_TRUE(found == "nccl" || found == "graphs") << entry.path() << ": " << found;
  }
}

}  // namespace
}  // namespace angio::nccl
