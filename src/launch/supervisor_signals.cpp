#include "launch/supervisor_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace angio::launch {
namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalInbox::SignalInbox() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    if (!is_ignored(signal)) sigaddset(&wanted, signal);
  }
  sigaddset(&wanted, SIGCHLD);
  sigprocmask(SIG_BLOCK, &wanted, &before_);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  // Where it is ignored, the kernel reaps children itself and their exit codes are lost.
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, &child_before_);
  inbox_ = host::Descriptor(signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
}

SignalInbox::~SignalInbox() {
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> SignalInbox::next() const {
  signalfd_siginfo info{};
  if (read(inbox_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void SignalInbox::restore() const {
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace angio::launch
