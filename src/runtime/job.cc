#include "runtime/job.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "runtime/launch/launcher.h"
#include "runtime/wait.h"

namespace weft::runtime {
namespace {

std::string link_text(const char* path) {
  struct stat status {};
  return stat(path, &status) == 0 ? std::to_string(status.st_ino) : "?";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return static_cast<int>(std::thread::hardware_concurrency());
  }
  return CPU_COUNT(&set);
}

}  // namespace

std::string host_identity() {
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", 256);
  std::string text = boot.ok() ? boot->substr(0, boot->find('\n')) : "no-boot-id";
  return fmt::format("{}/{}/{}/{}", text, link_text("/proc/self/ns/net"),
                     link_text("/proc/self/ns/pid"), getuid());
}

Job::Job(GroupOptions options)
    : options_(std::move(options)), errands_(std::make_unique<Errands>()) {}

Job::~Job() {
  if (engine_ != nullptr) save_recording();
  drain(1);
  if (engine_ != nullptr) {
    engine_->stop();                        // it tells the mesh of failures
    engine_->replace({}, EngineOptions{});  // gives back what it holds of the transports
  }
  wire_.reset();  // tells the mesh and the engine of losses
  mesh_.reset();  // tells the engine
  errands_.reset();
  engine_.reset();
  reactor_.reset();
}

Result<std::shared_ptr<Job>> Job::start(const GroupOptions& options) {
  std::shared_ptr<Job> job(new Job(options));
  Status status = job->open();
  if (status.ok()) status = options.join ? job->join() : job->meet();
  if (!status.ok()) return status.error();
  job->store_.reset();  // nothing uses it after start-up
  return job;
}

Status Job::open() {
  auto store = StoreClient::connect(options_.store, options_.secret, options_.start_deadline_s);
  if (!store.ok()) return store.error();
  store_ = std::move(*store);
  if (options_.take_member) {
    if (Status numbered = take_number(); !numbered.ok()) return numbered;
  }
  address_ = options_.interface_address;
  if (address_.empty()) {
    auto own = local_address_towards(options_.store);
    if (!own.ok()) return own.error();
    address_ = *own;
  }
  auto reactor = Reactor::start();
  if (!reactor.ok()) return reactor.error();
  reactor_ = std::move(*reactor);

  auto bell = SharedBell::create();
  if (!bell.ok()) return bell.error();
  bell_.emplace(std::move(*bell));
  auto local = make_local();
  if (!local.ok()) return local.error();
  local_ = std::move(*local);
  engine_ = std::make_unique<Engine>(std::vector<Transport*>{local_->transport.get()},
                                     bell_->bell(), EngineOptions{});
  const Status meshed = open_mesh();
  return meshed.ok() ? open_wire() : meshed;
}

Status Job::open_mesh() {
  Connection::Settings settings;
  settings.identity = {options_.secret, options_.job, ""};
  settings.options.encrypt = options_.encrypt;
  Mesh::Options mesh_options;
  mesh_options.job_epoch = options_.job_epoch;
  mesh_options.silence_s = options_.silence_s;
  Mesh::Events events;
  events.on_lost = [this](std::uint32_t epoch, const std::string& why) { lost(epoch, why); };
  events.on_broken = [this](const Broken& broken) {
    engine_->break_group(broken.group, broken.epoch, broken.why);
  };
  events.on_reforming = [this](const Reforming& news) { engine_->break_all(news.epoch, news.why); };
  events.on_view = [this](const View& view) {
    const std::lock_guard lock(mutex_);
    agreed_.push_back(view);
    changed_.notify_all();
  };
  events.on_fenced = [this](const std::string& why) { fenced(why); };
  events.progress = [this](MemberId from, const Progress& question) {
    return progress(from, question);
  };
  events.on_progress = [this](MemberId from, const Progress& answer) {
    missing_.answer(from, answer);
  };
  auto mesh = Mesh::open(*reactor_, address_ + ":0", settings, options_.member, mesh_options,
                         std::move(events));
  if (!mesh.ok()) return mesh.error();
  mesh_ = std::move(*mesh);
  watch_engine();
  return {};
}

Result<std::unique_ptr<Job::Local>> Job::make_local() {
  auto segment = Segment::create(options_.member, *bell_);
  if (!segment.ok()) return segment.error();
  auto local = std::make_unique<Local>(Local{std::move(*segment), nullptr});
  local->transport = std::make_unique<ShmTransport>(options_.member, local->segment);
  return local;
}

