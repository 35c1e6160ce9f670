#include "live/daemon/daemon.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/stopwatch.h"
#include "live/daemon/node_networks.h"
#include "live/daemon/queue_quotas.h"
#include "live/daemon/recorded.h"
#include "live/job/job_json.h"

#include <nlohmann/json.hpp>

namespace weft::live {
namespace {

constexpr auto kLookForEndEvery = std::chrono::milliseconds(20);
constexpr const char* kGoesDown = "the cluster goes down";
constexpr Seconds kDay = 24 * kHour;
constexpr Seconds kDrainMargin = 5;  // beyond the longest grace of a job

// Fails if another process has it.
Result<int> take_lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return Error{ErrorKind::kIo, fmt::format("{}: cannot be opened", path), ""};
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return Error{ErrorKind::kInvalidInput, fmt::format("{}: another daemon has this store", path),
               "stop it with `weft down`, or give another --store"};
}

Status make_folders(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (!failed) return {};
  return Error{ErrorKind::kIo, fmt::format("{}: {}", path, failed.message()), ""};
}

// Where agents on this machine find what listens at `address`.
std::string nearest(const std::string& address, int port) {
  const std::string host = address.substr(0, address.rfind(':'));
  const bool any = host.empty() || host == "0.0.0.0" || host == "*";
  return fmt::format("{}:{}", any ? "127.0.0.1" : host, port);
}

}  // namespace

std::string socket_of(const std::string& store) { return path_in(store, "sock"); }

std::string default_store() {
  if (const char* given = std::getenv("WEFT_HOME"); given != nullptr && *given != 0) return given;
  if (geteuid() == 0) return "/var/lib/weft";
  const char* home = std::getenv("HOME");
  return path_in(home != nullptr ? home : ".", ".local/state/weft");
}

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
  std::unique_ptr<Daemon> daemon(new Daemon);
  const Status opened = daemon->open(std::move(options));
  if (!opened.ok()) return opened.error();
  return daemon;
}

