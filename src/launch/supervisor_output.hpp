// Where the ranks' output goes: pipes through us with prefixes, files of their own, or our own streams.
// Reads and writes without blocking; slow readers of ours slow the ranks, memory stays bounded.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/descriptor.hpp"
#include "launch/output.hpp"
#include "launch/output_sink.hpp"
#include "launch/supervisor.hpp"

namespace angio::launch {

class GroupOutput {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit GroupOutput(const GroupOptions& options);
  // Makes the directory of the files.
  Result<void> prepare();
  // Descriptors a rank costs while the group lives.
  [[nodiscard]] std::size_t descriptors_per_rank() const;

  // What a new rank gets as standard output and error; -1: ours. To be closed here once it runs.
  struct Ends {
    host::Descriptor out;
    host::Descriptor err;
  };
  Result<Ends> open(std::uint32_t rank);

  void watch(std::vector<pollfd>& wanted) const;
  // Reads what the ranks wrote and writes what the reader takes. A stream of an ended group (over) is at its
  // end when nothing is in it, even if somebody still holds the other side.
  void pump(Time now, bool over);
  // When an unfinished line should be shown at the latest.
  [[nodiscard]] std::optional<Time> next_flush() const;
  // Nobody reads our output any more.
  [[nodiscard]] bool reader_gone() const;
  // A line of our own among those of the ranks, on standard error. False where nothing passes through us.
  bool note(const std::string& text);
  // The first write that failed in another way, once.
  std::optional<std::string> take_complaint();
  // All is read and written.
  [[nodiscard]] bool drained() const;
  // The last lines of stderr, else of stdout.
  [[nodiscard]] std::string last_words(std::uint32_t rank) const;

 private:
  // Text on its way to one of our streams. Not movable: streams point to it.
  struct Channel {
    explicit Channel(int fd) : sink(fd) {}
    LineMerger merger;
    Sink sink;
    [[nodiscard]] bool full() const;
  };
  struct Stream {
    std::uint32_t rank = 0;
    bool is_error = false;
    host::Descriptor from;
    Channel* channel = nullptr;
    std::size_t number = 0;  // in the channel's merger
    LastWords words;
    std::optional<Time> held_since;
  };
  Result<host::Descriptor> open_pipe(std::uint32_t rank, bool is_error);
  Result<host::Descriptor> open_file(std::uint32_t rank, bool is_error) const;
  [[nodiscard]] std::string file_path(std::uint32_t rank, bool is_error) const;
  [[nodiscard]] std::string words_of(std::uint32_t rank, bool is_error) const;
  void read_stream(Stream& stream, Time now, bool over);
  void show_late_lines(Time now);

  OutputMode mode_;
  std::string directory_;
  std::unique_ptr<Channel> out_;
  std::unique_ptr<Channel> err_;  // none: standard error is the same file
  std::vector<Stream> streams_;
  std::vector<char> buffer_;
  bool complained_ = false;
};

}  // namespace angio::launch