MemberInfo Job::own_info() {
  MemberInfo info;
  info.id = options_.member;
  info.seat = options_.join ? -1 : options_.rank;
  info.host = host_identity();
  info.control = fmt::format("{}:{}", address_, mesh_->port());
  info.data = wire_->address();
  Local* local = next_ != nullptr ? next_.get() : local_.get();
  info.segment = options_.shared_memory ? local->segment.where() : "";
  return info;
}

// Everybody publishes itself and reads all the others; ranks are seats.
Status Job::meet() {
  const double deadline = steady_now() + options_.start_deadline_s;
  const std::string prefix = fmt::format("e{}/", options_.job_epoch);
  // The first to come says how many there are.
  const std::string ranks = std::to_string(options_.ranks);
  const auto first = store_->swap(prefix + "ranks", "", ranks, deadline - steady_now());
  if (!first.ok()) return first.error();
  if (*first != ranks) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("rank {} was started as one of {}, but another as one of {}",
                             options_.rank, ranks, *first),
                 "give all ranks the same WORLD_SIZE"};
  }
  const std::string own = to_text(own_info());
  for (const std::string& key : {fmt::format("{}rank/{}", prefix, options_.rank),
                                 fmt::format("{}member/{}", prefix, options_.member)}) {
    const Status set = store_->set(key, own, deadline - steady_now());
    if (!set.ok()) return set;
  }
  View view{options_.job_epoch, 0, {}};
  for (int rank = 0; rank < options_.ranks; ++rank) {
    auto text = store_->get(fmt::format("{}rank/{}", prefix, rank), deadline - steady_now());
    if (!text.ok()) {
      return Error{ErrorKind::kIo,
                   fmt::format("rank {} of {} did not come within {} s: {}", rank, options_.ranks,
                               options_.start_deadline_s, text.error().what),
                   "do all ranks have the same WORLD_SIZE and WEFT_STORE?"};
    }
    auto info = member_from(*text);
    if (!info.ok()) return info.error();
    info->seat = rank;
    view.members.push_back(std::move(*info));
  }
  mesh_->begin(view, own_info());
  return install(view);
}

// Numbers that no rank of the start has, and none that joined before: the store counts them, so
// that whoever starts joiners need not know which there were.
Status Job::take_number() {
  const double deadline = steady_now() + options_.start_deadline_s;
  const std::string prefix = fmt::format("e{}/", options_.job_epoch);
  const auto ranks = store_->get(prefix + "ranks", deadline - steady_now());
  if (!ranks.ok()) return ranks.error();
  std::uint32_t first = 0;
  const char* end = ranks->data() + ranks->size();
  if (std::from_chars(ranks->data(), end, first).ptr != end) {
    return Error{ErrorKind::kInvalidInput, "the store does not say how many ranks began", ""};
  }
  const auto count = store_->add(prefix + "joiners", 1, deadline - steady_now());
  if (!count.ok()) return count.error();
  options_.member = first + static_cast<std::uint32_t>(*count) - 1;
  return {};
}

Status Job::join() {
  const double deadline = steady_now() + options_.start_deadline_s;
  const std::string prefix = fmt::format("e{}/", options_.job_epoch);
  std::vector<MemberInfo> known;
  for (MemberId member = 0; member < options_.member; ++member) {
    const auto text =
        store_->look(fmt::format("{}member/{}", prefix, member), deadline - steady_now());
    if (!text.ok()) continue;
    auto info = member_from(*text);
    if (info.ok()) known.push_back(std::move(*info));
  }
  const Status set = store_->set(fmt::format("{}member/{}", prefix, options_.member),
                                 to_text(own_info()), deadline - steady_now());
  if (!set.ok()) return set;
  mesh_->join(known, own_info());
  auto view = wait_for_view(0, deadline, "no running rank took this one in");
  if (!view.ok()) return view.error();
  const Status installed = install(*view);
  if (!installed.ok()) return installed;
  // A launcher that is gone does not matter any more.
  [[maybe_unused]] const Status told = store_->set(joined_key(options_.member), "", 1);
  return {};
}

Result<View> Job::wait_for_view(std::uint32_t after, double deadline, const char* what) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!fenced_.empty()) return Error{ErrorKind::kIo, fenced_, "the process should end"};
    if (!agreed_.empty() && (agreed_.back().number > after || options_.join)) {
      const View view = agreed_.back();
      agreed_.clear();
      return view;
    }
    const double left = deadline - steady_now();
    if (left <= 0) break;
    changed_.wait_for(lock, std::chrono::duration<double>(std::min(left, 1.0)));
  }
  lock.unlock();
  const std::string reasons = mesh_->waits_for();
  return Error{ErrorKind::kIo, std::string(what) + (reasons.empty() ? "" : ": " + reasons), ""};
}

