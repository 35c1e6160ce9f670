#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "runtime/net/connection.h"
#include "runtime/net/store.h"
#include "runtime/net/store_wire.h"

namespace weft::runtime {
namespace {

class Client : public StoreClient {
 public:
  ~Client() override {
    if (connection_) reactor_->call([this] { connection_->close(); });
  }

  Status begin(const std::string& address, const Secret& secret, Seconds deadline_s) {
    address_ = address;
    const auto where = resolve(address);
    if (!where.ok()) return where.error();
    auto reactor = Reactor::start();
    if (!reactor.ok()) return reactor.error();
    reactor_ = std::move(reactor).value();
    Connection::Settings settings;
    settings.identity = {.secret = secret, .job = 0, .label = "client"};
    settings.most_frame_bytes = kMostStoreFrameBytes;
    connection_ =
        Connection::connect(*reactor_, *where, settings, Purpose::kStore, deadline_s, events());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ || lost_; });  // the connection keeps the deadline
    return lost_ ? Status(*lost_) : Status();
  }

  Status set(const std::string& key, const std::string& value, Seconds deadline_s) override {
    const auto answer =
        ask({.kind = StoreRequestKind::kSet, .key = key, .value = value}, deadline_s);
    return answer.ok() ? Status() : Status(answer.error());
  }

  Result<std::string> get(const std::string& key, Seconds deadline_s) override {
    return ask({.kind = StoreRequestKind::kGet, .key = key}, deadline_s);
  }

  Result<std::string> look(const std::string& key, Seconds deadline_s) override {
    return ask({.kind = StoreRequestKind::kLook, .key = key}, deadline_s);
  }

  Result<std::int64_t> add(const std::string& key, std::int64_t amount,
                           Seconds deadline_s) override {
    const auto sum =
        ask({.kind = StoreRequestKind::kAdd, .key = key, .amount = amount}, deadline_s);
    if (!sum.ok()) return sum.error();
    return std::int64_t{std::strtoll(sum->c_str(), nullptr, 10)};
  }

  Result<std::string> swap(const std::string& key, const std::string& expected,
                           const std::string& value, Seconds deadline_s) override {
    return ask({.kind = StoreRequestKind::kSwap, .key = key, .value = value, .expected = expected},
               deadline_s);
  }

  Status remove(const std::string& key, Seconds deadline_s) override {
    const auto answer = ask({.kind = StoreRequestKind::kRemove, .key = key}, deadline_s);
    return answer.ok() ? Status() : Status(answer.error());
  }

 private:
  Connection::Events events() {
    Connection::Events events;
    events.on_open = [this] {
      const std::lock_guard lock(mutex_);
      open_ = true;
      changed_.notify_all();
    };
    events.on_frame = [this](std::uint16_t kind, ByteView body) {
      auto answer = decode_store_answer(body);
      if (kind != kStoreAnswer || !answer) {
        return connection_->fail(End::kBadFrame, "not an answer of a store");
      }
      const std::lock_guard lock(mutex_);
      // With another number it answers a request whose deadline passed, and may come after ours.
      if (answer->id != asked_id_) return;
      answer_ = std::move(answer);
      changed_.notify_all();
    };
    events.on_close = [this](End end, const std::string& reason) {
      const std::lock_guard lock(mutex_);
      lost_ = Error{end == End::kBadProof ? ErrorKind::kInvalidInput : ErrorKind::kIo,
                    fmt::format("the store at {} {}: {}", address_,
                                open_ ? "was lost" : "cannot be reached", reason),
                    end == End::kBadProof ? "give both sides the same secret" : ""};
      changed_.notify_all();
    };
    return events;
  }

  Status check(const StoreRequest& request) const {
    const std::string name = request.key.substr(0, 64);
    if (request.key.empty() || request.key.size() > kMostKeyBytes) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("the key '{}' has {} bytes; it must have 1 to {}", name,
                               request.key.size(), kMostKeyBytes),
                   ""};
    }
    const std::size_t bytes = std::max(request.value.size(), request.expected.size());
    if (bytes > kMostValueBytes) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("the value of key '{}' has {} bytes; it may have {}", name, bytes,
                               kMostValueBytes),
                   ""};
    }
    return {};
  }

  Result<std::string> ask(StoreRequest request, Seconds deadline_s) {
    if (Status good = check(request); !good.ok()) return good.error();
    std::unique_lock lock(mutex_);
    request.id = ++asked_id_;
    answer_.reset();
    connection_->send(static_cast<std::uint16_t>(request.kind), encode(request));
    const auto over = [&] { return lost_ || answer_; };
    if (!changed_.wait_for(lock, std::chrono::duration<double>(deadline_s), over)) {
      return Error{ErrorKind::kIo,
                   request.kind == StoreRequestKind::kGet
                       ? fmt::format("key '{}' did not appear in the store at {} within {} s",
                                     request.key, address_, deadline_s)
                       : fmt::format("the store at {} said nothing about key '{}' within {} s",
                                     address_, request.key, deadline_s),
                   ""};
    }
    if (!answer_) {
      return Error{lost_->kind, fmt::format("key '{}': {}", request.key, lost_->what), lost_->hint};
    }
    switch (answer_->outcome) {
      case StoreOutcome::kDone:
        return std::move(answer_->text);
      case StoreOutcome::kNotFound:
        return Error{ErrorKind::kNotFound,
                     fmt::format("the store at {} has no key '{}'", address_, request.key), ""};
      case StoreOutcome::kRefused:
        break;
    }
    return Error{ErrorKind::kInvalidInput, fmt::format("key '{}': {}", request.key, answer_->text),
                 ""};
  }

  std::string address_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;                  // under mutex_
  std::optional<Error> lost_;          // under mutex_
  std::optional<StoreAnswer> answer_;  // under mutex_
  std::uint32_t asked_id_ = 0;         // under mutex_
  std::unique_ptr<Reactor> reactor_;
  std::shared_ptr<Connection> connection_;  // shared with the reactor
};

}  // namespace

Result<std::unique_ptr<StoreClient>> StoreClient::connect(const std::string& address,
                                                          const Secret& secret,
                                                          Seconds deadline_s) {
  auto client = std::make_unique<Client>();
  if (Status begun = client->begin(address, secret, deadline_s); !begun.ok()) return begun.error();
  return std::unique_ptr<StoreClient>(std::move(client));
}

}  // namespace weft::runtime
