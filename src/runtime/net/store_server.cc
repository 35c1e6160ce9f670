#include <fmt/core.h>

#include <charconv>
#include <map>
#include <vector>

#include "runtime/net/listener.h"
#include "runtime/net/store.h"
#include "runtime/net/store_wire.h"

namespace weft::runtime {
namespace {

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc{} || stop != end) return std::nullopt;
  return number;
}

class Server : public StoreServer {
 public:
  ~Server() override {
    listener_.reset();
    if (!reactor_) return;
    reactor_->call([this] {
      for (const auto& [connection, waits] : clients_) connection->close();
      clients_.clear();
    });
  }

  int port() const override { return listener_->port(); }

  Status begin(const std::string& address, const Secret& secret) {
    auto reactor = Reactor::start();
    if (!reactor.ok()) return reactor.error();
    reactor_ = std::move(reactor).value();
    Connection::Settings settings;
    settings.identity = {.secret = secret, .job = 0, .label = "store"};
    settings.most_frame_bytes = kMostStoreFrameBytes;
    auto listener = Listener::open(*reactor_, address, settings,
                                   [this](const auto& connection) { accept(connection); });
    if (!listener.ok()) return listener.error();
    listener_ = std::move(listener).value();
    return {};
  }

 private:
  using Client = std::shared_ptr<Connection>;
  // What a client waits for; it has one request under way at a time.
  struct Wait {
    std::string key;
    std::uint32_t id = 0;
  };

  void accept(const Client& connection) {
    if (connection->purpose() != Purpose::kStore) return connection->close();
    Connection::Events events;
    // The client is in clients_ whenever an event comes, so a plain pointer is enough.
    Connection* client = connection.get();
    events.on_frame = [this, client](std::uint16_t kind, ByteView body) {
      const auto request = decode_store_request(kind, body);
      if (!request) return client->fail(End::kBadFrame, "not a request to the store");
      handle(client->shared_from_this(), *request);
    };
    events.on_close = [this, client](End, const std::string&) {
      forget_wait(client->shared_from_this());
      clients_.erase(client->shared_from_this());
    };
    clients_.emplace(connection, std::nullopt);
    connection->set_events(std::move(events));
  }

  void forget_wait(const Client& client) {
    std::optional<Wait>& wait = clients_.at(client);
    if (!wait) return;
    std::erase(waiting_[wait->key], client);
    if (waiting_[wait->key].empty()) waiting_.erase(wait->key);
    wait.reset();
  }

  void handle(const Client& client, const StoreRequest& request) {
    forget_wait(client);
    const auto found = values_.find(request.key);
    if (request.kind == StoreRequestKind::kGet && found == values_.end()) {
      clients_.at(client) = Wait{request.key, request.id};
      waiting_[request.key].push_back(client);
      return;
    }
    StoreAnswer answer{.id = request.id, .outcome = StoreOutcome::kDone, .text = ""};
    switch (request.kind) {
      case StoreRequestKind::kSet:
        set(request.key, request.value, answer);
        break;
      case StoreRequestKind::kGet:
      case StoreRequestKind::kLook:
        if (found == values_.end()) {
          answer.outcome = StoreOutcome::kNotFound;
        } else {
          answer.text = found->second;
        }
        break;
      case StoreRequestKind::kAdd:
        add(request, answer);
        break;
      case StoreRequestKind::kSwap:
        answer.text = found == values_.end() ? "" : found->second;
        if (answer.text == request.expected) set(request.key, request.value, answer);
        break;
      case StoreRequestKind::kRemove:
        values_.erase(request.key);
        break;
    }
    client->send(kStoreAnswer, encode(answer));
  }

  void add(const StoreRequest& request, StoreAnswer& answer) {
    const auto found = values_.find(request.key);
    const std::optional<std::int64_t> old = found == values_.end() ? 0 : number_in(found->second);
    std::int64_t sum = 0;
    if (!old) {
      answer.outcome = StoreOutcome::kRefused;
      answer.text = "it does not hold a whole number";
    } else if (__builtin_add_overflow(*old, request.amount, &sum)) {
      answer.outcome = StoreOutcome::kRefused;
      answer.text = "the sum does not fit in 64 bits";
    } else {
      set(request.key, fmt::format("{}", sum), answer);
    }
  }

  // Sets the value, answers whoever waits for it, and puts the value into `answer`.
  void set(const std::string& key, const std::string& value, StoreAnswer& answer) {
    if (values_.size() >= kMostKeys && !values_.contains(key)) {
      answer.outcome = StoreOutcome::kRefused;
      answer.text = fmt::format("the store already holds {} keys, the most it may", kMostKeys);
      return;
    }
    values_[key] = value;
    answer.text = value;
    const auto waiting = waiting_.extract(key);
    if (waiting.empty()) return;
    for (const Client& client : waiting.mapped()) {
      std::optional<Wait>& wait = clients_.at(client);
      const StoreAnswer wanted{.id = wait->id, .outcome = StoreOutcome::kDone, .text = value};
      wait.reset();
      ready_.push_back({client, encode(wanted)});
    }
    // Sent later: a connection that fails while it is written to changes the lists above.
    reactor_->post([this] {
      for (const auto& [client, text] : std::exchange(ready_, {})) client->send(kStoreAnswer, text);
    });
  }

  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Listener> listener_;
  std::map<std::string, std::string> values_;
  std::map<Client, std::optional<Wait>> clients_;
  std::map<std::string, std::vector<Client>> waiting_;
  std::vector<std::pair<Client, std::string>> ready_;
};

}  // namespace

Result<std::unique_ptr<StoreServer>> StoreServer::start(const std::string& address,
                                                        const Secret& secret) {
  auto server = std::make_unique<Server>();
  if (Status begun = server->begin(address, secret); !begun.ok()) return begun.error();
  return std::unique_ptr<StoreServer>(std::move(server));
}

}  // namespace weft::runtime
