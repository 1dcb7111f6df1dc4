// The output of many ranks as one text in which each line belongs to one rank and says to which.
// Pure: bytes of streams in, text out; who reads and writes descriptors is output_sink.hpp and the
// supervisor.
//
//   [3] a line of rank 3
//   [3] the start of a line that was long or late
//   [5] a line of rank 5
//   [3]+ and its rest
//
// A line is cut only when it grows beyond kLongestLine or was shown early because it waited (a progress bar,
// a prompt), and then only if another stream has something to say. Nothing is altered: without the prefixes,
// and without the line feed before a "[3]+", the bytes of a stream are what the rank wrote. A carriage return
// goes back over the prefix, so the prefix follows it again, unless a line feed does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace angio::launch {

class LineMerger {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10U;

  // The number of the new stream. label: "3".
  std::size_t add_stream(std::string_view label);
  void add(std::size_t stream, std::string_view bytes);
  // A line that belongs to no stream.
  void add_note(std::string_view line);
  // Shows the unfinished line of the stream now.
  void flush(std::size_t stream);
  // The stream is over: its unfinished line is shown and finished.
  void end(std::size_t stream);
  // An unfinished line waits.
  [[nodiscard]] bool holds(std::size_t stream) const { return !streams_[stream].held.empty(); }
  // Text ready to be written; the caller takes it from the front.
  [[nodiscard]] std::string& ready() { return ready_; }
  [[nodiscard]] std::size_t ready_size() const { return ready_.size(); }

 private:
  struct Stream {
    std::string first;          // "[3] "
    std::string again;          // "[3]+"
    std::string held;           // an unfinished line
    bool inside = false;        // the beginning of the present line was shown
    bool after_return = false;  // the last byte shown was a carriage return
  };
  void show(std::size_t number, std::string_view text);
  void show_with_returns(Stream& stream, std::string_view text);

  std::vector<Stream> streams_;
  std::optional<std::size_t> open_;  // the stream whose line ready_ ends within
  std::string ready_;
};

// The last lines of a stream, for the report on a rank that failed. Bounded.
class LastWords {
 public:
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr std::size_t kMostLines = 12;
  void add(std::string_view bytes);
  // Whole lines, the last of them perhaps unfinished; carriage returns end lines too.
  [[nodiscard]] std::string text() const;

 private:
  std::string bytes_;
};

}  // namespace angio::launch
