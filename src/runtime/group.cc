#include "runtime/group.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/link_probe.h"
#include "runtime/live_group.h"

namespace weft::runtime {
namespace {

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

}  // namespace

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
  // The same number on all its ranks: from the list and how many were made of it before. Groups of
  // other lists do not count, because not every rank has heard of them.
  std::uint32_t id = 2166136261u ^ ++subgroups_[sorted];
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
  subgroups_.clear();
  return membership();
}

Status LiveGroup::learn_links() {
  const std::string& given = job_->options().links;
  auto parsed = given.empty() ? Result<LinkSpeeds>(LinkSpeeds{}) : parse_links(given);
  if (!parsed.ok()) return parsed.error();
  if (size() == 1) return {};
  CallOptions call;
  call.deadline_s = job_->options().start_deadline_s;
  call.stream = kLinkStream;
  const auto links = given.empty()
                         ? measure_links(*this, job_->hosts_of(membership().members), call)
                         : agree_on_links(*this, *parsed, call);
  if (!links.ok()) return links.error();
  job_->set_links(*links);
  adopt({});
  return {};
}

Result<std::shared_ptr<Group>> Group::start(const GroupOptions& options) {
  auto job = Job::start(options);
  if (!job.ok()) return job.error();
  auto group = std::make_shared<LiveGroup>(*job, 0, std::vector<int>{});
  if (!options.join) {
    CallOptions call;
    call.deadline_s = options.start_deadline_s;
    Status met = group->barrier(call)->wait();
    if (met.ok()) met = group->learn_links();
    if (!met.ok()) return met.error();
    (*job)->begin_watch();
  }
  return std::shared_ptr<Group>(std::move(group));
}

}  // namespace weft::runtime
