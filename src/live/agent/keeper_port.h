// Where keepers reach their agent.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "base/result.h"
#include "runtime/net/reactor.h"

namespace weft::live {

// Everything on the reactor's thread. A link is named by its descriptor.
class KeeperPort {
 public:
  struct Events {
    // The first message on a link, with the process that sent it.
    std::function<void(int link, pid_t peer, const nlohmann::json&)> on_first;
    std::function<void(int link, const nlohmann::json&)> on_message;
    // The link is closed afterwards. Not called after drop().
    std::function<void(int link)> on_end;
  };

  static Result<std::unique_ptr<KeeperPort>> open(runtime::Reactor& reactor,
                                                  const std::string& path, Events events);
  ~KeeperPort();
  KeeperPort(const KeeperPort&) = delete;
  KeeperPort& operator=(const KeeperPort&) = delete;

  // A link that was made otherwise; what comes on it is no first message.
  Status adopt(int link);
  void drop(int link);
  // Takes what has arrived on a link whose other side is gone, without waiting for an event.
  void read_rest(int link);

 private:
  KeeperPort(runtime::Reactor& reactor, int descriptor, Events events)
      : reactor_(reactor), descriptor_(descriptor), events_(std::move(events)) {}
  void accept_all();
  void read(int link, pid_t peer);

  runtime::Reactor& reactor_;
  int descriptor_;
  Events events_;
  std::set<int> fresh_;         // links before their first message
  std::map<int, pid_t> known_;  // links after it, with their peers
};

}  // namespace weft::live