Status Job::install(const View& view) {
  {
    const std::lock_guard lock(mutex_);
    view_ = view;
    sequences_.clear();
    asked_.clear();
  }
  const std::unique_ptr<Local> before = next_ == nullptr ? nullptr : std::move(local_);
  if (next_ != nullptr) local_ = std::move(next_);
  const std::string host = own_info().host;
  int here = 0;
  std::string trouble;
  for (const MemberInfo& member : view.members) {
    if (member.host != host || member.segment.empty() || !options_.shared_memory) {
      if (member.id != options_.member) wire_->welcome(member.id);
      continue;
    }
    ++here;
    if (member.id == options_.member) continue;
    const Status attached = local_->transport->attach(member.id, member.segment);
    if (!attached.ok()) trouble = attached.error().what;
  }
  std::vector<Transport*> transports = {local_->transport.get()};
  const bool one_host = here == static_cast<int>(view.members.size());
  if (!one_host) transports.push_back(wire_.get());
  EngineOptions engine;
  engine.credit_bytes =
      options_.credit_bytes > 0 ? options_.credit_bytes : (one_host ? 4 << 20 : 16 << 20);
  const bool crowded = here > usable_cores();
  engine.spin_s = crowded ? 0 : engine.spin_s;
  engine.yields = crowded ? 10 : 0;
  engine.pinned = std::max(0, static_cast<int>(kSlots) / std::max(here, 1) / 2 - 1);
  engine_->replace(transports, engine);
  engine_->begin_epoch(0, view.epoch());
  {
    const std::lock_guard lock(mutex_);
    segments_ = std::max(0, here - 1);
    const auto loss = losses_.find(view.epoch());
    if (loss != losses_.end()) trouble = loss->second;
  }
  // Not under the lock, which the engine takes inside its own.
  if (!trouble.empty()) engine_->break_group(0, view.epoch(), trouble);
  return {};
}

Result<View> Job::reform(Seconds deadline_s) {
  const double deadline = steady_now() + deadline_s;
  const View old = view();
  engine_->break_group(0, old.epoch(), "the group is about to change");
  auto local = make_local();
  if (!local.ok()) return local.error();
  next_ = std::move(*local);
  mesh_->want(own_info());
  auto view = wait_for_view(old.number, deadline, "the ranks could not agree on who is left");
  if (!view.ok()) {
    mesh_->give_up();
    return view.error();
  }
  {
    const std::lock_guard lock(mutex_);
    lost_seats_.clear();
    for (const MemberInfo& member : old.members) {
      if (view->find(member.id) == nullptr) lost_seats_.push_back(member.seat);
    }
  }
  engine_->replace({}, EngineOptions{});  // a transport has one caller at a time
  for (const MemberInfo& member : old.members) {
    if (view->find(member.id) == nullptr) wire_->forget(member.id);
  }
  const Status installed = install(*view);
  if (!installed.ok()) return installed.error();
  return *view;
}

void Job::lost(std::uint32_t epoch, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    losses_.emplace(epoch, why);
  }
  engine_->break_all(epoch, why);
  record_failure();
}

void Job::fenced(const std::string& why) {
  std::uint32_t epoch = 0;
  {
    const std::lock_guard lock(mutex_);
    fenced_ = why;
    epoch = view_.epoch();
    changed_.notify_all();
  }
  engine_->break_all(epoch, why);
}

View Job::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

std::string Job::broken() const { return engine_->broken(0); }

std::vector<int> Job::lost_seats() const {
  const std::lock_guard lock(mutex_);
  return lost_seats_;
}

void Job::abandon(std::uint32_t group, std::uint32_t epoch, const std::string& why) {
  mesh_->tell({group, epoch, why});
  engine_->break_group(group, epoch, why);
}

// What was posted reaches the kernel before the connections go.
void Job::drain(Seconds most) {
  wait_until([&] { return wire_ == nullptr || wire_->idle(); }, most, 1e-3);
}

void Job::leave() {
  save_recording();
  drain(5);
  wire_->part();
  drain(1);
  mesh_->leave();
}

std::uint32_t Job::next_sequence(std::uint32_t group, std::uint32_t stream) {
  const std::lock_guard lock(mutex_);
  return sequences_[{group, stream}]++;
}

}  // namespace weft::runtime
