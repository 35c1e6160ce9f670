#include "live/agent/agent.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/files.h"
#include "base/stopwatch.h"
#include "live/agent/json_fields.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;
using runtime::Connection;
using runtime::End;

constexpr Seconds kFirstBackoff = 0.05, kMostBackoff = 1;
constexpr Seconds kConnectDeadline = 2;
constexpr Seconds kTickEvery = 0.2;
constexpr Seconds kLeastSilence = 3;  // of a controller, after which it is looked for anew
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMostTerm = std::int64_t{1} << 53;

Seconds seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

std::uint64_t read_term(const std::string& path) {
  const auto text = read_file(path, 64);
  std::uint64_t term = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), term);
  return term;
}

std::string random_name() {
  const auto secret = runtime::fresh_nonce();
  std::string name;
  if (!secret.ok()) return name;
  for (std::size_t i = 0; i < 8; ++i) name += fmt::format("{:02x}", (*secret)[i]);
  return name;
}

}  // namespace

Agent::Agent(AgentSettings settings, std::unique_ptr<runtime::Reactor> reactor, int lock)
    : settings_(std::move(settings)),
      paths_{settings_.folder},
      boot_(random_name()),
      reactor_(std::move(reactor)),
      lock_(lock) {}

Result<std::unique_ptr<Agent>> Agent::start(AgentSettings settings) {
  const auto lock = open_folder({settings.folder});
  if (!lock.ok()) return lock.error();
  auto reactor = runtime::Reactor::start();
  if (!reactor.ok()) {
    close(*lock);
    return reactor.error();
  }
  std::unique_ptr<Agent> agent(new Agent(std::move(settings), std::move(*reactor), *lock));
  Status opened;
  agent->reactor_->call([&] { opened = agent->open(); });
  if (!opened.ok()) return opened.error();
  agent->dialer_ = std::thread([self = agent.get()] { self->dial(); });
  return agent;
}

Agent::~Agent() {
  {
    const std::lock_guard lock(mutex_);
    dialer_ends_ = true;
    changed_.notify_all();
  }
  if (dialer_.joinable()) dialer_.join();
  reactor_->call([&] {
    ending_ = true;
    if (connection_) connection_->close();
    table_.reset();
  });
  reactor_.reset();
  close(lock_);
}

Status Agent::open() {
  term_ = read_term(paths_.term());
  std::vector<std::string> notes;
  const auto text = [](const char* path) {
    const auto read = read_file(path, 1 << 20);
    return read.ok() ? *read : "";
  };
  // Nodes of two clusters may have one name on one machine, but not one folder.
  const std::string group =
      fmt::format("{}.{:08x}", settings_.facts.node,
                  static_cast<std::uint32_t>(std::hash<std::string>{}(settings_.folder)));
  ControlGroups groups =
      ControlGroups::open(find_group_bases(text("/proc/self/mounts"), text("/proc/self/cgroup")),
                          group, settings_.limits, notes);
  for (const std::string& note : notes) settings_.log(note);
  const NodeReach& reach = settings_.facts.reach;
  table_ = std::make_unique<RunTable>(
      *reactor_, RunTable::Settings{.paths = paths_,
                                    .facts = settings_.facts,
                                    .groups = std::move(groups),
                                    .traffic = {reach.space, reach.interface, reach.bytes_per_s},
                                    .secret = settings_.secret,
                                    .keeper_command = settings_.keeper_command,
                                    .say = [this](const Json& message) { say(message); },
                                    .log = settings_.log});
  if (Status opened = table_->open(); !opened.ok()) return opened;
  connect_again(0);
  tick();
  return {};
}

void Agent::connect_again(Seconds delay_s) {
  reactor_->after(delay_s, [this] {
    const std::lock_guard lock(mutex_);
    dial_now_ = true;
    changed_.notify_all();
  });
}

void Agent::dial() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return dial_now_ || dialer_ends_; });
    if (dialer_ends_) return;
    dial_now_ = false;
    lock.unlock();
    const auto address = runtime::resolve(settings_.controller);
    reactor_->post([this, address] {
      if (ending_) return;
      if (!address.ok()) return closed(End::kTimedOut, address.error().what);
      Connection::Settings settings;
      settings.identity = {settings_.secret, runtime::job_of(settings_.secret),
                           settings_.facts.node.substr(0, runtime::kMostLabelBytes)};
      settings.options.encrypt = settings_.encrypt;
      connection_ = Connection::connect(
          *reactor_, *address, settings, runtime::Purpose::kControl, kConnectDeadline,
          {.on_open = [this] { opened(); },
           .on_frame =
               [this](std::uint16_t kind, runtime::ByteView body) {
                 if (kind == kJsonFrame) return take(body);
                 connection_->fail(End::kBadFrame, fmt::format("a frame of kind {}", kind));
               },
           .on_close = [this](End end, const std::string& reason) { closed(end, reason); }});
    });
    lock.lock();
  }
}

void Agent::opened() {
  heard_at_ns_ = monotonic_ns();
  Json devices = Json::array();
  for (const NodeDevice& device : settings_.facts.devices) devices.push_back(to_json(device));
  send({{"op", "hello"},
        {"node", settings_.facts.node},
        {"program", settings_.program},
        {"term", term_},
        {"boot", boot_},
        {"now_s", seconds(monotonic_ns())},
        {"devices", devices},
        {"cpu_milli", settings_.facts.cpu_milli},
        {"cpus", settings_.facts.cpus},
        {"memory", settings_.facts.memory},
        {"can", table_->can()},
        {"address", settings_.facts.reach.address},
        {"runs", table_->runs()}});
}

