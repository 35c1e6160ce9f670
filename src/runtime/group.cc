#include "runtime/group.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/stopwatch.h"
#include "runtime/job.h"
#include "runtime/programs.h"

namespace weft::runtime {
namespace {

using Schedule = collective::Operation;
static_assert(static_cast<int>(Operation::kBarrier) == static_cast<int>(Schedule::kBarrier));

// Streams from here on carry messages from point to point: one for each pair and tag.
constexpr std::uint32_t kPointStreams = 0x80000000;

class EngineWork : public Work {
 public:
  EngineWork(std::shared_ptr<Job> job, std::shared_ptr<Execution> execution)
      : job_(std::move(job)), execution_(std::move(execution)) {}
  Status wait() override { return job_->engine().wait(execution_); }
  bool done() override { return job_->engine().done(execution_); }
  void cancel() override { job_->engine().cancel(execution_); }

 private:
  std::shared_ptr<Job> job_;
  std::shared_ptr<Execution> execution_;
};

// An operation that was refused before it began.
class RefusedWork : public Work {
 public:
  explicit RefusedWork(Error error) : error_(std::move(error)) {}
  Status wait() override { return error_; }
  bool done() override { return true; }
  void cancel() override {}

 private:
  Error error_;
};

class LiveGroup : public Group {
 public:
  // `ranks` of the whole group; empty: all of it.
  LiveGroup(std::shared_ptr<Job> job, std::uint32_t id, const std::vector<int>& ranks)
      : job_(std::move(job)), id_(id) {
    adopt(ranks);
  }

  Membership membership() const override {
    const std::lock_guard lock(mutex_);
    return membership_;
  }

  WorkPtr all_reduce(void* data, std::uint64_t count, DataType type, ReduceOp op,
                     const CallOptions& options) override {
    return begin(Call{Operation::kAllReduce, type, op, 0, 0, count}, data, data, options);
  }
  Status all_reduce_now(void* data, std::uint64_t count, DataType type, ReduceOp op,
                        const CallOptions& options) override {
    return now({Operation::kAllReduce, type, op, 0, 0, count}, data, options);
  }
  Status barrier_now(const CallOptions& options) override { return now({}, nullptr, options); }
  WorkPtr broadcast(void* data, std::uint64_t count, DataType type, int root,
                    const CallOptions& options) override {
    return begin(Call{Operation::kBroadcast, type, ReduceOp::kSum, 0,
                      static_cast<std::uint32_t>(root), count},
                 data, data, options);
  }
  WorkPtr reduce(void* data, std::uint64_t count, DataType type, ReduceOp op, int root,
                 const CallOptions& options) override {
    return begin(Call{Operation::kReduce, type, op, 0, static_cast<std::uint32_t>(root), count},
                 data, data, options);
  }
  WorkPtr all_gather(const void* in, void* out, std::uint64_t count, DataType type,
                     const CallOptions& options) override {
    return begin(Call{Operation::kAllGather, type, ReduceOp::kSum, 0, 0, count}, in, out, options);
  }
  WorkPtr reduce_scatter(const void* in, void* out, std::uint64_t count, DataType type, ReduceOp op,
                         const CallOptions& options) override {
    return begin(Call{Operation::kReduceScatter, type, op, 0, 0, count}, in, out, options);
  }
  WorkPtr all_to_all(const void* in, void* out, std::uint64_t count, DataType type,
                     const CallOptions& options) override {
    return begin(Call{Operation::kAllToAll, type, ReduceOp::kSum, 0, 0, count}, in, out, options);
  }
  WorkPtr all_to_all_v(const void* in, std::span<const std::uint64_t> sends, void* out,
                       std::span<const std::uint64_t> receives, DataType type,
                       const CallOptions& options) override;
  WorkPtr barrier(const CallOptions& options) override {
    return begin(Call{}, nullptr, nullptr, options);
  }
  WorkPtr send(const void* data, std::uint64_t count, DataType type, int to, std::uint32_t tag,
               const CallOptions& options) override {
    return point(const_cast<void*>(data), count, type, to, tag, true, options);  // only read
  }
  WorkPtr receive(void* data, std::uint64_t count, DataType type, int from, std::uint32_t tag,
                  const CallOptions& options) override {
    return point(data, count, type, from, tag, false, options);
  }

