#include "live/http/server.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "base/stopwatch.h"
#include "live/http/client.h"
#include "live/http/raw_testing.h"

namespace weft::live {
namespace {

// Says what it was asked; strangers need the token "key".
class Echo : public HttpService {
 public:
  Admission admit(const HttpHead& head) override {
    if (!head.peer && head.bearer != "key") return {ApiAnswer{401, "who?"}, {}, 0};
    if (head.target == "/gone") return {ApiAnswer{404, "gone"}, {}, 0};
    return {std::nullopt, head.peer.value_or(Caller{1, 1, "ann", Role::kUser, true}), 100};
  }
  void handle(const ApiRequest& request, Answer answer) override {
    ++handled;
    if (request.target == "/stream") {
      auto left = std::make_shared<int>(3);
      ApiAnswer flow{200, "", "text/plain"};
      flow.more = [left]() -> std::optional<std::string> {
        if (*left == 0) return std::nullopt;
        return fmt::format("piece {}\n", (*left)--);
      };
      return answer(std::move(flow));
    }
    answer({200, fmt::format("{} {} {} {}", request.caller.user, request.method, request.target,
                             request.body)});
  }
  std::atomic<int> handled = 0;
};

class Server {
 public:
  explicit Server(HttpLimits limits = {}) {
    char name[] = "/tmp/weft-http-XXXXXX";
    folder_ = mkdtemp(name);
    auto opened = HttpServer::open({folder_ + "/sock", "127.0.0.1:0", "", ""}, echo, limits);
    EXPECT_TRUE(opened.ok());
    server = std::move(*opened);
  }
  ~Server() {
    server.reset();
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/sock"; }
  std::string url() const { return server->url(); }

  Echo echo;
  std::unique_ptr<HttpServer> server;

 private:
  std::string folder_;
};

std::string get(const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
}

TEST(HttpServer, AnswersOnBothKindsOfSockets) {
  Server server;
  HttpClient local(server.path());
  const auto said = local.ask("POST", "/a", "body");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->status, 200);
  EXPECT_EQ(said->body, name_of_user(getuid()) + " POST /a body");
  auto there = parse_url(server.url());
  ASSERT_TRUE(there.ok());
  HttpClient stranger(*there);
  EXPECT_EQ(stranger.ask("GET", "/a")->status, 401);
  there->token = "key";
  HttpClient known(*there);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(known.ask("GET", "/a")->body, "ann GET /a ");
}

TEST(HttpServer, AnAnswerMayComeInPieces) {
  Server server;
  HttpClient client(server.path());
  std::string all;
  const auto reply = client.follow("GET", "/stream", "", [&](std::string_view piece) {
    all += piece;
    return true;
  });
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(all, "piece 3\npiece 2\npiece 1\n");
  int seen = 0;
  EXPECT_TRUE(client
                  .follow("GET", "/stream", "",
                          [&](std::string_view) {
                            ++seen;
                            return false;
                          })
                  .ok());
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(client.follow("GET", "/gone", "", [](std::string_view) { return true; })->status, 404);
}

TEST(HttpServer, RefusesWhatIsTooLargeBeforeItCame) {
  Server server;
  struct Case {
    const char* what;
    std::string bytes;
    int status;
  };
  const Case cases[] = {
      {"a body announced too large", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n",
       413},
      {"chunks that sum up too large",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nc8\r\n" +
           std::string(200, 'x') + "\r\n0\r\n\r\n",
       413},
      {"a header too large", get("/", "X: " + std::string(20'000, 'x') + "\r\n"), 431},
      {"a target too large", get("/" + std::string(20'000, 'x')), 431},
      {"no HTTP", "hello\r\n\r\n", 400},
      {"another protocol", "GET / HTTP/9.9\r\n\r\n", 400},
      {"bytes of TLS",
       std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(40, '\0') +
           "\r\n\r\n",
       400},
      {"a length below zero", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400},
      {"an unknown coding", "POST / HTTP/1.1\r\nTransfer-Encoding: zip\r\n\r\n", 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    RawConnection raw(server.path());
    raw.send(c.bytes);
    raw.end_sending();
    const int status = status_of(raw.read(3000));
    if (c.status > 0) {
      EXPECT_EQ(status, c.status);
    }
    EXPECT_LT(server.echo.handled, 2) << "at most the one of an unknown coding, without a body";
  }
}

TEST(HttpServer, SlowCallersAreSentAway) {
  HttpLimits limits;
  limits.request_s = 0.4;
  limits.stranger_s = 0.4;
  limits.idle_s = 60;
  Server server(limits);
  for (const std::string& where : {server.path(), server.url()}) {
    SCOPED_TRACE(where);
    RawConnection raw(where);
    const std::int64_t begun = monotonic_ns();
    // A byte now and then: the time of a request counts from its first.
    for (int i = 0; i < 60 && !raw.closed(); ++i) {
      raw.send("G");
      raw.read(50);
    }
    EXPECT_TRUE(raw.closed());
    EXPECT_LT(monotonic_ns() - begun, std::int64_t{20} * 1'000'000'000);
  }
  RawConnection stranger(server.url());
  stranger.read(10'000);
  EXPECT_TRUE(stranger.closed()) << "who does not say who they are may not stay";
  RawConnection friendly(server.path());
  friendly.read(1000);
  EXPECT_FALSE(friendly.closed()) << "who is known may be idle";
  EXPECT_EQ(server.echo.handled, 0);
}

TEST(HttpServer, StrangersCannotTakeTheOwnersConnections) {
  HttpLimits limits;
  limits.connections = 4;
  Server server(limits);
  std::vector<std::unique_ptr<RawConnection>> many;
  for (int i = 0; i < 12; ++i) many.push_back(std::make_unique<RawConnection>(server.url()));
  int sent_away = 0;
  for (const auto& one : many) {
    one->read(200);
    sent_away += one->closed();
  }
  EXPECT_EQ(sent_away, 8);
  HttpClient client(server.path());
  EXPECT_TRUE(client.ask("GET", "/").ok());
}

TEST(HttpServer, AddressesAreChecked) {
  for (const char* address :
       {"", "here", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "1.2.3.4:70000", "host:80", ":80"}) {
    EXPECT_FALSE(is_loopback(address)) << address;
  }
  for (const char* address : {"127.0.0.1:0", "127.9.9.9:80", "[::1]:80", "localhost:1"}) {
    EXPECT_TRUE(is_loopback(address)) << address;
  }
  EXPECT_FALSE(is_loopback("0.0.0.0:80"));
  for (const char* url : {"", "ftp://x", "http://", "http://:80", "http://a:b", "http://u@h:1",
                          "http://h/path", "https://[::1", "x"}) {
    EXPECT_FALSE(parse_url(url).ok()) << url;
  }
  const auto six = parse_url("https://[::1]:8443/");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->text(), "https://[::1]:8443");
  EXPECT_EQ(parse_url("https://h")->port, "443");
  EXPECT_EQ(parse_url("unix:/a/b")->socket_path, "/a/b");
}

}  // namespace
}  // namespace weft::live
