#include "live/agent/run_order.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace weft::live {
namespace {

using Json = nlohmann::json;

Json good() {
  return Json::parse(R"({"op": "start", "uuid": "0a-B", "epoch": 2, "number": 7,
    "job": {"run": "true", "log_dir": "/logs", "uid": 1000, "envs": {"A": "1", "B": "2"},
            "on_controller_loss": "stop", "checkpoint_signal": "SIGUSR1", "grace_s": 3},
    "ranks": [{"rank": 4, "local": 1, "devices": [0, 3], "milli": 250, "memory": 1024,
               "cpu_milli": 500, "cpus": [1], "network_limit": 1e6}],
    "environment": {"B": "3"}, "later": "ignored"})");
}

TEST(RunOrder, IsReadWhole) {
  const auto order = read_run_order(good());
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->key, (RunKey{"0a-B", 2}));
  EXPECT_EQ(order->number, 7U);
  EXPECT_EQ(order->envs.at("A"), "1");
  EXPECT_EQ(order->envs.at("B"), "3") << "the cluster's word comes last";
  EXPECT_TRUE(order->ends_without_controller);
  EXPECT_EQ(order->checkpoint_signal, SIGUSR1);
  ASSERT_EQ(order->ranks.size(), 1U);
  EXPECT_EQ(order->ranks[0].devices, (std::vector{0, 3}));
  EXPECT_EQ(order->ranks[0].milli, 250);
  EXPECT_EQ(order->ranks[0].network_limit, 1e6);
  EXPECT_FALSE(order->ranks[0].cpu_more);
  EXPECT_FALSE(order->ranks[0].memory_more);
}

TEST(RunOrder, AShareMayBeNoLimit) {
  Json message = good();
  message["ranks"][0]["cpu_more"] = message["ranks"][0]["memory_more"] = 1;
  const auto order = read_run_order(message);
  ASSERT_TRUE(order.ok());
  EXPECT_TRUE(order->ranks[0].cpu_more);
  EXPECT_TRUE(order->ranks[0].memory_more);
}

TEST(RunOrder, APlaceToMeetNeedsNoCommandButAGroup) {
  Json message = good();
  message["job"].erase("run");
  EXPECT_FALSE(read_run_order(message).ok());
  message["meet"] = "127.0.0.1:2000";
  EXPECT_FALSE(read_run_order(message).ok()) << "whose?";
  message["group"] = "u/3";
  const auto order = read_run_order(message);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->meet, "127.0.0.1:2000");
  EXPECT_EQ(order->group, "u/3");
  message["meet"] = "$(reboot):1";
  EXPECT_FALSE(read_run_order(message).ok());
}

TEST(RunOrder, TheSecretOfAGroupIsMadeOfTheClustersAndItsName) {
  const runtime::Secret one{{1}}, other{{2}};
  EXPECT_EQ(group_secret(one, "u/3"), group_secret(one, "u/3"));
  EXPECT_NE(group_secret(one, "u/3"), group_secret(one, "u/4"));
  EXPECT_NE(group_secret(one, "u/3"), group_secret(other, "u/3"));
  EXPECT_NE(group_secret(one, "u/3"), one);
}

TEST(RunOrder, NamesTheFieldThatIsWrong) {
  const struct {
    const char* want;
    std::function<void(Json&)> spoil;
  } kRows[] = {
      {"uuid", [](Json& j) { j["uuid"] = "../etc"; }},
      {"uuid", [](Json& j) { j["uuid"] = std::string(65, 'a'); }},
      {"uuid", [](Json& j) { j.erase("uuid"); }},
      {"epoch", [](Json& j) { j["epoch"] = -1; }},
      {"epoch", [](Json& j) { j.erase("epoch"); }},
      {"epoch", [](Json& j) { j["epoch"] = 1.5; }},
      {"number", [](Json& j) { j["number"] = "7"; }},
      {"job", [](Json& j) { j.erase("job"); }},
      {"run", [](Json& j) { j["job"].erase("run"); }},
      {"run", [](Json& j) { j["job"]["run"] = std::string("a\0b", 3); }},
      {"log_dir", [](Json& j) { j["job"]["log_dir"] = "logs"; }},
      {"workdir", [](Json& j) { j["job"]["workdir"] = "here"; }},
      {"envs", [](Json& j) { j["job"]["envs"]["A=B"] = "1"; }},
      {"envs", [](Json& j) { j["job"]["envs"]["A"] = 1; }},
      {"environment", [](Json& j) { j["environment"] = "x"; }},
      {"on_controller_loss", [](Json& j) { j["job"]["on_controller_loss"] = "panic"; }},
      {"checkpoint_signal", [](Json& j) { j["job"]["checkpoint_signal"] = "SIGNOT"; }},
      {"grace_s", [](Json& j) { j["job"]["grace_s"] = -1; }},
      {"ranks", [](Json& j) { j["ranks"] = Json::array(); }},
      {"ranks", [](Json& j) { j["ranks"][0] = 5; }},
      {"twice", [](Json& j) { j["ranks"].push_back(j["ranks"][0]); }},
      {"devices", [](Json& j) { j["ranks"][0]["devices"] = {-1}; }},
      {"milli", [](Json& j) { j["ranks"][0]["milli"] = 1001; }},
      {"memory", [](Json& j) { j["ranks"][0]["memory"] = 1e300; }},
      {"rank", [](Json& j) { j["ranks"][0].erase("rank"); }},
  };
  for (const auto& row : kRows) {
    Json message = good();
    row.spoil(message);
    const auto order = read_run_order(message);
    ASSERT_FALSE(order.ok()) << row.want;
    EXPECT_NE(order.error().what.find(row.want), std::string::npos) << order.error().what;
  }
}

TEST(RunKey, IsParsedFromTheNamesOfFiles) {
  EXPECT_EQ(*parse_run_key("a-1.12"), (RunKey{"a-1", 12}));
  EXPECT_EQ((RunKey{"a-1", 12}).text(), "a-1.12");
  for (const char* wrong : {"", "a", "a.", ".1", "a.1x", "a.-1", "a/b.1", "a.1.2"}) {
    EXPECT_FALSE(parse_run_key(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace weft::live
