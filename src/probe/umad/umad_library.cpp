#include "probe/umad/umad_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/text.hpp"
#include "model/fabric.hpp"

namespace angio::probe::umad {
namespace {

constexpr std::string_view kInstead =
    "run `ibnetdiscover > fabric.txt` where the subnet manager runs and read that file instead";

std::string text_of(const Name& name) {
  return {name.begin(), std::ranges::find(name, '\0')};
}

std::string device_words(const std::string& adapter, std::uint32_t port) {
  return fmt::format("{} port {}", printable(adapter), port);
}

std::unexpected<Error> refuse_open(const std::string& adapter, std::uint32_t port, int error) {
  std::string message = fmt::format("{}: its device /dev/infiniband/umadN cannot be opened: {}",
                                    device_words(adapter, port), errno_text(error));
  if (error == EACCES || error == EPERM) {
    return fail(
        ErrorCode::kDenied, std::move(message),
        fmt::format("Run it as root or in the group that owns /dev/infiniband/umad* (often rdma), or {}",
                    kInstead));
  }
  return fail(
      error == ENOENT || error == ENODEV || error == EINVAL ? ErrorCode::kNotFound : ErrorCode::kIo,
      std::move(message),
      fmt::format("Load the kernel module ib_umad, show the device to this container, or {}", kInstead));
}

class UmadWire final : public MadWire {
 public:
  UmadWire(const UmadCalls& calls, std::string name, int port)
      : calls_(calls), name_(std::move(name)), port_(port), head_bytes_(calls.size()) {
    out_.resize(head_bytes_ + kMadBytes);
    // More than a MAD: a library that errs about the length writes into ours, not behind it.
    in_.resize(head_bytes_ + 4 * kMadBytes);
  }
  ~UmadWire() override {
    for (const int agent : {subnet_, performance_}) {
      if (agent >= 0) calls_.unregister(port_, agent);
    }
    calls_.close(port_);
  }

  [[nodiscard]] Result<void> enrol() {
    for (const auto& [mad_class, agent] :
         {std::pair{MadClass::kDirected, &subnet_}, std::pair{MadClass::kPerformance, &performance_}}) {
      errno = 0;
      *agent = calls_.register_class(port_, static_cast<int>(mad_class), 1, 0, nullptr);
      if (*agent >= 0) continue;
      const int error = errno != 0 ? errno : -*agent;
      return fail(error == EPERM || error == EACCES ? ErrorCode::kDenied : ErrorCode::kIo,
                  fmt::format("{}: the kernel takes no management datagrams of class 0x{:02x}: {}", name_,
                              static_cast<unsigned>(mad_class), errno_text(error)),
                  fmt::format("Run it as root, or {}", kInstead));
    }
    return {};
  }

  Result<void> send(const Outgoing& outgoing) override {
    constexpr int kWellKnownKey = static_cast<int>(0x80010000U);  // Q_Key of QP 1
    const bool directed = outgoing.mad_class == MadClass::kDirected;
    std::ranges::fill(out_, std::uint8_t{0});
    calls_.set_address(out_.data(), outgoing.lid, directed ? 0 : 1, 0, directed ? 0 : kWellKnownKey);
    calls_.set_key_index(out_.data(), 0);
    std::memcpy(calls_.mad(out_.data()), outgoing.mad->data(), kMadBytes);
    errno = 0;
    const int sent = calls_.send(port_, directed ? subnet_ : performance_, out_.data(),
                                 static_cast<int>(kMadBytes), static_cast<int>(outgoing.patience.count()), 0);
    if (sent == 0) return {};
    const int error = errno != 0 ? errno : -sent;
    return fail(ErrorCode::kIo, fmt::format("{}: umad_send failed: {}", name_, errno_text(error)),
                "The adapter was reset or taken away, or its queue is full: look at the kernel's log");
  }

  void receive(std::chrono::milliseconds patience, Incoming& incoming) override {
    incoming.arrival = Arrival::kNothing;
    auto length = static_cast<int>(kMadBytes);
    errno = 0;
    const int got = calls_.receive(port_, in_.data(), &length, static_cast<int>(patience.count()));
    if (got < 0) return fail_receive(got, incoming);
    errors_ = 0;
    const int status = calls_.status(in_.data());
    if (status == 0 && length < static_cast<int>(kMadBytes)) {
      incoming.arrival = Arrival::kShort;
      return;
    }
    std::memcpy(incoming.mad.data(), calls_.mad(in_.data()), kMadBytes);
    incoming.arrival = status == 0 ? Arrival::kMad : Arrival::kReturned;
  }

