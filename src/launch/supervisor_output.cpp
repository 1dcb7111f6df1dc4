#include "launch/supervisor_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace angio::launch {
namespace {

// Held for a reader that is slow; beyond it the ranks are not read, their pipes fill and they wait.
constexpr std::size_t kMostWaiting = std::size_t{256} << 10U;
constexpr std::size_t kChunk = std::size_t{64} << 10U;  // a pipe's usual capacity, pipe(7)
// An unfinished line (a progress bar, a prompt) is shown after so long.
constexpr std::chrono::milliseconds kPatience{200};

std::unexpected<Error> cannot(const std::string& what, int error) {
  return fail(ErrorCode::kIo, what + ": " + errno_text(error));
}

}  // namespace

bool GroupOutput::Channel::full() const {
  return merger.ready_size() >= kMostWaiting;
}

GroupOutput::GroupOutput(const GroupOptions& options) : mode_(options.output), directory_(options.directory) {
  if (mode_ != OutputMode::kPrefix) return;
  out_ = std::make_unique<Channel>(STDOUT_FILENO);
  if (!Sink::same(STDOUT_FILENO, STDERR_FILENO)) err_ = std::make_unique<Channel>(STDERR_FILENO);
  buffer_.resize(kChunk);
}

Result<void> GroupOutput::prepare() {
  if (mode_ != OutputMode::kFiles || mkdir(directory_.c_str(), 0777) == 0 || errno == EEXIST) return {};
  return cannot(directory_ + ": cannot make the directory", errno);
}

std::size_t GroupOutput::descriptors_per_rank() const {
  return mode_ == OutputMode::kPrefix ? 2 : 0;
}

Result<GroupOutput::Ends> GroupOutput::open(std::uint32_t rank) {
  Ends ends;
  if (mode_ == OutputMode::kRaw) return ends;
  for (const bool is_error : {false, true}) {
    Result<host::Descriptor> end =
        mode_ == OutputMode::kPrefix ? open_pipe(rank, is_error) : open_file(rank, is_error);
    if (!end) return std::unexpected(std::move(end).error());
    (is_error ? ends.err : ends.out) = std::move(*end);
  }
  return ends;
}

Result<host::Descriptor> GroupOutput::open_pipe(std::uint32_t rank, bool is_error) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return cannot("cannot make a pipe", errno);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  Stream stream;
  stream.rank = rank;
  stream.is_error = is_error;
  stream.from = host::Descriptor(ends[0]);
  stream.channel = is_error && err_ ? err_.get() : out_.get();
  stream.number = stream.channel->merger.add_stream(std::to_string(rank));
  streams_.push_back(std::move(stream));
  return host::Descriptor(ends[1]);
}

std::string GroupOutput::file_path(std::uint32_t rank, bool is_error) const {
  return fmt::format("{}/rank-{}.{}", directory_, rank, is_error ? "err" : "out");
}

Result<host::Descriptor> GroupOutput::open_file(std::uint32_t rank, bool is_error) const {
  const std::string path = file_path(rank, is_error);
  // O_APPEND: the rank's own children write to it too, through other open files perhaps.
  host::Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666));
  if (file.get() < 0) return cannot(path + ": cannot write", errno);
  return file;
}

void GroupOutput::watch(std::vector<pollfd>& wanted) const {
  for (const Stream& stream : streams_) {
    if (stream.from.get() >= 0 && !stream.channel->full()) wanted.push_back({stream.from.get(), POLLIN, 0});
  }
  for (const Channel* channel : {out_.get(), err_.get()}) {
    if (channel != nullptr && channel->sink.state() == Sink::State::kBlocked) {
      wanted.push_back({channel->sink.descriptor(), POLLOUT, 0});
    }
  }
}

void GroupOutput::pump(Time now, bool over) {
  for (Stream& stream : streams_) {
    if (stream.from.get() >= 0 && !stream.channel->full()) read_stream(stream, now, over);
  }
  show_late_lines(now);
  for (Channel* channel : {out_.get(), err_.get()}) {
    if (channel != nullptr && !channel->merger.ready().empty()) channel->sink.write(channel->merger.ready());
  }
}

void GroupOutput::read_stream(Stream& stream, Time now, bool over) {
  const ssize_t count = read(stream.from.get(), buffer_.data(), buffer_.size());
  LineMerger& merger = stream.channel->merger;
  if (count > 0) {
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
    stream.words.add(bytes);
    merger.add(stream.number, bytes);
    if (!merger.holds(stream.number)) {
      stream.held_since.reset();
    } else if (!stream.held_since || bytes.find('\n') != std::string_view::npos) {
      stream.held_since = now;
    }
    return;
  }
  if (count < 0 && (errno == EINTR || (errno == EAGAIN && !over))) return;
  merger.end(stream.number);
  stream.held_since.reset();
  stream.from = host::Descriptor();
}

void GroupOutput::show_late_lines(Time now) {
  for (Stream& stream : streams_) {
    if (!stream.held_since || now - *stream.held_since < kPatience) continue;
    stream.channel->merger.flush(stream.number);
    stream.held_since.reset();
  }
}

std::optional<GroupOutput::Time> GroupOutput::next_flush() const {
  std::optional<Time> next;
  for (const Stream& stream : streams_) {
    if (!stream.held_since) continue;
    const Time due = *stream.held_since + kPatience;
    if (!next || due < *next) next = due;
  }
  return next;
}

bool GroupOutput::reader_gone() const {
  return (out_ && out_->sink.state() == Sink::State::kClosed) ||
         (err_ && err_->sink.state() == Sink::State::kClosed);
}

bool GroupOutput::note(const std::string& text) {
  if (!out_) return false;
  (err_ ? err_ : out_)->merger.add_note("angio: " + text);
  return true;
}

std::optional<std::string> GroupOutput::take_complaint() {
  for (const Channel* channel : {out_.get(), err_.get()}) {
    if (complained_ || channel == nullptr || channel->sink.state() != Sink::State::kBroken) continue;
    complained_ = true;
    return fmt::format("standard {}: cannot write: {}; the ranks go on, what they write there is lost",
                       channel == out_.get() ? "output" : "error", errno_text(channel->sink.error()));
  }
  return std::nullopt;
}

bool GroupOutput::drained() const {
  const auto open = [](const Stream& stream) { return stream.from.get() >= 0; };
  if (std::any_of(streams_.begin(), streams_.end(), open)) return false;
  return (!out_ || out_->merger.ready_size() == 0) && (!err_ || err_->merger.ready_size() == 0);
}

std::string GroupOutput::words_of(std::uint32_t rank, bool is_error) const {
  if (mode_ == OutputMode::kFiles) {
    const host::Descriptor file(::open(file_path(rank, is_error).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    LastWords words;
    std::array<char, LastWords::kMostBytes> bytes{};
    const off_t size = lseek(file.get(), 0, SEEK_END);
    const ssize_t count = pread(file.get(), bytes.data(), bytes.size(),
                                std::max<off_t>(0, size - static_cast<off_t>(bytes.size())));
    if (count > 0) words.add({bytes.data(), static_cast<std::size_t>(count)});
    return words.text();
  }
  for (const Stream& stream : streams_) {
    if (stream.rank == rank && stream.is_error == is_error) return stream.words.text();
  }
  return {};
}

std::string GroupOutput::last_words(std::uint32_t rank) const {
  const std::string errors = words_of(rank, true);
  return errors.empty() ? words_of(rank, false) : errors;
}

}  // namespace angio::launch
