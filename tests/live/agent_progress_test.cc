// What ranks say on their progress socket and their output, and how fast they start and stop.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "tests/live/agent_testing.h"

namespace weft {
namespace {

// The socket of the rank, which its command has told in the file `address`.
class ProgressSender {
 public:
  explicit ProgressSender(const AgentNode& node) {
    std::string path;
    EXPECT_TRUE(wait_until([&] {
      path = slurp(node.scratch.path("address"));
      return path.ends_with('\n');
    }));
    if (!path.empty()) path.pop_back();
    address_.sun_family = AF_UNIX;
    EXPECT_LT(path.size(), sizeof address_.sun_path);
    std::memcpy(address_.sun_path, path.data(), std::min(path.size(), sizeof address_.sun_path));
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  }
  ~ProgressSender() { close(socket_); }
  ProgressSender(const ProgressSender&) = delete;
  ProgressSender& operator=(const ProgressSender&) = delete;

  bool send(const std::string& text) const {
    return sendto(socket_, text.data(), text.size(), 0,
                  reinterpret_cast<const sockaddr*>(&address_), sizeof address_) >= 0;
  }

 private:
  sockaddr_un address_ = {};
  int socket_ = -1;
};

constexpr const char* kTellAddress = "echo $WEFT_PROGRESS >$T/address; sleep 100";

TEST(AgentProgress, ReachesTheControllerAlsoPastADeadAgent) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(node.order("a", kTellAddress));
  const ProgressSender sender(node);
  EXPECT_TRUE(sender.send("step=3 loss=0.25\n"));
  const AgentJson said = controller.wait({{"op", "progress"}});
  EXPECT_EQ(said["uuid"], "a") << controller.said();
  EXPECT_EQ(said["rank"], 0);
  EXPECT_EQ(said["step"], 3);
  EXPECT_EQ(said["loss"], 0.25);
  node.kill_agent();
  EXPECT_TRUE(sender.send("step=4"));
  node.start();
  controller.wait({{"op", "hello"}}, 2);
  EXPECT_TRUE(wait_until([&] {
    sender.send("step=5");
    return !controller.wait({{"op", "progress"}, {"step", 5}}, 1, 0.1).is_null();
  }));
}

TEST(AgentProgress, HostileLinesHarmNobodyAndAFloodIsThinned) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  controller.send(node.order("a", kTellAddress));
  const ProgressSender sender(node);
  const std::int64_t from = monotonic_ns();
  for (int i = 0; i < 20'000; ++i) {
    sender.send("step=" + std::to_string(i));
    sender.send(std::string(4000, '{'));
    sender.send("op=1 uuid=2\nOP=x\n{\"op\":\"stop\"}\n\xff\xfe");
  }
  EXPECT_TRUE(wait_until([&] {
    sender.send("step=777777");
    return !controller.wait({{"op", "progress"}, {"step", 777777}}, 1, 0.2).is_null();
  })) << controller.said();
  const double passed_s = 1e-9 * static_cast<double>(monotonic_ns() - from);
  EXPECT_LE(static_cast<double>(controller.all({{"op", "progress"}}).size()), 10 * passed_s + 2);
  EXPECT_TRUE(controller.all({{"op", "ended"}}).empty());
}

TEST(AgentOutput, IsBoundedOnDisk) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  AgentJson order = node.order("a", "seq 1 200000");
  order["job"]["log_bytes"] = 200'000;
  controller.send(order);
  EXPECT_EQ(controller.wait({{"op", "ended"}})["code"], 0) << controller.said();
  const std::string before = slurp(node.scratch.path("logs/rank-0.log.1"));
  EXPECT_LE(node.log().size() + before.size(), 400'000U);
  EXPECT_TRUE((before + node.log()).ends_with("199999\n200000\n"));
}

// The figures are printed; the bounds only catch what is broken, because machines are busy.
TEST(AgentSpeed, StartsAndStopsAreQuick) {
  FakeController controller;
  AgentNode node(controller);
  controller.wait({{"op", "hello"}});
  std::vector<double> starts_ms, stops_ms;
  for (int i = 0; i < 20; ++i) {
    const std::string uuid = "run-" + std::to_string(i);
    const AgentJson order = node.order(uuid, "exec sleep 100", 2);
    const std::int64_t from = monotonic_ns();
    controller.send(order);
    ASSERT_EQ(controller.wait({{"op", "outcome"}, {"uuid", uuid}, {"number", 1}})["result"],
              "done");
    const std::int64_t started = monotonic_ns();
    controller.send({{"op", "stop"}, {"uuid", uuid}, {"epoch", 1}, {"number", 2}, {"grace_s", 5}});
    ASSERT_EQ(controller.wait({{"op", "outcome"}, {"uuid", uuid}, {"number", 2}})["result"],
              "done");
    stops_ms.push_back(1e-6 * static_cast<double>(monotonic_ns() - started));
    starts_ms.push_back(1e-6 * static_cast<double>(started - from));
  }
  std::sort(starts_ms.begin(), starts_ms.end());
  std::sort(stops_ms.begin(), stops_ms.end());
  std::printf("2 ranks: start to exec %.1f ms (least %.1f), stop to gone %.1f ms (least %.1f)\n",
              starts_ms[10], starts_ms[0], stops_ms[10], stops_ms[0]);
  EXPECT_LT(starts_ms[10], 2000);
  EXPECT_LT(stops_ms[10], 2000);
}

}  // namespace
}  // namespace weft