void Agent::closed(End end, const std::string& reason) {
  // A controller that is not there is said once, not at every attempt.
  if (welcomed_ || backoff_s_ == 0) {
    settings_.log(
        fmt::format("no controller at {} ({}): {}", settings_.controller, name_of(end), reason));
  }
  if (welcomed_) table_->end_execs("the controller went");
  welcomed_ = false;
  connection_.reset();
  const bool at_fault = end == End::kBadProof || end == End::kBadFrame;
  backoff_s_ = at_fault ? std::clamp(2 * backoff_s_, kFirstBackoff, kMostBackoff) : kFirstBackoff;
  connect_again(backoff_s_);
}

void Agent::take(runtime::ByteView body) {
  heard_at_ns_ = monotonic_ns();
  const auto* text = reinterpret_cast<const char*>(body.data());
  const Json message = Json::parse(text, text + body.size(), nullptr, false);
  JsonFields fields(message);
  const std::string op = fields.text("op");
  const Status obeyed = fields.wrong().empty() ? obey(op, message) : fields.error();
  if (!obeyed.ok() && connection_) {
    connection_->fail(End::kBadFrame,
                      fmt::format("the message '{}' is refused: {}", op, obeyed.error().what));
  }
}

Status Agent::obey(const std::string& op, const Json& message) {
  JsonFields fields(message);
  const std::int64_t term = fields.whole("term", 0, kMostTerm, -1);
  if (term < 0) return Error{ErrorKind::kInvalidInput, "term is missing or wrong", ""};
  if (op == "welcome") return welcome(message);
  if (!welcomed_) return Error{ErrorKind::kInvalidInput, "no welcome came before it", ""};
  if (static_cast<std::uint64_t>(term) < term_) {
    const auto key = read_run_key(message);
    if (key.ok() && message.contains("number")) {
      send({{"op", "outcome"},
            {"uuid", key->uuid},
            {"epoch", key->epoch},
            {"number", message["number"]},
            {"result", "refused"},
            {"why", fmt::format("term {} is over", term)}});
    }
    return {};
  }
  if (Status known = check_term(static_cast<std::uint64_t>(term)); !known.ok()) return known;
  if (op == "lease") {
    renew(message);
    return {};
  }
  if (op == "start") return table_->start(message);
  if (op == "stop" || op == "resize" || op == "freeze" || op == "thaw") {
    return table_->change(op, message);
  }
  if (op == "signal") return table_->signal(message);
  if (op == "stacks") return table_->save_stacks(message);
  if (op == "forget") return table_->forget(message);
  if (op.starts_with("exec")) return table_->exec(op, message);
  return Error{ErrorKind::kInvalidInput, "no such message is known", ""};
}

// On disk before the first command of that term is obeyed.
Status Agent::check_term(std::uint64_t term) {
  if (term <= term_) return {};
  if (Status written = write_file_durably(paths_.term(), fmt::format("{}\n", term));
      !written.ok()) {
    return written;
  }
  term_ = term;
  return {};
}

Status Agent::welcome(const Json& message) {
  JsonFields fields(message);
  const auto term = static_cast<std::uint64_t>(fields.whole("term", 0, kMostTerm, 0));
  const Seconds lease_s = fields.number("lease_s", 0.05, 1e7, 10);
  if (!fields.wrong().empty()) return fields.error();
  if (term < term_) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("term {} is over, {} has begun", term, term_), ""};
  }
  if (Status known = check_term(term); !known.ok()) return known;
  welcomed_ = true;
  backoff_s_ = 0;
  settings_.log(fmt::format("joined {} (term {})", settings_.controller, term));
  table_->set_lease(0, lease_s);
  renew(message);
  table_->tell_ends();
  return {};
}

// A lease counts from the moment that the controller knows us to have lived, which it sends back:
// a message that waited on its way must not renew what the controller has given up.
void Agent::renew(const Json& message) {
  JsonFields fields(message);
  const std::int64_t now = monotonic_ns();
  const Seconds since_s = std::min(fields.number("now_s", 0, 1e18, seconds(now)), seconds(now));
  table_->set_lease(static_cast<std::int64_t>((since_s + table_->lease_s()) * 1e9),
                    table_->lease_s());
}

void Agent::say(const Json& message) {
  if (welcomed_) send(message);
}

void Agent::send(const Json& message) {
  if (!connection_) return;
  connection_->send(kJsonFrame, message.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Agent::tick() {
  if (ending_) return;
  const std::int64_t now = monotonic_ns();
  table_->tick();
  say({{"op", "alive"}, {"now_s", seconds(now)}});
  if (now - usage_at_ns_ >= kSecond) {
    usage_at_ns_ = now;
    table_->tell_usage();
  }
  const Seconds silence_s = seconds(now - heard_at_ns_);
  if (connection_ && connection_->open() &&
      silence_s > std::max(kLeastSilence, table_->lease_s())) {
    connection_->fail(End::kTimedOut, fmt::format("not a word for {:.1f} s", silence_s));
  }
  reactor_->after(std::min(kTickEvery, table_->lease_s() / 5), [this] { tick(); });
}

}  // namespace weft::live
