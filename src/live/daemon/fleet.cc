#include "live/daemon/fleet.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "live/agent/json_fields.h"

namespace weft::live {
namespace {

using runtime::Connection;

constexpr std::size_t kMostFrameBytes = 8 << 20;
constexpr Seconds kCheckFleetEvery = 0.1;
constexpr int kLooksPerWatch = 5;
// Beyond the lease, for clocks that do not run alike.
constexpr double kClockMargin = 1.05;

double since_s(std::int64_t ns) { return static_cast<double>(monotonic_ns() - ns) * 1e-9; }

}  // namespace

Fleet::Fleet(const Cluster& cluster, FleetOptions options)
    : cluster_(cluster), options_(std::move(options)), links_(cluster.nodes.size()) {
  for (NodeId id = 0; id < cluster.nodes.size(); ++id) by_name_[cluster.nodes[id].name] = id;
}

Result<std::unique_ptr<Fleet>> Fleet::open(const Cluster& cluster, FleetOptions options) {
  std::unique_ptr<Fleet> fleet(new Fleet(cluster, std::move(options)));
  auto reactor = runtime::Reactor::start();
  if (!reactor.ok()) return reactor.error();
  fleet->reactor_ = std::move(*reactor);
  Connection::Settings settings;
  settings.identity = {fleet->options_.secret, runtime::job_of(fleet->options_.secret),
                       "controller"};
  settings.most_frame_bytes = kMostFrameBytes;
  settings.options.encrypt = fleet->options_.encrypt;
  auto listener = runtime::Listener::open(
      *fleet->reactor_, fleet->options_.address, settings,
      [it = fleet.get()](const std::shared_ptr<Connection>& c) { it->accepted(c); });
  if (!listener.ok()) return listener.error();
  fleet->listener_ = std::move(*listener);
  return fleet;
}

Fleet::~Fleet() { end(); }

void Fleet::begin(EventSink& brain, Board& board, std::uint64_t term) {
  reactor_->call([&] {
    brain_ = &brain;
    board_ = &board;
    term_ = term;
    const RunsLinks links{[this](NodeId node, const Json& message) { send(node, message); },
                          [this](NodeId node) { return links_[node].view.address; },
                          [this](EventRecord record, std::function<void()> durable) {
                            brain_->post(std::move(record), [this, durable](const Status& status) {
                              if (status.ok()) reactor_->post(durable);
                            });
                          },
                          [this] { return brain_->now(); },
                          [this](NodeId node) { return board_->node(node).in_service; },
                          [this](JobId job, const std::string& why) {
                            board_->frozen_gone(job, brain_->now(), why);
                          }};
    runs_ = std::make_unique<Runs>(cluster_, term, options_.log_root, links);
    replicas_ =
        std::make_unique<Replicas>(cluster_, term, options_.log_root,
                                   Replicas::Links{links,
                                                   [this](JobId job, const std::string& what) {
                                                     board_->remark(job, brain_->now(), what);
                                                   },
                                                   [this](JobId job, double qps, Seconds latency) {
                                                     board_->traffic(job, qps, latency);
                                                   }});
    watch_ = std::make_unique<Watch>(
        board, options_.reclaim_idle_s,
        Watch::Links{[this] { return brain_->now(); },
                     [this](EventRecord record) { brain_->post(std::move(record)); },
                     [this](const std::string& uuid, std::uint32_t epoch, const std::string& why) {
                       if (!replicas_->stacks(uuid, epoch, why)) runs_->stacks(uuid, epoch, why);
                     },
                     [this](const std::string& uuid, std::uint32_t epoch, const std::string& why) {
                       if (!replicas_->hung(uuid, epoch, why)) runs_->hung(uuid, epoch, why);
                     },
                     [this](const std::string& uuid, int number) {
                       if (!runs_->signal(uuid, number)) replicas_->signal(uuid, number);
                     }});
    execs_ = std::make_unique<Execs>(term, links.send);
    const auto holds = [](const JobView& v) {
      return (!v.held.empty() || v.frozen_epoch > 0) && !has_ended(v.standing);
    };
    for (const JobView& job : board.jobs(holds)) {
      has_parts(job.identity) ? replicas_->adopt(job) : runs_->adopt(job);
    }
    await_nodes();
    reactor_->after(kCheckFleetEvery, [this] { look_round(); });
  });
}

void Fleet::end() {
  if (reactor_ == nullptr) return;
  listener_.reset();
  reactor_->call([this] {
    for (Link& link : links_) {
      if (link.connection != nullptr) link.connection->close();
      link.connection.reset();
    }
    execs_.reset();  // whoever waits for an answer is of the server, which goes before this
    brain_ = nullptr;
  });
  reactor_.reset();
}

void Fleet::accepted(const std::shared_ptr<Connection>& connection) {
  if (brain_ == nullptr) return connection->close();
  Connection::Events events;
  const std::weak_ptr<Connection> weak = connection;
  events.on_frame = [this, weak](std::uint16_t kind, runtime::ByteView body) {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    if (kind != kJsonFrame) return alive->fail(runtime::End::kBadFrame, "an unknown kind of frame");
    take(alive, body);
  };
  events.on_close = [this, weak](runtime::End, const std::string&) {
    const auto alive = weak.lock();
    for (Link& link : links_) {
      if (alive != nullptr && link.connection == alive) {
        link.connection.reset();
        link.view.connected = false;
        lose_execs(static_cast<NodeId>(&link - links_.data()), "its agent went");
      }
    }
  };
  connection->set_events(std::move(events));
}

NodeId Fleet::node_named(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kNoNode : found->second;
}

void Fleet::take(const std::shared_ptr<Connection>& connection, runtime::ByteView body) {
  if (brain_ == nullptr) return;
  const auto* text = reinterpret_cast<const char*>(body.data());
  const Json message = Json::parse(text, text + body.size(), nullptr, false);
  JsonFields fields(message);
  const std::string op = fields.text("op");
  if (!fields.wrong().empty()) {
    return connection->fail(runtime::End::kBadFrame, fields.error().what);
  }
  if (op == "hello") return hello(connection, message);
  for (NodeId id = 0; id < links_.size(); ++id) {
    Link& link = links_[id];
    if (link.connection != connection) continue;
    link.heard_ns = monotonic_ns();
    return listen(id, op, message);
  }
}

void Fleet::hello(const std::shared_ptr<Connection>& connection, const Json& message) {
  JsonFields fields(message);
  const NodeId node = node_named(fields.text("node"));
  const auto term = static_cast<std::uint64_t>(fields.whole("term", 0, std::int64_t{1} << 53, 0));
  const Json* devices = fields.find("devices");
  const Json* runs = fields.find("runs");
  const auto refuse = [&](const std::string& why) {
    connection->fail(runtime::End::kBadFrame, why);
  };
  if (node == kNoNode) return refuse("no node of that name is in the cluster");
  if (term > term_) return refuse(fmt::format("term {} is over, {} has begun", term_, term));
  if (devices == nullptr || !devices->is_array() ||
      devices->size() < cluster_.nodes[node].devices) {
    return refuse(fmt::format("node {} must have {} devices", cluster_.nodes[node].name,
                              cluster_.nodes[node].devices));
  }
  if (runs == nullptr || !runs->is_array()) return refuse("its runs are missing");
  for (const Json& run : *runs) {
    JsonFields of_run(run);
    if (of_run.text("uuid").empty() || of_run.whole("epoch", 1, 0x7fffffff, 0) == 0) {
      return refuse("a run of it has no name");
    }
  }
  Link& link = links_[node];
  if (link.connection != nullptr && link.connection != connection) link.connection->close();
  lose_execs(node, "its agent came anew");
  link.connection = connection;
  link.heard_ns = monotonic_ns();
  link.agent_now_s = fields.number("now_s", 0, 1e18, 0);
  link.expired = false;
  link.view.connected = true;
  link.view.program = fields.text("program");
  link.view.address = fields.text("address", "");
  link.view.cpu_milli = static_cast<std::uint32_t>(fields.whole("cpu_milli", 0, 1 << 30, 0));
  link.view.memory = fields.whole("memory", 0, std::int64_t{1} << 53, 0);
  link.view.devices = devices->size();
  link.view.can.clear();
  if (const Json* can = fields.find("can"); can != nullptr && can->is_array()) {
    for (const Json& word : *can) {
      if (word.is_string()) link.view.can.push_back(word);
    }
  }
  send(node, {{"op", "welcome"},
              {"term", term_},
              {"lease_s", options_.lease_s},
              {"now_s", link.agent_now_s}});
  Json plain = Json::array(), replicas = Json::array();
  for (const Json& run : *runs) (is_part(run.at("uuid")) ? replicas : plain).push_back(run);
  runs_->resume(node, plain);
  replicas_->resume(node, replicas);
  node_is_here(node);
}

void Fleet::listen(NodeId node, const std::string& op, const Json& message) {
  Link& link = links_[node];
  JsonFields fields(message);
  if (op == "alive") {
    link.agent_now_s = fields.number("now_s", 0, 1e18, link.agent_now_s);
    if (link.suspect) {
      link.suspect = false;
      if (!board_->node(node).drained) post_node(node, EventKind::kNodeUp, "it is heard again");
    }
    return send(node, {{"op", "lease"}, {"term", term_}, {"now_s", link.agent_now_s}});
  }
  if (op.starts_with("exec_")) return hear_of_exec(node, op, message);
  const std::string uuid = fields.text("uuid");
  const auto epoch = static_cast<std::uint32_t>(fields.whole("epoch", 0, 0x7fffffff, 0));
  if (op == "outcome") {
    const auto number = static_cast<std::uint32_t>(fields.whole("number", 0, 0x7fffffff, 0));
    const std::string result = fields.text("result"), why = fields.text("why");
    is_part(uuid) ? replicas_->outcome(node, uuid, epoch, number, result, why)
                  : runs_->outcome(node, uuid, epoch, number, result, why);
  } else if (op == "ended") {
    const int rank = static_cast<int>(fields.whole("rank", 0, 1 << 24, 0));
    const int code = static_cast<int>(fields.whole("code", -255, 255, 0));
    const int signal = static_cast<int>(fields.whole("signal", 0, 128, 0));
    const std::string why = fields.text("why");
    is_part(uuid) ? replicas_->ended(node, uuid, epoch, rank, code, signal, why)
                  : runs_->ended(node, uuid, epoch, rank, code, signal, why);
  } else if (op == "progress") {
    hear_of_progress(uuid, epoch, fields);
  } else if (op == "usage") {
    const Json* runs = fields.find("runs");
    for (const Json& run : runs != nullptr && runs->is_array() ? *runs : Json::array()) {
      hear_of_usage(node, JsonFields(run));
    }
  }
}

void Fleet::send(NodeId node, const Json& message) {
  const auto& connection = links_[node].connection;
  if (connection == nullptr) return;
  connection->send(kJsonFrame, message.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Fleet::post_node(NodeId node, EventKind kind, const std::string& why) {
  EventRecord record;
  record.event.kind = kind;
  record.event.node = node;
  record.why = why;
  brain_->post(std::move(record));
}

// Who is silent, and what follows from it.
void Fleet::look_round() {
  if (brain_ == nullptr) return;
  forgive_own_silence();
  const Seconds lease = options_.lease_s * kClockMargin + kCheckFleetEvery;
  for (NodeId id = 0; id < links_.size(); ++id) {
    Link& link = links_[id];
    const Seconds silent = since_s(link.heard_ns);
    link.view.silent_s = silent;
    const Seconds patience = link.awaited ? options_.return_s : options_.suspect_s;
    if (silent > patience && !link.suspect) {
      link.suspect = true;
      post_node(id, EventKind::kNodeNotice, fmt::format("nothing heard for {:.1f} s", silent));
    }
    if (silent > lease && !link.expired) {
      link.expired = true;
      // Its agent has ended ranks that end with their controller, or is dead, and then they have
      // ended by themselves.
      const std::string why = fmt::format("nothing heard for {:.1f} s", silent);
      runs_->gone(id, false, why);
      replicas_->gone(id, false, why);
    }
  }
  for (auto at = starts_.begin(); at != starts_.end();) {
    if (since_s(at->second) < kStartPatience + frozen_grace_s(at->first.first)) {
      ++at;
      continue;
    }
    runs_->give_up(at->first.first, at->first.second, "a node did not answer its start");
    at = starts_.erase(at);
  }
  replicas_->tick();
  execs_->tick(1e-9 * static_cast<double>(monotonic_ns()));
  runs_->tick();
  look_at_frozen();
  if (++looks_ % kLooksPerWatch == 0) watch_->tick();
  reactor_->after(kCheckFleetEvery, [this] { look_round(); });
}

void Fleet::carry_out(const KeptCommand& command, const JobView& job) {
  reactor_->post([this, command, job] {
    if (brain_ == nullptr) return;
    if (has_parts(job.identity)) return replicas_->carry_out(command, job);
    if (command.kind == CommandKind::kStart) {
      starts_.emplace(std::pair(job.identity.uuid, command.epoch), monotonic_ns());
    }
    runs_->carry_out(command, job);
  });
}

void Fleet::signal(const std::string& uuid, int number) {
  reactor_->post([this, uuid, number] {
    if (brain_ != nullptr && !runs_->signal(uuid, number)) replicas_->signal(uuid, number);
  });
}

void Fleet::fence(NodeId node, const std::string& why) {
  reactor_->post([this, node, why] {
    if (brain_ == nullptr) return;
    if (links_[node].connection != nullptr) links_[node].connection->close();
    links_[node].connection.reset();
    links_[node].view.connected = false;
    links_[node].suspect = true;
    lose_execs(node, why);
    runs_->gone(node, true, why);
    replicas_->gone(node, true, why);
  });
}

void Fleet::leave(NodeId node, Seconds at) {
  reactor_->post([this, node, at] {
    if (brain_ == nullptr) return;
    watch_->leave(node, at);
    end_frozen_on(node, "its node will be taken away");
  });
}

const EngineStatement& Fleet::local() {
  static const EngineStatement statement{"local",
                                         {.device_index = true,
                                          .freeze = true,
                                          .fraction = true,
                                          .bandwidth = true,
                                          .resize = false,
                                          .membership = true,
                                          .claim = true,
                                          .foreign_jobs = false}};
  return statement;
}

std::vector<EngineRun> Fleet::list(std::uint64_t since) {
  std::vector<EngineRun> runs;
  reactor_->call([&] {
    if (runs_ != nullptr) runs = runs_->list(since);
  });
  return runs;
}

std::vector<AgentView> Fleet::agents() {
  std::vector<AgentView> views;
  reactor_->call([&] {
    for (const Link& link : links_) views.push_back(link.view);
  });
  return views;
}

}  // namespace weft::live
