// The part of LiveGroup that makes operations of calls: which schedule, which slices.
#include <fmt/core.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "runtime/live_group.h"

namespace weft::runtime {
namespace {

static_assert(static_cast<int>(Operation::kBarrier) ==
              static_cast<int>(collective::Operation::kBarrier));

// Whether the result is the same bits in whatever order it is added up.
bool any_order(const Call& call, int ranks) {
  return !collective::sums(static_cast<collective::Operation>(call.operation)) || ranks <= 2 ||
         !is_float(call.type);
}

}  // namespace

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
  choices_.clear();
  next_recent_ = 0;
}

void LiveGroup::let_order_vary() {
  const std::lock_guard lock(mutex_);
  order_varies_ = true;
  recent_.clear();
  choices_.clear();
  next_recent_ = 0;
}

std::string LiveGroup::wanted_algorithm(const Call& call) const {
  if (call.variant != 0) return "direct";
  return call.operation == Operation::kAllReduce ? job_->options().algorithm : "";
}

Choice LiveGroup::choice_for(const Call& call, const GroupShape& shape) {
  double bytes = static_cast<double>(call.count) * static_cast<double>(size_of(call.type));
  const auto operation = static_cast<collective::Operation>(call.operation);
  if (operation == collective::Operation::kAllGather ||
      operation == collective::Operation::kReduceScatter ||
      operation == collective::Operation::kAllToAll) {
    bytes *= shape.ranks;
  }
  const std::string wanted = wanted_algorithm(call);
  if (!wanted.empty()) {
    Choice choice;
    choice.algorithm = wanted;
    choice.slice_bytes = slice_bytes_of(wanted, shape, order_varies_);
    return choice;
  }
  const Wish wish{"", any_order(call, shape.ranks), order_varies_};
  const std::tuple key{call.operation, size_class(bytes), wish.any_order};
  {
    const std::lock_guard lock(mutex_);
    const auto found = choices_.find(key);
    if (found != choices_.end()) return found->second;
  }
  Choice choice = timed_chooser().choose(operation, bytes, shape, wish);
  const std::lock_guard lock(mutex_);
  return choices_.emplace(key, std::move(choice)).first->second;
}

Choice LiveGroup::explain(Operation operation, std::uint64_t bytes) const {
  const GroupShape now = shape();
  Call call;
  call.operation = operation;
  call.type = DataType::kFloat32;
  return timed_chooser().choose(
      static_cast<collective::Operation>(operation), static_cast<double>(bytes), now,
      {wanted_algorithm(call), any_order(call, now.ranks), order_varies_});
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
  request.operation = static_cast<collective::Operation>(call.operation);
  request.ranks = shape.ranks;
  request.root = static_cast<int>(call.root);
  request.per_node = choice.algorithm == "hierarchical" ? shape.per_host : 0;
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

}  // namespace weft::runtime