Status Daemon::open_secret() {
  secret_file_ = path_in(store_, "secret");
  if (is_file(secret_file_)) {
    auto kept = runtime::Secret::from_file(secret_file_);
    if (!kept.ok()) return kept.error();
    secret_ = *kept;
    return {};
  }
  auto fresh = runtime::Secret::fresh();
  if (!fresh.ok()) return fresh.error();
  secret_ = *fresh;
  const int descriptor =
      ::open(secret_file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const std::string text = secret_.hex() + "\n";
  const bool written = descriptor >= 0 && ::write(descriptor, text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  if (descriptor >= 0) ::close(descriptor);
  if (written) return {};
  return Error{ErrorKind::kIo, fmt::format("{}: cannot be written", secret_file_), ""};
}

// Agents look for the daemon where it was before.
int Daemon::kept_port() const {
  const auto kept = read_file(path_in(store_, "port"), 16);
  return kept.ok() ? std::atoi(kept->c_str()) : 0;
}

Status Daemon::open_fleet(const DaemonOptions& options) {
  FleetOptions fleet;
  fleet.address =
      options.agents_at.empty() ? fmt::format("127.0.0.1:{}", kept_port()) : options.agents_at;
  fleet.encrypt = !is_loopback(fleet.address);
  fleet.secret = secret_;
  fleet.lease_s = options.lease_s;
  fleet.suspect_s = std::min(3.0, options.lease_s);
  fleet.return_s = std::min(10.0, options.lease_s);
  fleet.log_root = path_in(store_, "logs");
  fleet.reclaim_idle_s = options.reclaim_idle_s;
  auto opened = Fleet::open(cluster_, fleet);
  if (!opened.ok()) return opened.error();
  fleet_ = std::move(*opened);
  agents_near_ = nearest(fleet.address, fleet_->port());
  return write_file_atomically(path_in(store_, "port"), std::to_string(fleet_->port()));
}

Status Daemon::open(DaemonOptions options) {
  store_ = std::filesystem::absolute(options.store).lexically_normal().string();
  while (store_.size() > 1 && store_.back() == '/') store_.pop_back();
  for (const char* folder : {"", "logs", "nodes"}) {
    if (const Status made = make_folders(path_in(store_, folder)); !made.ok()) return made;
  }
  auto lock = take_lock(path_in(store_, "lock"));
  if (!lock.ok()) return lock.error();
  lock_ = *lock;
  if (const Status known = open_secret(); !known.ok()) return known;
  cluster_ = std::move(options.cluster);

  auto journal = DurableJournal::open(store_);
  if (!journal.ok()) return journal.error();
  journal_ = std::move(*journal);
  if (const Status chosen = choose_policy(options); !chosen.ok()) return chosen;
  board_ = std::make_unique<Board>(cluster_);
  if (const Status opened = open_fleet(options); !opened.ok()) return opened;
  if (const Status recovered = recover(options); !recovered.ok()) return recovered;
  journal_->begin(
      [this](const Error& why) {
        const std::lock_guard guard(mutex_);
        why_over_ = why;
        over_ = true;
      },
      options.other_world ? options.other_world->clock : nullptr);
  if (!options.other_world) fleet_->begin(*brain_, *board_, journal_->term());
  if (const Status begun = begin_holds(); !begun.ok()) return begun;
  brain_->begin();
  if (const Status known = tokens_.open(path_in(store_, "tokens")); !known.ok()) return known;
  usage_ = std::make_unique<UsageBook>(cluster_, store_);
  if (options.forecaster != nullptr) {
    forecasts_ = std::make_unique<Forecasts>(*brain_, options.forecaster);
  }
  api_ = std::make_unique<Api>(ApiParts{cluster_, *brain_, *board_, *fleet_, *journal_, tenants_,
                                        tokens_, *usage_, path_in(store_, "logs"),
                                        [this](bool now) {
                                          stops_now_ = stops_now_ || now;
                                          asked_to_stop_ = true;
                                        },
                                        forecasts_.get(), budgets_.get()});
  auto server = HttpServer::open(
      {socket_of(store_), options.listen, options.certificate, options.key}, *api_);
  if (!server.ok()) return server.error();
  server_ = std::move(*server);
  return start_agents(options);
}

Status Daemon::choose_policy(DaemonOptions& options) {
  if (options.policy == nullptr) {
    const auto last = journal_->last_of(RecordKind::kTerm);
    const auto term = last ? from_bytes<TermRecord>(last->body) : std::nullopt;
    options.policy_text = term ? term->policy : kUsualPolicy;
    auto policy = policy_of_text(options.policy_text);
    if (!policy.ok()) return policy.error();
    options.policy = std::move(*policy);
  }
  policy_ = std::move(options.policy);
  return {};
}

Status Daemon::recover(const DaemonOptions& options) {
  BrainOptions brain;
  brain.program = options.program;
  brain.cluster_text = options.cluster_text;
  brain.policy_text = options.policy_text;
  brain.image_every = options.image_every;
  brain.by_hand = options.other_world.has_value();
  if (options.budgets) brain.keep_s = std::max(brain.keep_s, options.budgets->looks_back() + kDay);
  Hands& hands = options.other_world ? *options.other_world->hands : *fleet_;
  brain_ = std::make_unique<Brain>(cluster_, policy_, *journal_, *board_, hands, brain);
  if (const Status recovered = brain_->recover(); !recovered.ok()) return recovered;
  if (const Status fits = check_numbers(options.queues, *board_); !fits.ok()) return fits;
  for (std::size_t i = 0; i < options.queues.size(); ++i) {
    tenants_.number_of(options.queues[i], static_cast<TenantId>(i));
  }
  std::function<HoldVerdict(const JobView&)> gate;
  if (options.budgets) {
    budgets_ = std::make_unique<Budgets>(cluster_, *options.budgets, store_, *board_,
                                         [this] { return journal_->now(); });
    gate = [this](const JobView& job) { return budgets_->verdict(job.identity.user, job.queue); };
  }
  holds_ = std::make_unique<Holds>(
      *board_, [this](EventRecord record) { brain_->post_first(std::move(record)); }, gate);
  brain_->on_stop([this](JobId job) { holds_->stopping(job); });
  brain_->on_event([this](const EventRecord& record) {
    holds_->take(record);
    if (budgets_changed_.exchange(false)) holds_->ask_gate_again();
    give_up_failed(record);
  });
  return {};
}

// What was spent is known before anything may start.
Status Daemon::begin_holds() {
  if (budgets_ != nullptr) {
    const Status begun = budgets_->begin([this] {
      budgets_changed_ = true;
      brain_->post({});  // a tick: holds are asked for on the controller's thread
    });
    if (!begun.ok()) return begun;
  }
  holds_->begin();
  return {};
}

// A job that fails of its own doing more often than it may.
void Daemon::give_up_failed(const EventRecord& record) {
  if (!is_own_failure(record.event)) return;
  const auto job = board_->at(record.event.job);
  if (!job || has_ended(job->standing)) return;
  const auto spec = spec_from_json(nlohmann::json::parse(job->identity.spec, nullptr, false));
  if (!spec.ok() || job->failures <= spec->retries.max) return;
  EventRecord failed;
  failed.event.kind = EventKind::kWithdraw;
  failed.event.job = job->id;
  failed.why = "failed: " + record.why;
  brain_->post_first(std::move(failed));
}

Status Daemon::start_agents(const DaemonOptions& options) {
  if (options.agent_command.empty()) return {};
  std::vector<NodeNetwork> networks;
  if (options.namespaces) {
    networks = NodeNetworks::plan(store_, cluster_);
    if (const Status made = NodeNetworks::make(store_, networks); !made.ok()) return made;
  }
  std::vector<LocalAgents::Node> nodes;
  for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) {
    const Node& node = cluster_.nodes[i];
    const std::string dir = path_in(path_in(store_, "nodes"), node.name);
    std::vector<std::string> command = options.agent_command;
    const auto add = [&](const char* option, std::string value) {
      command.emplace_back(option);
      command.push_back(std::move(value));
    };
    add("--controller", agents_near_);
    add("--secret-file", secret_file_);
    add("--node", node.name);
    add("--dir", dir);
    add("--devices", std::to_string(node.devices));
    if (node.cpu_milli > 0) add("--cpu-milli", std::to_string(node.cpu_milli));
    if (node.memory > 0) add("--memory", std::to_string(node.memory));
    if (!networks.empty()) {
      add("--namespace", networks[i].space);
      add("--interface", networks[i].interface);
      add("--address", networks[i].address);
      add("--link", fmt::format("{:.0f}", networks[i].bytes_per_s));
    }
    nodes.push_back({node.name, dir, dir + ".log", std::move(command)});
  }
  agents_ = std::make_unique<LocalAgents>(std::move(nodes));
  return {};
}

void Daemon::drain(const std::atomic<bool>& stop_now) {
  const auto post = [&](EventKind kind, JobId job, std::uint32_t epoch, NodeId node) {
    EventRecord record;
    record.event.kind = kind;
    record.event.job = job;
    record.event.epoch = epoch;
    record.event.node = node;
    record.why = kGoesDown;
    brain_->post(std::move(record));
  };
  // Until its agent is welcomed again.
  for (NodeId id = 0; id < cluster_.nodes.size(); ++id) {
    if (board_->node(id).in_service) post(EventKind::kNodeNotice, kNoJob, 0, id);
  }
  const auto holds = [](const JobView& v) {
    return (!v.held.empty() || v.frozen_epoch > 0) && !has_ended(v.standing);
  };
  Seconds patience = kDrainMargin;
  for (const JobView& job : board_->jobs(holds)) {
    const auto spec = spec_from_json(nlohmann::json::parse(job.identity.spec, nullptr, false));
    if (spec.ok()) patience = std::max(patience, spec->checkpoint.grace + kDrainMargin);
    if (!job.held.empty()) post(EventKind::kEvict, job.id, job.epoch, kNoNode);
  }
  fleet_->end_frozen(kGoesDown);
  const std::int64_t begin = monotonic_ns();
  const auto passed = [&] { return 1e-9 * static_cast<double>(monotonic_ns() - begin); };
  while (board_->any(holds) && passed() < patience && !stops_now_ && !stop_now && !over_) {
    std::this_thread::sleep_for(kLookForEndEvery);
  }
}

Status Daemon::wait(const std::atomic<bool>& stop_now) {
  while (!stop_now && !asked_to_stop_ && !over_) std::this_thread::sleep_for(kLookForEndEvery);
  if (asked_to_stop_) drain(stop_now);
  const std::lock_guard guard(mutex_);
  if (over_) return why_over_;
  return {};
}

void Daemon::stop_agents() {
  if (agents_ != nullptr) agents_->stop();
  NodeNetworks::remove(store_);
}

Daemon::~Daemon() {
  agents_.reset();
  if (budgets_ != nullptr) budgets_->end();
  if (server_ != nullptr) server_->stop();
  if (fleet_ != nullptr) fleet_->end();
  if (brain_ != nullptr) brain_->end();
  forecasts_.reset();
  journal_.reset();  // its thread calls the others
  server_.reset();
  api_.reset();
  brain_.reset();
  fleet_.reset();
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace weft::live
