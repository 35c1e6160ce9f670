#include "live/agent/run_table.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/stopwatch.h"
#include "live/agent/json_fields.h"
#include "live/agent/process_tree.h"
#include "live/agent/rank_stacks.h"
#include "live/agent/run_order.h"

namespace weft::live {
namespace {

constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;
constexpr Seconds kClaimAge = 7 * 86400.0;

Result<std::uint64_t> read_number(const nlohmann::json& message) {
  JsonFields fields(message);
  const std::int64_t number = fields.whole("number", 0, kMostNumber, -1);
  if (number < 0) fields.complain("number is missing");
  if (!fields.wrong().empty()) return fields.error();
  return static_cast<std::uint64_t>(number);
}

}  // namespace

RunTable::RunTable(runtime::Reactor& reactor, Settings settings)
    : reactor_(reactor), settings_(std::move(settings)) {}

RunTable::~RunTable() {
  execs_.reset();
  for (auto& [key, run] : runs_) {
    for (auto& [number, rank] : run.ranks) release(rank);
  }
  settings_.groups.drop();
}

Status RunTable::open() {
  auto port = KeeperPort::open(
      reactor_, settings_.paths.socket(),
      {.on_first = [this](int link, pid_t peer, const Json& m) { keeper_came(link, peer, m); },
       .on_message = [this](int link, const Json& m) { keeper_said(link, m); },
       .on_end = [this](int link) { link_ended(link); }});
  if (!port.ok()) return port.error();
  port_ = std::move(*port);
  server_ = std::make_unique<KeeperServer>(settings_.keeper_command, settings_.paths.root,
                                           settings_.paths.server_log());
  if (Status started = server_->start(); !started.ok()) return started;
  open_execs();
  for (const RunKey& key : kept_runs(settings_.paths)) adopt(key);
  for (const OldRun& old : old_runs(settings_.paths)) {
    if (runs_.contains(old.key)) continue;
    if (old.age_s > kClaimAge) {
      drop_claims(settings_.paths, old.key);
      continue;
    }
    over_.insert(old.key);
    std::uint64_t& newest = newest_[old.key.uuid];
    newest = std::max(newest, old.key.epoch);
  }
  return {};
}

void RunTable::adopt(RunKey key) {
  const auto text = read_file(settings_.paths.order(key), kMostOrderBytes);
  Run run;
  if (text.ok()) run.message = Json::parse(*text, nullptr, false);
  auto order = run.message.is_object() ? read_run_order(run.message)
                                       : Error{ErrorKind::kInvalidInput, "it is not whole", ""};
  if (!order.ok()) {
    // The order is written before the first keeper is started, so nothing of it ever ran.
    settings_.log(fmt::format("the order of {} is left aside: {}", key.text(), order.error().what));
    std::error_code ignored;
    std::filesystem::remove_all(settings_.paths.run(key), ignored);
    return;
  }
  if (order->key != key) {
    // The agent before died while the run went on as that one.
    const RunKey next = order->key;
    if (rename(settings_.paths.run(key).c_str(), settings_.paths.run(next).c_str()) != 0) {
      return settings_.log(fmt::format("{} cannot go on as {}", key.text(), next.text()));
    }
    key = next;
  }
  run.order = std::move(*order);
  run.number = run.order.number;
  run.from = run.message.value("thaw", std::uint64_t{0});
  run.marked = run.message.value("marked", key.epoch);
  run.op = "start";
  const auto said = read_file(settings_.paths.outcome(key), kMostOrderBytes);
  const Json last = said.ok() ? Json::parse(*said, nullptr, false) : Json();
  if (last.is_object() && last.value("epoch", key.epoch) == key.epoch) {
    run.number = last.value("number", run.number);
    run.op = last.value("op", run.op);
    run.result = last.value("result", "");
    run.why = last.value("why", "");
  }
  lease_s_ = run.message.value("lease_s", lease_s_);
  newest_[key.uuid] = std::max(newest_[key.uuid], key.epoch);
  Run& kept = runs_[key] = std::move(run);
  for (const RankShare& share : kept.order.ranks) {
    Rank& rank = kept.ranks[share.rank];
    rank.share = share;
    const auto setups = kept.message.find("setups");
    const std::string name = std::to_string(share.rank);
    if (setups != kept.message.end() && setups->contains(name)) {
      rank.setup = read_rank_setup((*setups)[name]);
    }
  }
  for (auto& [number, rank] : kept.ranks) settle(kept, rank);
}

std::string RunTable::refusal(const RunOrder& order, std::uint64_t from) const {
  const RunKey& key = order.key;
  if (over_.contains(key)) return "it was stopped here, or has run here before";
  const auto newest = newest_.find(key.uuid);
  if (newest != newest_.end() && newest->second > key.epoch) {
    return fmt::format("epoch {} of it was here already", newest->second);
  }
  for (const auto& [other, run] : runs_) {
    const auto lives = [](const auto& rank) { return !rank.second.end; };
    if (other.uuid == key.uuid && other.epoch != from &&
        std::any_of(run.ranks.begin(), run.ranks.end(), lives)) {
      return fmt::format("ranks of its epoch {} are still here", other.epoch);
    }
  }
  if (geteuid() != 0 && order.uid >= 0 && order.uid != static_cast<std::int64_t>(geteuid())) {
    return fmt::format("the agent is not root and cannot run ranks as user {}", order.uid);
  }
  for (const RankShare& rank : order.ranks) {
    for (const int device : rank.devices) {
      if (device >= static_cast<int>(settings_.facts.devices.size())) {
        return fmt::format("device {} is not here: there are {}", device,
                           settings_.facts.devices.size());
      }
    }
  }
  return "";
}

Status RunTable::start(const Json& message) {
  const auto key = read_run_key(message);
  if (!key.ok()) return key.error();
  const auto number = read_number(message);
  if (!number.ok()) return number.error();
  if (Run* run = find(*key)) {
    if (*number < run->number) return {};
    if (*number > run->number || run->op != "start") {
      say_outcome(*key, *number, "refused", "it has run here before");
    } else if (!run->result.empty()) {
      say_outcome(*key, *number, run->result, run->why);
    } else {
      conclude(*run);
    }
    return {};
  }
  auto order = read_run_order(message);
  JsonFields fields(message);
  const auto from = static_cast<std::uint64_t>(fields.whole("thaw", 1, kMostNumber, 0));
  std::string why = !order.ok() ? order.error().what : fields.wrong();
  if (why.empty()) why = refusal(*order, from);
  if (why.empty() && from > 0) why = refusal_to_go_on(*order, from);
  if (!why.empty()) {
    say_outcome(*key, *number, "refused", why);
    return {};
  }
  const Status begun =
      from > 0 ? go_on(message, std::move(*order), from) : begin(message, std::move(*order));
  if (!begun.ok()) {
    say_outcome(*key, *number, "failed", begun.error().what);
  }
  return {};
}

// The order is written before keepers are started, so that whoever comes after us knows of them and
// of the control groups, and it is safe on disk before the first may go.
Status RunTable::begin(const Json& message, RunOrder order) {
  const RunKey key = order.key;
  const FolderPaths& paths = settings_.paths;
  // Their epochs are refused from now on, because this one is newer.
  std::erase_if(over_, [&](const RunKey& old) {
    if (old.uuid != key.uuid) return false;
    drop_claims(paths, old);
    return true;
  });
  if (mkdir(paths.run(key).c_str(), 0700) != 0) {
    return Error{ErrorKind::kIo, "cannot make the folder " + paths.run(key), ""};
  }
  Run run;
  run.number = order.number;
  run.op = "start";
  run.active = true;
  run.message = message;
  run.message["lease_s"] = lease_s_;
  run.marked = key.epoch;
  for (const RankShare& share : order.ranks) run.ranks[share.rank].share = share;
  run.order = std::move(order);
  for (auto& [number, rank] : run.ranks) {
    plan(run, rank);
    run.message["setups"][std::to_string(number)] = to_json(rank.setup);
  }
  Status written = write_secret(run.order);
  if (written.ok()) written = write_whole(paths.order(key), run.message.dump());
  if (!written.ok()) {
    std::error_code ignored;
    std::filesystem::remove_all(paths.run(key), ignored);
    return written;
  }
  newest_[key.uuid] = key.epoch;
  Run& kept = runs_[key] = std::move(run);
  for (auto& [number, rank] : kept.ranks) spawn_keeper(kept, rank);
  // Meanwhile the keepers come; none goes before it is told to.
  Status ready;
  for (auto& [number, rank] : kept.ranks) {
    if (ready.ok()) ready = prepare(rank);
  }
  if (ready.ok()) ready = sync_order(key);
  if (!ready.ok()) kept.why = ready.error().what;  // of the outcome to come
  for (auto& [number, rank] : kept.ranks) {
    if (rank.end) continue;
    if (ready.ok()) {
      tell_lease(kept, rank, "go");
    } else {
      release(rank);  // without its link a keeper does not begin
      settle(kept, rank);
    }
  }
  conclude(kept);
  return {};
}

bool RunTable::is_repeated(Run& run, const std::string& op, std::uint64_t number) {
  if (number < run.number) return true;
  if (number == run.number && !run.result.empty()) {
    say_outcome(run.order.key, number, run.result, run.why);
    return true;
  }
  if (number == run.number && run.active) return true;
  if (run.active && run.op == "start" && run.result.empty()) {
    say_outcome(run.order.key, run.number, "failed", fmt::format("a {} came before its end", op));
  }
  run.number = number;
  run.op = op;
  run.active = true;
  run.result = run.why = "";
  remember(run);
  return false;
}

Status RunTable::change(const std::string& op, const Json& message) {
  const auto key = read_run_key(message);
  if (!key.ok()) return key.error();
  const auto number = read_number(message);
  if (!number.ok()) return number.error();
  Run* run = find(*key);
  if (run == nullptr && op == "stop") {
    const Status written = write_file_durably(settings_.paths.tombstone(*key), "");
    if (written.ok()) over_.insert(*key);
    say_outcome(*key, *number, written.ok() ? "done" : "failed",
                written.ok() ? "" : written.error().what);
    return {};
  }
  if (run == nullptr) {
    say_outcome(*key, *number, "refused", "it does not run here");
    return {};
  }
  if (is_repeated(*run, op, *number)) return {};
  if (op == "stop") {
    begin_stop(*run, message);
  } else if (op == "resize") {
    resize(*run, message);
  } else {
    freeze(*run, op == "freeze");
  }
  return {};
}

void RunTable::begin_stop(Run& run, const Json& message) {
  JsonFields fields(message);
  const auto signal = read_signal(message, "signal", SIGTERM);
  const Seconds grace_s = fields.number("grace_s", 0, 1e7, run.order.grace_s);
  set_stop(run, signal.ok() && *signal > 0 ? *signal : SIGTERM, grace_s);
  conclude(run);
}

void RunTable::set_stop(Run& run, int signal, Seconds grace_s) {
  run.stopping = true;
  run.stop = {{"do", "stop"}, {"signal", signal}, {"grace_s", grace_s}, {"why", "stopped"}};
  for (auto& [number, rank] : run.ranks) {
    if (!rank.end) stop_rank(run, rank);
  }
}

void RunTable::resize(Run& run, const Json& message) {
  const auto ranks = read_ranks(message);
  if (!ranks.ok()) return answer(run, "refused", ranks.error().what);
  if (!settings_.groups.has("cpu")) {
    return answer(run, "refused", "shares cannot be changed here: there are no control groups");
  }
  for (const RankShare& share : *ranks) {
    const auto found = run.ranks.find(share.rank);
    if (found == run.ranks.end() || found->second.share.devices != share.devices) {
      return answer(run, "refused",
                    fmt::format("rank {} is not here on these devices", share.rank));
    }
  }
  for (const RankShare& share : *ranks) {
    Rank& rank = run.ranks[share.rank];
    if (rank.end) continue;
    const Status changed = settings_.groups.change(rank.setup, limits_of(share));
    if (!changed.ok()) return answer(run, "failed", changed.error().what);
    rank.share = share;
    if (const Status sent = set_traffic(rank); !sent.ok()) {
      return answer(run, "failed", sent.error().what);
    }
  }
  answer(run, "done", "");
}

void RunTable::freeze(Run& run, bool frozen) {
  for (const auto& [number, rank] : run.ranks) {
    if (frozen && (rank.end || !rank.executed || rank.behind)) {
      return answer(run, "refused", fmt::format("rank {} does not run", number));
    }
  }
  run.measured_at_ns = 0;  // what it uses counts from when it goes on
  for (auto& [number, rank] : run.ranks) {
    // Others may get its devices, and what goes on beside it would be in their way.
    if (frozen) execs_->kill(run.order.key, number, fmt::format("rank {} is frozen", number));
    if (!rank.end && rank.frozen != frozen) tell(rank, {{"do", frozen ? "freeze" : "thaw"}});
  }
  conclude(run);
}

Status RunTable::signal(const Json& message) {
  const auto key = read_run_key(message);
  if (!key.ok()) return key.error();
  const auto signal = read_signal(message, "signal", 0);
  if (!signal.ok()) return signal.error();
  if (Run* run = find(*key); run != nullptr && *signal > 0) {
    for (auto& [number, rank] : run->ranks) tell(rank, {{"do", "signal"}, {"signal", *signal}});
  }
  return {};
}

Status RunTable::save_stacks(const Json& message) {
  const auto key = read_run_key(message);
  if (!key.ok()) return key.error();
  Run* run = find(*key);
  if (run == nullptr) return {};
  for (auto& [number, rank] : run->ranks) {
    if (rank.end || rank.keeper <= 0) continue;
    const std::string path = fmt::format("{}/rank-{}.stacks", run->order.log_dir, number);
    const std::string text = fmt::format("{}: {}\n{}\n", key->text(), message.value("why", ""),
                                         stacks_text(descendants_of(rank.keeper)));
    const Status saved = append_stacks(path, text, run->order.uid, run->order.gid);
    if (!saved.ok()) settings_.log(saved.error().what);
    tell(rank, {{"do", "signal"}, {"signal", python_stacks_signal()}});
  }
  return {};
}

Status RunTable::forget(const Json& message) {
  const auto key = read_run_key(message);
  if (!key.ok()) return key.error();
  Run* run = find(*key);
  if (run == nullptr) return {};
  const auto ended = [](const auto& rank) { return rank.second.end.has_value(); };
  if (!std::all_of(run->ranks.begin(), run->ranks.end(), ended)) {
    settings_.log(fmt::format("{} still runs here and cannot be forgotten", key->text()));
    return {};
  }
  runs_.erase(*key);
  over_.insert(*key);
  std::error_code ignored;
  std::filesystem::remove_all(settings_.paths.run(*key), ignored);
  std::filesystem::remove(settings_.paths.secret(*key), ignored);
  return {};
}

}  // namespace weft::live
