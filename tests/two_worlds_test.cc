// The same schedule in both worlds: what live endpoints write down when bytes are delivered is what
// the simulator writes down when flows end.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "collective/algorithms.h"
#include "fabric/topology.h"
#include "runtime/engine.h"
#include "runtime/shm/shm_transport.h"
#include "timing/schedule_run.h"

namespace weft {
namespace {

using collective::Operation;
using collective::Request;
using collective::Schedule;

// By source and destination: the bytes of each message.
using ShareLog = std::map<std::pair<int, int>, std::vector<std::uint64_t>>;

// Endpoints that live as long as the test; each schedule is the next operation of its stream.
class LiveWorld {
 public:
  explicit LiveWorld(runtime::MemberId endpoints) {
    for (runtime::MemberId id = 0; id < endpoints; ++id) {
      nodes_.push_back(std::make_unique<Node>(id));
    }
    for (runtime::MemberId a = 0; a < endpoints; ++a) {
      for (runtime::MemberId b = 0; b < endpoints; ++b) {
        if (a == b) continue;
        const Status attached = nodes_[a]->transport.attach(b, nodes_[b]->segment.where());
        EXPECT_TRUE(attached.ok()) << attached.error().what;
      }
    }
    runtime::EngineOptions options;
    options.spin_s = 0;
    for (std::size_t id = 0; id < nodes_.size(); ++id) {
      Node& node = *nodes_[id];
      node.engine = std::make_unique<runtime::Engine>(
          std::vector<runtime::Transport*>{&node.transport}, node.bell.bell(), options);
      node.engine->on_delivery([this, id](const runtime::Header& header, std::uint32_t) {
        const std::lock_guard lock(mutex_);
        log_[{header.from, static_cast<int>(id)}].push_back(header.bytes);
      });
    }
  }

  // `count` bytes of the vector, or of one rank's part.
  ShareLog run(const Schedule& schedule, std::uint64_t count) {
    const auto programs = runtime::make_programs(schedule);
    auto members = std::make_shared<std::vector<runtime::MemberId>>(programs.size());
    std::iota(members->begin(), members->end(), 0);
    std::vector<std::byte> in(count * programs.size() + 1), out(in.size() * programs.size());
    std::vector<std::shared_ptr<runtime::Execution>> executions;
    for (std::size_t e = 0; e < programs.size(); ++e) {
      runtime::OperationSpec spec;
      spec.key.sequence = sequence_;
      spec.call = {static_cast<runtime::Operation>(schedule.operation),
                   runtime::DataType::kUint8,
                   runtime::ReduceOp::kMax,
                   0,
                   0,
                   count};
      spec.program = std::make_shared<runtime::EndpointProgram>(programs[e]);
      spec.members = members;
      spec.rank = static_cast<int>(e);
      spec.hears_all = true;
      spec.input = in.data();
      spec.output = out.data() + e * in.size();
      spec.deadline = runtime::steady_now() + 60;
      executions.push_back(nodes_[e]->engine->submit(std::move(spec), true));
    }
    ++sequence_;
    for (std::size_t e = 0; e < executions.size(); ++e) {
      const Status status = nodes_[e]->engine->wait(executions[e]);
      EXPECT_TRUE(status.ok()) << status.error().what;
    }
    const std::lock_guard lock(mutex_);
    return std::exchange(log_, {});
  }

