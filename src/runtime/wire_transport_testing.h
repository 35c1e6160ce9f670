// Members 0, 1, … of one job in one process, each with a transport and a reactor of its own.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "runtime/net/connection_testing.h"
#include "runtime/tcp/tcp_transport.h"

namespace weft::runtime {

using OpenedWire = Result<std::unique_ptr<WireTransport>>;

inline OpenedWire open_tcp(Reactor& reactor, Doorbell bell, WireSettings wire,
                           TcpTransport::Settings settings) {
  static_cast<WireSettings&>(settings) = std::move(wire);
  settings.listen_address = "127.0.0.1:0";
  settings.connect_s = 2;
  auto opened = TcpTransport::open(reactor, bell, std::move(settings));
  if (!opened.ok()) return opened.error();
  return std::unique_ptr<WireTransport>(std::move(*opened));
}

class WireMembers {
 public:
  using Open = std::function<OpenedWire(Reactor&, Doorbell, WireSettings)>;
  explicit WireMembers(Open open) : open_(std::move(open)) {}

  struct Member {
    DoorbellWord word{};
    std::unique_ptr<Reactor> reactor = std::move(Reactor::start()).value();
    Log lost;
    std::unique_ptr<WireTransport> transport;
  };

  void start(MemberId count) {
    for (MemberId id = 0; id < count; ++id) start_one(id);
  }

  void start_one(MemberId id) {
    auto member = std::make_unique<Member>();
    WireSettings settings;
    settings.secret = secret_;
    settings.job = kJob;
    settings.self = id;
    settings.credit_bytes = credit_bytes_;
    settings.address_of = [this](MemberId other) -> std::optional<std::string> {
      const std::lock_guard lock(mutex_);
      const auto found = addresses_.find(other);
      return found == addresses_.end() ? std::nullopt : std::optional(found->second);
    };
    settings.on_peer_lost = [&lost = member->lost](MemberId who, const std::string& why,
                                                   bool sure) {
      lost.add(why);
      lost.add(fmt::format("{} {}", who, sure ? "confirmed" : "unconfirmed"));
    };
    auto opened = open_(*member->reactor, Doorbell(&member->word), settings);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    member->transport = std::move(opened).value();
    const std::lock_guard lock(mutex_);
    addresses_[id] = member->transport->address();
    members_[id] = std::move(member);
  }

  WireTransport& at(MemberId id) { return *members_.at(id)->transport; }

  // Whether `id` is told in time that `other` is lost.
  bool loses(MemberId id, MemberId other) {
    const Log& log = members_.at(id)->lost;
    return eventually([&] {
      return log.has(fmt::format("{} confirmed", other)) ||
             log.has(fmt::format("{} unconfirmed", other));
    });
  }

  // Sends when there is room; the payload is `bytes` times the low byte of `index`.
  testing::AssertionResult send(MemberId from, std::vector<MemberId> to, std::uint32_t index,
                                std::uint32_t bytes) {
    Doorbell bell(&members_.at(from)->word);
    const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(kTestDeadline * 1e9);
    while (monotonic_ns() < end) {
      const std::uint32_t seen = bell.announce();
      std::byte* room = at(from).reserve(to, bytes, false).at;
      if (room == nullptr) {
        bell.sleep(seen, 0.5);
        continue;
      }
      bell.retract();
      std::memset(room, static_cast<int>(index & 0xff), bytes);
      Header header;
      header.index = index;
      header.from = static_cast<std::uint16_t>(from);
      header.bytes = bytes;
      at(from).post(room, to, header);
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "no room for message " << index;
  }

  // Waits for a message on the doorbell, checks its payload and releases it.
  std::optional<Message> receive(MemberId id, Seconds deadline_s = kTestDeadline) {
    Doorbell bell(&members_.at(id)->word);
    const std::int64_t end = monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9);
    do {
      const std::uint32_t seen = bell.announce();
      Message message;
      if (at(id).poll(message)) {
        bell.retract();
        const auto expected = static_cast<std::byte>(message.header.index & 0xff);
        for (std::uint32_t i = 0; i < message.header.bytes; ++i) {
          if (message.payload[i] != expected) ADD_FAILURE() << "byte " << i << " is wrong";
        }
        at(id).release(message);
        return message;
      }
      bell.sleep(seen, 0.05);
    } while (monotonic_ns() < end);
    return std::nullopt;
  }

  static constexpr std::uint64_t kJob = 9;
  Secret secret_ = *Secret::fresh();
  std::size_t credit_bytes_ = WireSettings{}.credit_bytes;
  std::mutex mutex_;
  std::map<MemberId, std::string> addresses_;  // under mutex_
  std::map<MemberId, std::unique_ptr<Member>> members_;

 private:
  Open open_;
};

}  // namespace weft::runtime
