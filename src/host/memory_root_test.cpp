#include <gtest/gtest.h>

#include <cerrno>

#include "host/root.hpp"

namespace angio::host {
namespace {

Recording small_machine() {
  Recording recording;
  recording["/a/file"].content = "1\n";
  recording["/a/gone"].content = std::unexpected(ReadError{ENOENT, {}});
  recording["/a/secret"].content = std::unexpected(ReadError{EACCES, {}});
  recording["/listed"].names = Names{"x", "y"};
  recording["/there"].exists = true;
  recording["/not"].exists = false;
  return recording;
}

TEST(MemoryRoot, CompleteScopeMakesTheUnmentionedAbsent) {
  const auto root = make_memory_root(small_machine(), Scope::kComplete);
  EXPECT_EQ(root->read("/a/file").value(), "1\n");
  EXPECT_EQ(root->read("/b").error().error, ENOENT);
  EXPECT_EQ(root->list("/a").value(), (Names{"file", "gone", "secret"}));
  EXPECT_EQ(root->list("/nowhere").error().error, ENOENT);
  EXPECT_TRUE(root->exists("/a"));
  EXPECT_FALSE(root->is_live());
}

TEST(MemoryRoot, RecordedScopeKeepsTheUnmentionedUnknown) {
  const auto root = make_memory_root(small_machine(), Scope::kRecorded);
  EXPECT_EQ(root->read("/b").error().error, kNotCollected);
  EXPECT_EQ(root->list("/a").error().error, kNotCollected);
  EXPECT_EQ(root->read_link("/a/file").error().error, kNotCollected);
  EXPECT_EQ(root->read("/a/secret").error().error, EACCES);
}

TEST(MemoryRoot, AListedDirectorySaysWhatIsNotInIt) {
  const auto root = make_memory_root(small_machine(), Scope::kRecorded);
  EXPECT_EQ(root->read("/listed/z").error().error, ENOENT);
  EXPECT_EQ(root->read("/listed/x").error().error, kNotCollected);
}

TEST(MemoryRoot, ExistsFollowsWhatWasAnswered) {
  const auto root = make_memory_root(small_machine(), Scope::kRecorded);
  EXPECT_TRUE(root->exists("/there"));
  EXPECT_FALSE(root->exists("/not"));
  EXPECT_FALSE(root->exists("/a/gone"));
  EXPECT_TRUE(root->exists("/a/secret"));
  EXPECT_EQ(root->read("/not").error().error, ENOENT);
}

TEST(MemoryRoot, ChildrenAreDirectOnesOnlyAndSorted) {
  Recording recording;
  for (const char* path : {"/d/b/c/e", "/d/b-x", "/d/b.y/z", "/d/a", "/dd/no"})
    recording[path].content = "";
  const auto root = make_memory_root(std::move(recording), Scope::kComplete);
  EXPECT_EQ(root->list("/d").value(), (Names{"a", "b", "b-x", "b.y"}));
  EXPECT_EQ(root->list("/").value(), (Names{"d", "dd"}));
}

// Counts what reaches it.
class CountingRoot final : public Root {
 public:
  [[nodiscard]] Read<std::string> read(std::string_view /*path*/) const override {
    return std::to_string(++calls);
  }
  [[nodiscard]] Read<Names> list(std::string_view /*path*/) const override {
    return Names{std::to_string(++calls)};
  }
  [[nodiscard]] Read<std::string> read_link(std::string_view /*path*/) const override {
    ++calls;
    return std::unexpected(ReadError{EINVAL, {}});
  }
  [[nodiscard]] bool exists(std::string_view /*path*/) const override { return ++calls > 0; }
  [[nodiscard]] bool is_live() const override { return true; }
  mutable int calls = 0;
};

TEST(RecordingRoot, AsksOnceAndKeepsEachQuestionApart) {
  const CountingRoot inner;
  const RecordingRoot recorder(inner);
  EXPECT_EQ(recorder.read("/p").value(), "1");
  EXPECT_EQ(recorder.read("/p").value(), "1");  // a counter that moves on stays as first seen
  EXPECT_EQ(recorder.list("/p").value(), Names{"2"});
  EXPECT_EQ(recorder.read_link("/p").error().error, EINVAL);
  EXPECT_TRUE(recorder.exists("/p"));
  EXPECT_EQ(inner.calls, 4);
  EXPECT_TRUE(recorder.is_live());
  const Answers& answers = recorder.recording().at("/p");
  EXPECT_EQ(**answers.content, "1");
  EXPECT_EQ(answers.link->error().error, EINVAL);
  EXPECT_EQ(answers.exists, true);
}

TEST(MountedRoot, TheLongestPrefixOfWholeComponentsWins) {
  const auto with = [](const char* path, const char* text) {
    Recording recording;
    recording[path].content = text;
    return make_memory_root(std::move(recording), Scope::kComplete);
  };
  MountedRoot root(with("/@nvmlx", "base"));
  root.mount("/@nvml", with("/init", "nvml"));
  root.mount("/@nvml/deep", with("/init", "deep"));
  EXPECT_EQ(root.read("/@nvmlx").value(), "base");
  EXPECT_EQ(root.read("/@nvml/init").value(), "nvml");
  EXPECT_EQ(root.read("/@nvml/deep/init").value(), "deep");
  EXPECT_EQ(root.list("/@nvml").value(), Names{"init"});
}

}  // namespace
}  // namespace angio::host