 private:
  void fail_receive(int got, Incoming& incoming) {
    const int error = errno != 0 ? errno : -got;
    const bool nothing = got == -ETIMEDOUT || got == -EWOULDBLOCK || error == EINTR || error == EAGAIN;
    // A single error is a signal or a wake-up without a reason.
    constexpr std::uint32_t kMostErrors = 1000;
    if (nothing || ++errors_ < kMostErrors) return;
    incoming.arrival = Arrival::kBroken;
    incoming.why = fmt::format("{}: umad_recv failed: {}", name_, errno_text(error));
  }

  UmadCalls calls_;
  std::string name_;
  int port_;
  std::size_t head_bytes_;
  int subnet_ = -1;
  int performance_ = -1;
  std::uint32_t errors_ = 0;
  std::vector<std::uint8_t> out_, in_;
};

}  // namespace

std::string words_of(const ListedPort& port) {
  const std::string name = device_words(port.adapter, port.number);
  if (port.ethernet) return name + " is Ethernet";
  if (port.state < 1 || port.state > 4) return fmt::format("{} is in state {}", name, port.state);
  return fmt::format("{} is {}", name, model::name_of(static_cast<model::PortState>(port.state)));
}

Result<std::unique_ptr<UmadLibrary>> UmadLibrary::load(const host::LibraryLoader& loader) {
  Result<std::unique_ptr<host::Library>> library = loader.open({"libibumad.so.3"});
  if (!library) {
    return fail(ErrorCode::kNotFound, "libibumad is not here: " + library.error().message,
                fmt::format("Install libibumad3 (Debian, Ubuntu) or libibumad (RHEL), or {}", kInstead));
  }
  std::unique_ptr<UmadLibrary> loaded(new UmadLibrary(std::move(*library)));
  const char* missing = nullptr;
  const auto find = [&](auto& call, const char* symbol) {
    void* address = loaded->library_->find(symbol);
    if (address == nullptr) missing = symbol;
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(address);  // dlsym: POSIX allows this
  };
  UmadCalls& calls = loaded->calls_;
  find(calls.init, "umad_init");
  find(calls.names, "umad_get_cas_names");
  find(calls.get, "umad_get_ca");
  find(calls.release, "umad_release_ca");
  find(calls.open, "umad_open_port");
  find(calls.close, "umad_close_port");
  find(calls.register_class, "umad_register");
  find(calls.unregister, "umad_unregister");
  find(calls.send, "umad_send");
  find(calls.receive, "umad_recv");
  find(calls.size, "umad_size");
  find(calls.mad, "umad_get_mad");
  find(calls.status, "umad_status");
  find(calls.set_address, "umad_set_addr");
  find(calls.set_key_index, "umad_set_pkey");
  if (missing != nullptr) {
    return fail(ErrorCode::kUnsupported, fmt::format("{} has no {}", loaded->library_->path(), missing),
                "This library is no libibumad of rdma-core 17 or later");
  }
  if (const int failed = calls.init(); failed < 0) {
    return fail(ErrorCode::kNotFound, fmt::format("umad_init failed ({})", failed),
                "Load the kernel module ib_umad: `modprobe ib_umad`");
  }
  return loaded;
}

// Without hardware the library still names an adapter, which then cannot be got.
std::vector<ListedPort> UmadLibrary::ports() const {
  std::vector<ListedPort> found;
  std::array<Name, kMostAdapters> names{};
  const int count = calls_.names(names.data(), kMostAdapters);
  for (int i = 0; i < std::min(count, kMostAdapters); ++i) {
    Name name = names.at(static_cast<std::size_t>(i));
    name.back() = '\0';
    Adapter adapter{};
    if (calls_.get(name.data(), &adapter) < 0) continue;
    for (std::size_t number = 0; number < kMostPorts; ++number) {
      const Port* port = adapter.ports.at(number);
      if (port == nullptr) continue;
      found.push_back({text_of(name), static_cast<std::uint32_t>(number), port->state,
                       text_of(port->link_layer) == "Ethernet"});
    }
    calls_.release(&adapter);
  }
  return found;
}

Result<std::unique_ptr<MadWire>> UmadLibrary::open(const std::string& adapter, std::uint32_t port) const {
  errno = 0;
  const int opened = calls_.open(adapter.c_str(), static_cast<int>(port));
  if (opened < 0) return refuse_open(adapter, port, errno != 0 ? errno : -opened);
  auto wire = std::make_unique<UmadWire>(calls_, device_words(adapter, port), opened);
  if (Result<void> enrolled = wire->enrol(); !enrolled) return std::unexpected(enrolled.error());
  return wire;
}

}  // namespace angio::probe::umad
