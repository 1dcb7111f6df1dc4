#include "nccl_run/candidates.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace angio::nccl_run {
namespace {

class Files {
 public:
  Files& file(const std::string& path, std::string content = "") {
    recording_[path].content = std::move(content);
    for (std::size_t slash = path.rfind('/'); slash != path.npos && slash > 0;
         slash = path.rfind('/', slash - 1))
      list(path.substr(0, slash), path.substr(slash + 1, path.find('/', slash + 1) - slash - 1));
    return *this;
  }
  Files& link(const std::string& path, const std::string& target) {
    recording_[path].link = target;
    return *this;
  }
  [[nodiscard]] std::unique_ptr<host::Root> root() const {
    return host::make_memory_root(recording_, host::Scope::kComplete);
  }

 private:
  void list(const std::string& folder, const std::string& name) {
    auto& names = recording_[folder].names;
    if (!names) names = host::Names{};
    if (std::ranges::find(**names, name) == (*names)->end()) (*names)->push_back(name);
  }
  host::Recording recording_;
};

TEST(Search, GoesInOrder) {
  const auto root = Files()
                        .file("/opt/venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2")
                        .file("/opt/conda/lib/libnccl.so.2")
                        .file("/opt/nccl/lib/libnccl.so")
                        .file("/home/u/.local/lib/python3.12/site-packages/torch/lib/libnccl.so.2")
                        .file("/usr/lib/x86_64-linux-gnu/libnccl.so.2")
                        .root();
  const std::vector<std::string> environment{"VIRTUAL_ENV=/opt/venv/", "CONDA_PREFIX=/opt/conda",
                                             "LD_LIBRARY_PATH=/nowhere::/opt/nccl/lib", "HOME=/home/u"};
  const Candidates result = search_nccl(*root, environment);
  ASSERT_EQ(result.found.size(), 5U);
  EXPECT_EQ(result.found[0].path, "/opt/venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(result.found[0].origin, "python environment /opt/venv");
  EXPECT_EQ(result.found[1].path, "/opt/conda/lib/libnccl.so.2");
  EXPECT_EQ(result.found[2].path, "/opt/nccl/lib/libnccl.so");
  EXPECT_EQ(result.found[2].origin, "LD_LIBRARY_PATH");
  EXPECT_EQ(result.found[3].origin, "python packages of /home/u/.local");
  EXPECT_EQ(result.found[4].origin, "the linker's folders");
}

TEST(Search, SaysWhereItLooked) {
  const Candidates result = search_nccl(*Files().root(), {});
  EXPECT_TRUE(result.found.empty());
  EXPECT_EQ(result.looked,
            (std::vector<std::string>{"VIRTUAL_ENV (not set)", "CONDA_PREFIX (not set)",
                                      "LD_LIBRARY_PATH (not set)", "site-packages of the user and the system",
                                      "the linker's cache and folders"}));
}

TEST(Named, AFileAndFolders) {
  const auto root = Files()
                        .file("/a/libnccl.so.2.28.9")
                        .file("/site/nvidia/nccl/lib/libnccl.so.2")
                        .file("/env/lib/python3.10/site-packages/torch/lib/libnccl.so.2")
                        .file("/empty/readme")
                        .root();
  EXPECT_EQ(named_nccl(*root, "/a/libnccl.so.2.28.9")->path, "/a/libnccl.so.2.28.9");
  EXPECT_EQ(named_nccl(*root, "/site/")->path, "/site/nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(named_nccl(*root, "/env")->path, "/env/lib/python3.10/site-packages/torch/lib/libnccl.so.2");
  EXPECT_EQ(named_nccl(*root, "/env")->origin, "--nccl");
  EXPECT_EQ(named_nccl(*root, "/empty").error().message, "/empty: no libnccl.so.2 in this folder");
  EXPECT_EQ(named_nccl(*root, "/none").error().message, "/none: no such file or folder");
}

constexpr const char* kMaps =
    "7f00-7f10 r--p 00000000 00:1f 77                 /usr/lib/libc.so.6\n"
    "7f20-7f30 r--p 00000000 00:1f 78                 /opt/my env/libnccl.so.2.27.7\n"
    "7f30-7f40 r-xp 00001000 00:1f 78                 /opt/my env/libnccl.so.2.27.7\n";

TEST(Named, AProcess) {
  const auto root = Files().file("/proc/4711/maps", kMaps).root();
  const Result<Candidate> found = named_nccl(*root, "pid:4711");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->path, "/opt/my env/libnccl.so.2.27.7");
  EXPECT_EQ(found->origin, "process 4711");
}

TEST(Named, AProcessInAContainer) {
  const auto root = Files()
                        .file("/proc/4711/maps", kMaps)
                        .link("/proc/4711/ns/mnt", "mnt:[2]")
                        .link("/proc/self/ns/mnt", "mnt:[1]")
                        .root();
  EXPECT_EQ(named_nccl(*root, "pid:4711")->path, "/proc/4711/root/opt/my env/libnccl.so.2.27.7");
}

TEST(Named, ProcessesWithout) {
  const auto root = Files()
                        .file("/proc/1/maps", "7f00-7f10 r--p 00000000 00:1f 77 /usr/lib/libc.so.6\n")
                        .file("/proc/2/maps", "7f00-7f10 r--p 0 00:1f 77 /a/libnccl.so.2 (deleted)\n")
                        .root();
  EXPECT_EQ(named_nccl(*root, "pid:1").error().message, "process 1 has no libnccl loaded");
  EXPECT_EQ(named_nccl(*root, "pid:3").error().message, "there is no process 3");
  EXPECT_EQ(named_nccl(*root, "pid:x").error().message, "\"pid:x\" names no process");
  EXPECT_EQ(named_nccl(*root, "pid:2").error().message,
            "process 2 runs /a/libnccl.so.2, which was replaced or removed since");
}

void append_word(std::string& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i)
    bytes += static_cast<char>(value >> static_cast<unsigned>(8 * i) & 0xffU);
}

std::string cache_of(std::uint32_t flags, const std::string& name, const std::string& path) {
  std::string bytes = "glibc-ld.so.cache1.1";
  append_word(bytes, 1);
  bytes.resize(48, '\0');
  append_word(bytes, flags);
  append_word(bytes, 72);
  append_word(bytes, 72 + static_cast<std::uint32_t>(name.size()) + 1);
  bytes.resize(72, '\0');
  return bytes + name + '\0' + path + '\0';
}

TEST(Cache, IsRead) {
  const std::string cache = cache_of(0x0303, "libnccl.so.2", "/opt/x/libnccl.so.2");
  EXPECT_EQ(find_in_cache(cache, "libnccl.so.2"), "/opt/x/libnccl.so.2");
  EXPECT_EQ(find_in_cache("old cache  " + cache, "libnccl.so.2"), "/opt/x/libnccl.so.2");
  EXPECT_EQ(find_in_cache(cache, "libnccl.so"), "");
  EXPECT_EQ(find_in_cache(cache_of(0x0003, "libnccl.so.2", "/x"), "libnccl.so.2"), "");  // 32 bits
}

TEST(Cache, DamageFindsNothing) {
  const std::string cache = cache_of(0x0303, "libnccl.so.2", "/opt/x/libnccl.so.2");
  for (std::size_t size = 0; size + 21 < cache.size(); ++size)
    EXPECT_TRUE(find_in_cache(cache.substr(0, size), "libnccl.so.2").empty()) << size;
}

}  // namespace
}  // namespace angio::nccl_run
