// The state of a schedule under way; private to schedule_run.cc and lanes.cc.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "collective/cursor.h"
#include "collective/hazards.h"
#include "fabric/flow_sim.h"
#include "timing/routes.h"
#include "timing/schedule_run.h"

namespace weft {

class ScheduleRun {
 public:
  explicit ScheduleRun(const ScheduleTask& task);
  ScheduleTime run();

 private:
  using MessageId = std::uint32_t;
  static constexpr std::int32_t kNobody = -1;
  static constexpr std::size_t kMaxRecorded = 1'000'000;

  // What streamed sends of one group wait for: the receives that bring what they forward.
  struct Forward {
    int unstarted = 0;               // receives whose bytes do not flow yet
    int receiving = 0;               // receives that have not ended
    Seconds received_at = 0;         // when the last of them ended
    std::vector<MessageId> waiting;  // sends that wait for receives to start
    std::vector<MessageId> held;     // sends that wait for receives to end
  };
  // One stream of one endpoint.
  struct Lane {
    Lane(const std::vector<collective::Round>& rounds, int at, int number)
        : cursor(rounds), endpoint(at), stream(number) {}
    collective::Cursor cursor;
    int endpoint, stream;
    int open = 0;                  // operations of the round that have not ended
    std::vector<Forward> forward;  // of a round with streamed sends: by first operation of a group
    const collective::Round* last_round = nullptr;  // where it stood when all stood together
    std::int64_t last_iteration = 0;
  };
  struct Message {
    std::int32_t sender = kNobody, receiver = kNobody;              // lanes
    std::int32_t sender_group = kNobody, receiver_group = kNobody;  // in Lane::forward
    std::int64_t round = 0;
    double bytes = 0;
    Seconds latency = 0, start = 0;
    const Routes::Route* route = nullptr;
    std::uint32_t flows_left = 0;  // parts under way
    bool streamed = false, eager = false, begun = false, arrived = false;
  };
  struct Channel {
    std::deque<MessageId> sends;     // without a receive yet
    std::deque<MessageId> receives;  // without a send yet
    int eager = 0;                   // sends under way without a receive
  };
  enum class Wake : std::uint8_t { kLaunch, kComplete, kEnter };
  struct Timer {
    Wake what;
    std::uint32_t id;
  };

  // schedule_run.cc
  void enter(std::uint32_t lane);
  void find_groups(Lane& lane);
  void advance_ready();
  bool repeats_itself() const;
  bool steady(const collective::Round& round);
  void skip_repeats();
  void fire(const std::vector<Timer>& timers);
  void set_timer(Seconds at, Timer timer);

  // lanes.cc
  void post_send(std::uint32_t lane, const collective::Op& op, std::int32_t group, double density);
  void post_receive(std::uint32_t lane, const collective::Op& op, std::int32_t group);
  void begin(MessageId id);
  void arm(MessageId id);
  void launch(MessageId id);
  void receive_started(const Message& message);
  void arrived(MessageId id);
  void complete(MessageId id);
  void end_receive(const Message& message);
  Forward* forward_of(std::int32_t lane, std::int32_t group);
  void close_one(std::uint32_t lane);
  double bytes_of(const Lane& lane, const collective::Op& op) const;
  MessageId new_message();
  Channel& channel(int from, int to, int stream);

  const ScheduleTask& task_;
  const collective::Schedule& schedule_;
  FlowSim sim_;
  Routes routes_;
  collective::Hazards hazards_;
  std::vector<std::int32_t> groups_;  // scratch of enter: by operation
  std::vector<Lane> lanes_;
  std::vector<Message> messages_;
  std::vector<MessageId> free_messages_;
  std::vector<MessageId> of_flow_;  // by flow
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::map<Seconds, std::vector<Timer>> timers_;
  std::vector<std::uint32_t> ready_;
  std::unordered_map<const collective::Round*, bool> steady_;
  std::size_t active_ = 0, last_active_ = 0;
  Seconds together_at_ = -1;  // when all lanes last stood at the beginning of a round
  double round_messages_ = 0, round_bytes_ = 0;  // since then
  ScheduleTime out_;
};

}  // namespace weft