  Result<std::shared_ptr<Group>> subgroup(const std::vector<int>& ranks) override;
  Result<Membership> reform(Seconds deadline_s) override;
  int joiners() const override { return job_->joiners(); }
  Connections connections() const override { return job_->connections(); }
  std::string broken() const override { return job_->engine().broken(id_); }
  std::vector<int> lost_seats() const override { return job_->lost_seats(); }
  void abandon(const std::string& why) override { job_->abandon(id_, membership().epoch(), why); }
  void leave() override { job_->leave(); }
  void mark_step() override { job_->engine().mark_step(); }
  void record(Mark mark) override {
    job_->engine().mark(mark == Mark::kComputeBegin ? EventKind::kComputeBegin
                                                    : EventKind::kComputeEnd);
  }
  std::vector<SlowRank> slow_ranks() const override { return job_->slow_ranks(id_); }
  Status save_recording(const std::string& path) const override {
    return write_file_atomically(path, encode(job_->recording()));
  }

 private:
  void adopt(const std::vector<int>& ranks);
  WorkPtr begin(const Call& call, const void* in, void* out, const CallOptions& options,
                std::shared_ptr<const PairCounts> pairs = nullptr);
  Status now(const Call& call, void* data, const CallOptions& options) {
    auto spec = prepare(call, data, data, options, nullptr);
    if (!spec.ok()) return spec.error();
    return job_->engine().run(std::move(*spec));
  }
  Result<OperationSpec> prepare(const Call& call, const void* in, void* out,
                                const CallOptions& options,
                                std::shared_ptr<const PairCounts> pairs);
  WorkPtr point(void* data, std::uint64_t count, DataType type, int peer, std::uint32_t tag,
                bool sending, const CallOptions& options);
  void set_times(OperationSpec& spec, const CallOptions& options) const;
  Choice choice_for(const Call& call, const GroupShape& shape) const;
  // What was decided for the same call before; training repeats the same few.
  struct Recent {
    Call call;
    std::shared_ptr<const EndpointProgram> program;
    bool hears_all = false;
    std::uint32_t slices = 1;
  };
  bool recall(const Call& call, OperationSpec& spec) const;
  void remember(const Call& call, const OperationSpec& spec);

