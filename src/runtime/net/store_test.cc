#include "runtime/net/store.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/stopwatch.h"
#include "runtime/net/connection_testing.h"
#include "runtime/net/store_wire.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  std::string address() const { return fmt::format("127.0.0.1:{}", server_->port()); }
  std::unique_ptr<StoreClient> client() {
    auto connected = StoreClient::connect(address(), secret_, kTestDeadline);
    CHECK_MSG(connected.ok(), connected.ok() ? "" : connected.error().what.c_str());
    return std::move(connected).value();
  }

  const Secret secret_ = *Secret::fresh();
  std::unique_ptr<StoreServer> server_ =
      std::move(StoreServer::start("127.0.0.1:0", secret_)).value();
};

TEST_F(StoreTest, KeepsValues) {
  const auto a = client(), b = client();
  EXPECT_EQ(a->look("k", 5).error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(a->set("k", "one", 5).ok());
  EXPECT_EQ(*b->get("k", 5), "one");
  EXPECT_EQ(*b->look("k", 5), "one");
  const std::string large(kMostValueBytes, 'x');
  EXPECT_TRUE(b->set("k", large, 5).ok());
  EXPECT_EQ(*a->get("k", 5), large);
  EXPECT_TRUE(a->remove("k", 5).ok());
  EXPECT_TRUE(a->remove("k", 5).ok());
  EXPECT_EQ(b->look("k", 5).error().kind, ErrorKind::kNotFound);
}

TEST_F(StoreTest, AddsAndSwaps) {
  const auto a = client();
  EXPECT_EQ(*a->add("n", 5, 5), 5);
  EXPECT_EQ(*a->add("n", -7, 5), -2);
  EXPECT_EQ(*a->get("n", 5), "-2");
  ASSERT_TRUE(a->set("text", "word", 5).ok());
  EXPECT_THAT(a->add("text", 1, 5).error().what, HasSubstr("key 'text'"));
  ASSERT_TRUE(a->set("most", "9223372036854775807", 5).ok());
  EXPECT_THAT(a->add("most", 1, 5).error().what, HasSubstr("64 bits"));

  EXPECT_EQ(*a->swap("leader", "", "me", 5), "me");
  EXPECT_EQ(*a->swap("leader", "", "you", 5), "me");
  EXPECT_EQ(*a->swap("leader", "me", "you", 5), "you");
  EXPECT_EQ(*a->swap("absent", "something", "x", 5), "");
  EXPECT_EQ(a->look("absent", 5).error().kind, ErrorKind::kNotFound);
}

TEST_F(StoreTest, GetWaitsForSetAddAndSwap) {
  const auto setter = client();
  for (const std::string key : {"set", "add", "swap"}) {
    auto got = std::async(std::launch::async, [&] { return client()->get(key, kTestDeadline); });
    EXPECT_TRUE(key == "set"   ? setter->set(key, "1", 5).ok()
                : key == "add" ? setter->add(key, 1, 5).ok()
                               : setter->swap(key, "", "1", 5).ok());
    const auto value = got.get();
    ASSERT_TRUE(value.ok()) << value.error().text();
    EXPECT_EQ(*value, "1");
  }
}

TEST_F(StoreTest, ADeadlineErrorNamesTheKeyAndALateAnswerIsNotMistaken) {
  const auto a = client(), b = client();
  const auto missing = a->get("missing", 0.05);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().what, HasSubstr("'missing'"));
  ASSERT_TRUE(b->set("missing", "late", 5).ok());
  ASSERT_TRUE(a->set("other", "right", 5).ok());
  EXPECT_EQ(*a->get("other", 5), "right");
}