 private:
  struct Node {
    explicit Node(runtime::MemberId id)
        : bell(runtime::SharedBell::create().value()),
          segment(runtime::Segment::create(id, bell).value()),
          transport(id, segment) {}
    runtime::SharedBell bell;
    runtime::Segment segment;
    runtime::ShmTransport transport;
    std::unique_ptr<runtime::Engine> engine;
  };
  std::mutex mutex_;
  ShareLog log_;
  std::uint32_t sequence_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
};

ShareLog simulated(const Schedule& schedule, double bytes) {
  static const Topology topology = read_topology("switch", 32).value();
  ScheduleTask task{&schedule, &topology, {}, bytes, {}, true, 0};
  task.placement.vertex.resize(static_cast<std::size_t>(schedule.endpoints()));
  std::iota(task.placement.vertex.begin(), task.placement.vertex.end(), 0);
  ShareLog log;
  for (const TimedMessage& message : run_schedule(task).recorded) {
    log[{message.from, message.to}].push_back(static_cast<std::uint64_t>(message.bytes + 0.5));
  }
  return log;
}

// Each world delivers the messages of a pair in an order of its own.
ShareLog sorted(ShareLog log) {
  for (auto& [pair, messages] : log) std::sort(messages.begin(), messages.end());
  return log;
}

std::vector<Request> requests(const collective::Algorithm& algorithm, int ranks) {
  std::vector<Request> all;
  const auto add = [&](auto change) {
    Request request{.operation = algorithm.operation, .ranks = ranks};
    request.density = 1;
    change(request);
    if (algorithm.refusal(request).empty()) all.push_back(request);
  };
  add([](Request&) {});
  add([&](Request& r) { r.root = ranks - 1, r.chunks = 3, r.rings = 2, r.servers = 2; });
  add([&](Request& r) { r.per_node = 2, r.dims = {2, ranks / 2}; });
  add([&](Request& r) { r.per_node = 3, r.dims = {ranks}; });
  return all;
}

// Eight bytes for each unit of weight: the elements of the vector or of one rank's part, and the n
// of the simulator.
std::pair<std::uint64_t, double> size_for(const Schedule& schedule) {
  const bool parts = schedule.operation == Operation::kReduceScatter ||
                     schedule.operation == Operation::kAllGather;
  std::int64_t chunks = schedule.chunks.count;
  if (parts) chunks /= schedule.ranks;
  if (schedule.operation == Operation::kAllToAll) chunks = 1;
  std::uint64_t weight = 0;
  for (std::int64_t c = 0; c < chunks; ++c) weight += schedule.chunks.at(c);
  return {8 * weight, 8 * static_cast<double>(schedule.whole)};
}

TEST(TwoWorlds, DeliveriesAreTheSimulatorsEndedFlows) {
  LiveWorld live(20);
  int compared = 0;
  for (const int ranks : {2, 3, 4, 8, 9}) {
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
      for (const Request& request : requests(algorithm, ranks)) {
        if (request.operation == Operation::kBarrier) continue;
        const Schedule schedule = algorithm.make(request);
        const auto [count, whole] = size_for(schedule);
        ASSERT_EQ(sorted(live.run(schedule, count)), sorted(simulated(schedule, whole)))
            << algorithm.name << " " << name_of(request.operation) << ", " << ranks << " ranks";
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100);
}

// Takes the first message out of a schedule: the send and the receive that meets it.
Schedule without_a_step(Schedule schedule) {
  using collective::Kind;
  for (std::size_t e = 0; e < schedule.programs.size(); ++e) {
    auto& rounds = schedule.programs[e].streams[0];
    for (std::size_t r = rounds.size(); r-- > 0;) {
      auto& ops = rounds[r].ops;
      const auto send = std::find_if(ops.begin(), ops.end(),
                                     [](const auto& op) { return op.kind == Kind::kSend; });
      if (send == ops.end() || rounds[r].repeat != 1) continue;
      const auto peer = static_cast<std::size_t>(send->peer.at(0));
      auto& theirs = schedule.programs[peer].streams[0][r].ops;
      const auto receive = std::find_if(theirs.begin(), theirs.end(), [&](const auto& op) {
        return op.kind != Kind::kSend && op.peer.at(0) == static_cast<int>(e);
      });
      if (receive == theirs.end()) continue;
      ops.erase(send);
      theirs.erase(receive);
      return schedule;
    }
  }
  ADD_FAILURE() << "no message to take out";
  return schedule;
}

TEST(TwoWorlds, AStepThatIsMissingInOneWorldIsNoticed) {
  LiveWorld live(4);
  const Schedule whole =
      collective::generate("binomial", {.operation = Operation::kBroadcast, .ranks = 4}).value();
  const Schedule less = without_a_step(whole);
  const auto [count, bytes] = size_for(whole);
  EXPECT_EQ(sorted(live.run(whole, count)), sorted(simulated(whole, bytes)));
  EXPECT_NE(sorted(live.run(less, count)), sorted(simulated(whole, bytes)));
  EXPECT_NE(sorted(live.run(whole, count)), sorted(simulated(less, bytes)));
}

}  // namespace
}  // namespace weft