  std::shared_ptr<Job> job_;
  std::uint32_t id_;
  mutable std::mutex mutex_;
  Membership membership_;
  std::shared_ptr<const std::vector<MemberId>> members_;
  GroupShape shape_;
  std::vector<Recent> recent_;
  std::size_t next_recent_ = 0;
  Programs programs_;
  std::uint32_t subgroups_ = 0;
};

void LiveGroup::set_times(OperationSpec& spec, const CallOptions& options) const {
  constexpr Seconds kBeforeDeadline = 1;  // enough to ask everybody
  const GroupOptions& group = job_->options();
  const Seconds length = options.deadline_s > 0 ? options.deadline_s : group.deadline_s;
  const Seconds before = std::min(kBeforeDeadline, length / 2);
  spec.submitted_ns = monotonic_ns();
  const double now = 1e-9 * static_cast<double>(spec.submitted_ns);
  spec.deadline = now + length;
  spec.alarm = now + (group.hang_s > 0 ? std::min(group.hang_s, length - before) : length - before);
}

void LiveGroup::adopt(const std::vector<int>& ranks) {
  const View view = job_->view();
  Membership membership;
  membership.job_epoch = view.job_epoch;
  membership.number = view.number;
  membership.rank = -1;
  for (std::size_t rank = 0; rank < view.members.size(); ++rank) {
    const bool in = ranks.empty() ||
                    std::find(ranks.begin(), ranks.end(), static_cast<int>(rank)) != ranks.end();
    if (!in) continue;
    if (view.members[rank].id == job_->options().member) {
      membership.rank = membership.size();
    }
    membership.members.push_back(view.members[rank].id);
    membership.seats.push_back(view.members[rank].seat);
  }
  const GroupShape shape = job_->shape_of(membership.members);
  const std::lock_guard lock(mutex_);
  members_ = std::make_shared<const std::vector<MemberId>>(membership.members);
  membership_ = std::move(membership);
  shape_ = shape;
  recent_.clear();
  next_recent_ = 0;
}

Choice LiveGroup::choice_for(const Call& call, const GroupShape& shape) const {
  double bytes = static_cast<double>(call.count) * static_cast<double>(size_of(call.type));
  const auto operation = static_cast<Schedule>(call.operation);
  if (operation == Schedule::kAllGather || operation == Schedule::kReduceScatter ||
      operation == Schedule::kAllToAll) {
    bytes *= shape.ranks;
  }
  Choice choice = choose(operation, bytes, shape);
  if (call.operation == Operation::kAllReduce && !job_->options().algorithm.empty()) {
    choice.algorithm = job_->options().algorithm;
  }
  if (call.variant != 0) choice.algorithm = "direct";
  return choice;
}

Result<OperationSpec> LiveGroup::prepare(const Call& call, const void* in, void* out,
                                         const CallOptions& options,
                                         std::shared_ptr<const PairCounts> pairs) {
  OperationSpec spec;
  spec.call = call;
  spec.input = static_cast<const std::byte*>(in);
  spec.output = static_cast<std::byte*>(out);
  spec.priority = options.priority;
  set_times(spec, options);
  spec.pairs = std::move(pairs);
  GroupShape shape;
  {
    const std::lock_guard lock(mutex_);
    spec.members = members_;
    spec.rank = membership_.rank;
    spec.key = {id_, membership_.epoch(), options.stream, 0};
    shape = shape_;
  }
  if (options.stream >= kPointStreams) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("stream is {}; it must be below {}", options.stream, kPointStreams),
                 ""};
  }
  if (call.root >= spec.members->size()) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("root is {}; it must be one of the {} ranks", call.root, spec.members->size()),
        ""};
  }
  spec.key.sequence = job_->next_sequence(id_, options.stream);
  if (call.operation == Operation::kBarrier) return spec;
  if (spec.pairs == nullptr && recall(call, spec)) return spec;
  const Choice choice = choice_for(call, shape);
  collective::Request request;
  request.operation = static_cast<Schedule>(call.operation);
  request.ranks = shape.ranks;
  request.root = static_cast<int>(call.root);
  request.per_node = choice.algorithm == "hierarchical" ? shape.per_host : 0;
  request.chunks = choice.chunks;
  auto program = programs_.get(choice.algorithm, request, spec.rank);
  if (!program.ok()) return program.error();
  spec.program = *program;
  spec.hears_all = choice.algorithm == "exchange";
  spec.slices = slices_for(*spec.program, call.count, size_of(call.type), spec.pairs.get(),
                           job_->engine().max_message(), choice.slice_bytes);
  if (spec.pairs == nullptr) remember(call, spec);
  return spec;
}

bool LiveGroup::recall(const Call& call, OperationSpec& spec) const {
  const std::lock_guard lock(mutex_);
  for (const Recent& recent : recent_) {
    if (!(recent.call == call)) continue;
    spec.program = recent.program;
    spec.hears_all = recent.hears_all;
    spec.slices = recent.slices;
    return true;
  }
  return false;
}

void LiveGroup::remember(const Call& call, const OperationSpec& spec) {
  constexpr std::size_t kMost = 16;
  const std::lock_guard lock(mutex_);
  if (recent_.size() < kMost) recent_.emplace_back();
  Recent& recent = recent_[next_recent_++ % kMost];
  recent = {call, spec.program, spec.hears_all, spec.slices};
}

Group::WorkPtr LiveGroup::begin(const Call& call, const void* in, void* out,
                                const CallOptions& options,
                                std::shared_ptr<const PairCounts> pairs) {
  auto spec = prepare(call, in, out, options, std::move(pairs));
  if (!spec.ok()) return std::make_shared<RefusedWork>(spec.error());
  return std::make_shared<EngineWork>(job_, job_->engine().submit(std::move(*spec), true));
}

// What others exchange is none of our business and counts as nothing.
Group::WorkPtr LiveGroup::all_to_all_v(const void* in, std::span<const std::uint64_t> sends,
                                       void* out, std::span<const std::uint64_t> receives,
                                       DataType type, const CallOptions& options) {
  const Membership now = membership();
  const auto ranks = static_cast<std::size_t>(now.size());
  if (sends.size() != ranks || receives.size() != ranks) {
    return std::make_shared<RefusedWork>(
        Error{ErrorKind::kInvalidInput,
              fmt::format("there are {} amounts to send and {} to receive; {} ranks need as many",
                          sends.size(), receives.size(), ranks),
              ""});
  }
  const auto self = static_cast<std::size_t>(now.rank);
  auto pairs = std::make_shared<PairCounts>(ranks * ranks, 0);
  for (std::size_t other = 0; other < ranks; ++other) {
    (*pairs)[self * ranks + other] = sends[other];
    (*pairs)[other * ranks + self] = receives[other];
  }
  if (sends[self] != receives[self]) {
    return std::make_shared<RefusedWork>(
        Error{ErrorKind::kInvalidInput,
              fmt::format("rank {} sends {} elements to itself but receives {}", self, sends[self],
                          receives[self]),
              ""});
  }
  return begin(Call{Operation::kAllToAll, type, ReduceOp::kSum, 1, 0, 0}, in, out, options,
               std::move(pairs));
}