TEST_F(StoreTest, AWrongSecretIsRefusedAtOnceAndChangesNothing) {
  const std::int64_t start = monotonic_ns();
  const auto stranger = StoreClient::connect(address(), *Secret::fresh(), kTestDeadline);
  ASSERT_FALSE(stranger.ok());
  EXPECT_THAT(stranger.error().text(), HasSubstr("secret"));
  EXPECT_LT(monotonic_ns() - start, 5'000'000'000);
  EXPECT_TRUE(client()->set("k", "v", 5).ok());
}

TEST_F(StoreTest, StrangersChangeNothing) {
  ASSERT_TRUE(client()->set("k", "v", 5).ok());
  const SocketAddress where = *resolve(address());
  std::vector<std::unique_ptr<RawSocket>> strangers;
  for (int i = 0; i < 50; ++i) {
    auto& stranger = strangers.emplace_back(std::make_unique<RawSocket>(where));
    stranger->write(std::string(static_cast<std::size_t>(i) * 100, static_cast<char>(i)));
    if (i % 3 == 0) stranger->reset();
  }
  EXPECT_EQ(*client()->get("k", 5), "v");
}

TEST_F(StoreTest, AMemberThatSpeaksNonsenseIsDropped) {
  const auto reactor = std::move(Reactor::start()).value();
  Connection::Settings settings = test_settings(secret_, "x");
  settings.identity.job = 0;
  Log log;
  const auto connection = Connection::connect(*reactor, *resolve(address()), settings,
                                              Purpose::kStore, 5, log.events());
  connection->send(1, "nonsense");
  EXPECT_TRUE(log.wait("closed by the other side"));
  EXPECT_TRUE(client()->set("k", "v", 5).ok());
}

TEST_F(StoreTest, ATakenPortIsNamed) {
  const auto second = StoreServer::start(address(), secret_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().what, HasSubstr(fmt::format("port {}", server_->port())));
}

TEST_F(StoreTest, LimitsAreErrorsOfTheCaller) {
  const auto a = client();
  EXPECT_THAT(a->set(std::string(kMostKeyBytes + 1, 'k'), "", 5).error().what,
              HasSubstr("257 bytes"));
  EXPECT_THAT(a->set("", "", 5).error().what, HasSubstr("0 bytes"));
  EXPECT_THAT(a->set("k", std::string(kMostValueBytes + 1, 'v'), 5).error().what,
              HasSubstr("key 'k'"));
  EXPECT_TRUE(a->set(std::string(kMostKeyBytes, 'k'), "", 5).ok());
}

TEST_F(StoreTest, ConnectWaitsForAServerAndItsEndIsAnError) {
  const std::string where = address();
  server_.reset();
  const auto nobody = StoreClient::connect(where, secret_, 0.1);
  ASSERT_FALSE(nobody.ok());
  EXPECT_THAT(nobody.error().what, HasSubstr(where));
  auto late = std::async(std::launch::async,
                         [&] { return StoreClient::connect(where, secret_, kTestDeadline); });
  server_ = std::move(StoreServer::start(where, secret_)).value();
  auto connected = late.get();
  ASSERT_TRUE(connected.ok()) << connected.error().text();
  auto waiting =
      std::async(std::launch::async, [&] { return (*connected)->get("never", kTestDeadline); });
  server_.reset();
  const auto lost = waiting.get();
  ASSERT_FALSE(lost.ok());
  EXPECT_THAT(lost.error().what, HasSubstr("'never'"));
  EXPECT_THAT(lost.error().what, HasSubstr("was lost"));
}

TEST_F(StoreTest, ServesManyClientsAtOnce) {
  constexpr int kClients = 64;
  std::vector<std::future<bool>> all;
  for (int i = 0; i < kClients; ++i) {
    all.push_back(std::async(std::launch::async, [this, i] {
      const auto mine = client();
      const std::string next = fmt::format("rank{}", (i + 1) % kClients);
      return mine->set(fmt::format("rank{}", i), fmt::format("{}", i), kTestDeadline).ok() &&
             mine->get(next, kTestDeadline).ok() && mine->add("joined", 1, kTestDeadline).ok();
    }));
  }
  for (auto& one : all) EXPECT_TRUE(one.get());
  EXPECT_EQ(*client()->get("joined", 5), "64");
}

TEST(StoreWire, IsReadBackAndCutShortIsRefused) {
  const StoreRequest requests[] = {
      {.kind = StoreRequestKind::kSet, .id = 1, .key = "k", .value = "v"},
      {.kind = StoreRequestKind::kGet, .id = 2, .key = "k"},
      {.kind = StoreRequestKind::kAdd, .id = 3, .key = "k", .amount = -5},
      {.kind = StoreRequestKind::kSwap, .id = 4, .key = "k", .value = "v", .expected = "e"},
      {.kind = StoreRequestKind::kRemove, .id = 5, .key = "k"},
  };
  for (const StoreRequest& request : requests) {
    const auto kind = static_cast<std::uint16_t>(request.kind);
    const std::string bytes = encode(request);
    EXPECT_EQ(decode_store_request(kind, view_of(bytes)), request);
    EXPECT_EQ(decode_store_request(kind, view_of(bytes).first(5)), std::nullopt);
    EXPECT_EQ(decode_store_request(99, view_of(bytes)), std::nullopt);
  }
  const StoreAnswer answer{.id = 9, .outcome = StoreOutcome::kRefused, .text = "why"};
  EXPECT_EQ(decode_store_answer(view_of(encode(answer))), answer);
  EXPECT_EQ(decode_store_answer(view_of("abc")), std::nullopt);
}

}  // namespace
}  // namespace weft::runtime
