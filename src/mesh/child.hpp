// One process that is started, watched and ended: its output in one piece, its CPU time, no standard input
// but what is given. It dies with the thread that started it. For perftest and for launchers.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/descriptor.hpp"

namespace angio::mesh {

struct ChildEnd {
  bool ended = false;
  int exit_code = 0;
  int signal = 0;
  double cpu_seconds = 0;  // user and system
};

class Child {
 public:
  // argv[0] is searched in PATH of environment unless it holds a slash. input: what it reads, then its end.
  static Result<Child> start(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, const std::string& input = {});
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // kills it and what it started, unless it has ended

  [[nodiscard]] int output() const { return output_.get(); }  // -1 once it is closed
  // What is there, without waiting; kept to its first and last parts.
  void read_output();
  [[nodiscard]] const std::string& text() const { return text_; }
  const ChildEnd& look();  // whether it ended
  void signal(int number) const;

 private:
  Child() = default;
  pid_t pid_ = -1;
  host::Descriptor output_;
  std::string text_;
  ChildEnd end_;
};

}  // namespace angio::mesh
