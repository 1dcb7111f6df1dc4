// The agents of a mesh as its controller sees them: started by a launcher, let in when they prove that they
// hold the token, heard and told. Knows hosts that never came, that went, and that do not answer. Not rounds.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "mesh/child.hpp"
#include "mesh/launcher.hpp"
#include "mesh/messages.hpp"
#include "mesh/sockets.hpp"

namespace angio::mesh {

struct AgentState {
  LineChannel channel;
  bool here = false;    // it came, and has not gone
  bool silent = false;  // it did not answer in time, and has not spoken since
  std::string trouble;  // why it is not here
  Hello hello;
  std::string address;  // its own, towards us
};

struct Heard {
  std::uint32_t host = 0;
  Message message;
};

class Agents {
 public:
  // environment: of the launcher; the token is added to it here.
  // version: agents of another one speak another language, or measure otherwise.
  static Result<Agents> start(LaunchRequest request, const std::string& control,
                              const std::vector<std::string>& environment, std::string version);

  // Waits at most 100 ms and returns what agents said. `left`: hosts that went meanwhile.
  std::vector<Heard> listen(std::vector<std::uint32_t>& left);
  void tell(std::uint32_t host, const Message& message);
  void set_silent(std::uint32_t host, std::string trouble);
  // Nobody comes in from here on.
  void close_door();
  // Tells all that it is over and waits for the launchers, at most a few seconds.
  void end();

  [[nodiscard]] const AgentState& at(std::uint32_t host) const { return states_[host]; }
  [[nodiscard]] bool can_play(std::uint32_t host) const {
    return states_[host].here && !states_[host].silent;
  }
  [[nodiscard]] std::uint32_t here() const;
  [[nodiscard]] bool all_came() const;
  // Whether hosts are missing whose launcher still runs.
  [[nodiscard]] bool may_come();
  // Why a host did not come: the launcher's words about it.
  [[nodiscard]] std::string why_absent(std::uint32_t host) const;
  // Words for refusals of strangers: "10.0.0.9 does not hold the token".
  [[nodiscard]] const std::vector<std::string>& strangers() const { return strangers_; }

 private:
  struct Guest {  // not let in yet
    LineChannel channel;
    std::string random;
    SteadyTime until;
  };
  Agents() = default;
  [[nodiscard]] bool launchers_ended();
  void accept_guests();
  void hear_guest(Guest& guest);
  void let_in(Guest& guest, Hello hello);
  void refuse(Guest& guest, std::string words);

  std::vector<std::string> hosts_;
  std::string token_;
  Listener listener_;
  std::vector<AgentState> states_;
  std::vector<bool> taken_;
  std::vector<Guest> guests_;
  struct Started {
    Child child;
    std::optional<std::uint32_t> host;
  };
  std::vector<Started> launchers_;
  std::vector<std::string> strangers_;
  std::string version_;
};

}  // namespace angio::mesh