Group::WorkPtr LiveGroup::point(void* data, std::uint64_t count, DataType type, int peer,
                                std::uint32_t tag, bool sending, const CallOptions& options) {
  OperationSpec spec;
  const Membership now = membership();
  if (peer < 0 || peer >= now.size() || peer == now.rank) {
    return std::make_shared<RefusedWork>(Error{
        ErrorKind::kInvalidInput,
        fmt::format("the peer is {}; it must be another of the {} ranks", peer, now.size()), ""});
  }
  if (tag >= 1u << 12) {
    return std::make_shared<RefusedWork>(
        Error{ErrorKind::kInvalidInput,
              fmt::format("tag is {}; it must be below {}", tag, 1u << 12), ""});
  }
  const auto from = static_cast<std::uint32_t>(sending ? now.rank : peer);
  spec.call = {Operation::kPoint, type, ReduceOp::kSum, 0, 0, count};
  // Ranks are below 4096 and tags too; one direction of one pair is one stream of both.
  spec.key = {id_, now.epoch(), kPointStreams | (from << 12) | tag, 0};
  const auto self = static_cast<std::uint32_t>(sending ? peer : now.rank);
  spec.key.group = id_;
  spec.key.sequence = job_->next_sequence(id_ ^ (self * 0x9e3779b9u), spec.key.stream);
  spec.members = std::make_shared<const std::vector<MemberId>>(std::vector<MemberId>{
      now.members[from], now.members[static_cast<std::size_t>(sending ? peer : now.rank)]});
  spec.rank = sending ? 0 : 1;
  spec.program = point_program(sending);
  spec.hears_all = true;
  spec.input = spec.output = static_cast<std::byte*>(data);
  spec.priority = options.priority;
  set_times(spec, options);
  spec.slices =
      slices_for(*spec.program, count, size_of(type), nullptr, job_->engine().max_message(), 0);
  return std::make_shared<EngineWork>(job_, job_->engine().submit(std::move(spec), true));
}

Result<std::shared_ptr<Group>> LiveGroup::subgroup(const std::vector<int>& ranks) {
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const int size = membership().size();
  if (sorted.empty() || sorted.front() < 0 || sorted.back() >= size ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the ranks [{}] of a sub-group must be different ones of 0 .. {}",
                             fmt::join(ranks, ", "), size - 1),
                 ""};
  }
  // The same number on all ranks: from the list and how many were made before.
  std::uint32_t id = 2166136261u ^ ++subgroups_;
  for (const int rank : sorted) id = (id ^ static_cast<std::uint32_t>(rank + 1)) * 16777619u;
  id |= 1;  // 0 is the whole group
  job_->engine().begin_epoch(id, membership().epoch());
  return std::shared_ptr<Group>(std::make_shared<LiveGroup>(job_, id, sorted));
}

Result<Membership> LiveGroup::reform(Seconds deadline_s) {
  if (id_ != 0) {
    return Error{ErrorKind::kUnsupported, "a sub-group cannot re-form",
                 "re-form the whole group, then make the sub-group anew"};
  }
  const auto view = job_->reform(deadline_s);
  if (!view.ok()) return view.error();
  adopt({});
  subgroups_ = 0;
  return membership();
}

}  // namespace

Result<std::shared_ptr<Group>> Group::start(const GroupOptions& options) {
  auto job = Job::start(options);
  if (!job.ok()) return job.error();
  auto group = std::make_shared<LiveGroup>(*job, 0, std::vector<int>{});
  if (!options.join) {
    CallOptions call;
    call.deadline_s = options.start_deadline_s;
    const Status met = group->barrier(call)->wait();
    if (!met.ok()) return met.error();
  }
  return std::shared_ptr<Group>(std::move(group));
}

}  // namespace weft::runtime
