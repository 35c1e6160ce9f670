#include "runtime/compress/compressed_reduce.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>

#include "runtime/compress/exchange_job.h"
#include "sync/replica.h"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kFirstStream = 1u << 28;
constexpr std::uint32_t kFirstExactStream = 3u << 27;
constexpr std::uint32_t kStateStream = kFirstStream - 1;
constexpr std::size_t kShortText = 64 << 10;

// A task of the crew as others see it. It cannot be taken back: other ranks wait for it.
class TaskWork : public Work {
 public:
  Status wait() override {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return done_; });
    return status_;
  }
  bool done() override {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  void cancel() override { group_->abandon("a compressed average was cancelled"); }
  void end(Status status) {
    {
      const std::lock_guard lock(mutex_);
      status_ = std::move(status);
      done_ = true;
    }
    ended_.notify_all();
  }
  explicit TaskWork(std::shared_ptr<Group> group) : group_(std::move(group)) {}

 private:
  const std::shared_ptr<Group> group_;  // shared: the work may outlive the reduce
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  Status status_;
};

DataType type_of(codec::Element element) {
  switch (element) {
    case codec::Element::kFloat32:
      return DataType::kFloat32;
    case codec::Element::kFloat16:
      return DataType::kFloat16;
    case codec::Element::kBfloat16:
      return DataType::kBfloat16;
    case codec::Element::kInt32:
      return DataType::kInt32;
    case codec::Element::kUint8:
      return DataType::kUint8;
  }
  CHECK(false);
}

Status exchange(Group& group, const codec::Exchange& round, const CallOptions& call) {
  const DataType type = type_of(round.element);
  if (round.count == 0) return {};
  if (round.combine == codec::Combine::kBroadcast) {
    return group
        .broadcast(round.data.data(), round.count, type, static_cast<int>(round.root), call)
        ->wait();
  }
  const auto op = round.combine == codec::Combine::kSum ? ReduceOp::kSum : ReduceOp::kMax;
  return group.all_reduce(round.data.data(), round.count, type, op, call)->wait();
}

// The same error on every rank if one rank has one.
Status agree(Group& group, const Status& own, const CallOptions& call) {
  std::int32_t failed = own.ok() ? 0 : group.size() - group.rank();
  if (const Status status =
          group.all_reduce(&failed, 1, DataType::kInt32, ReduceOp::kMax, call)->wait();
      !status.ok()) {
    return status;
  }
  if (failed == 0) return {};
  const int rank = group.size() - failed;
  std::string text = own.ok() ? "" : own.error().what;
  text.resize(240, '\0');
  if (const Status status =
          group.broadcast(text.data(), text.size(), DataType::kUint8, rank, call)->wait();
      !status.ok()) {
    return status;
  }
  return Error{ErrorKind::kInvalidInput, fmt::format("rank {}: {}", rank, text.c_str()), ""};
}

// What is remembered of these places of the bucket.
void forget(BucketState& state, const sync::Range& place) {
  state.sent.forget(place.from, place.size);
  if (!state.back) return;
  const std::size_t begin = std::max(place.from, state.first);
  const std::size_t end = std::min(place.from + place.size, state.first + state.back->size);
  if (begin < end) state.back->forget(begin - state.first, end - begin);
}

}  // namespace

CompressedReduce::CompressedReduce(std::shared_ptr<Group> group,
                                   std::shared_ptr<const codec::Codec> codec, std::uint64_t seed)
    : group_(std::move(group)), codec_(std::move(codec)), seed_(seed) {}
CompressedReduce::~CompressedReduce() = default;

codec::Place CompressedReduce::place() const {
  return {static_cast<std::uint32_t>(group_->rank()), static_cast<std::uint32_t>(group_->size()),
          seed_};
}

bool CompressedReduce::coarse() const {
  constexpr std::size_t kMany = 1 << 20;
  constexpr double kBits = 4;
  return codec_->movable() && !codec_->shaped() && codec_->wire_bytes(kMany) * 8 < kBits * kMany;
}

Group::WorkPtr CompressedReduce::average(std::uint32_t bucket, std::span<float> data,
                                         const CallOptions& options, BucketContents contents) {
  CHECK(bucket < (1u << 27));
  CallOptions call = options;
  call.stream = kFirstStream + bucket;
  if (codec_->text() == "none") {
    return group_->all_reduce(data.data(), data.size(), DataType::kFloat32, ReduceOp::kAverage,
                              call);
  }
  auto work = std::make_shared<TaskWork>(group_);
  crew_.begin([this, bucket, data, call, work, contents = std::move(contents)] {
    Job job{bucket, data, call, group_->size(), group_->rank(), contents};
    work->end(run(job));
  });
  return work;
}

Status CompressedReduce::run(Job& job) {
  BucketState* state = nullptr;
  Buffers* buffers = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto at = states_.find(job.bucket);
    if (at == states_.end()) {
      codec::Place where = place();
      where.matrices = job.contents.matrices;
      at = states_.emplace(job.bucket, make_bucket_state(*codec_, job.data.size(), where)).first;
    }
    state = &at->second;
    auto& kept = buffers_[job.bucket];
    if (kept == nullptr) kept = std::make_unique<Buffers>();
    buffers = kept.get();
  }
  // Alike on every rank, as the sizes are.
  if (state->sent.size != job.data.size()) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("bucket {} has {} values, but {} are remembered of it", job.bucket,
                             job.data.size(), state->sent.size),
                 "state of another model, or of another division into buckets"};
  }
  const Status status = run_coded(job, *state, *buffers);
  if (status.ok()) codec_->settle(job.data, state->sent);
  return status;
}

// The codec sees zeros in exact places, and nothing is remembered of them.
Status CompressedReduce::run_coded(Job& job, BucketState& state, Buffers& buffers) {
  const auto coded = [&] {
    return codec_->linear() != nullptr ? run_linear(job, state.sent)
                                       : run_opaque(job, state, buffers);
  };
  if (job.contents.exact.empty()) return coded();
  std::vector<float> apart;
  for (const sync::Range& place : job.contents.exact) {
    for (float& value : job.data.subspan(place.from, place.size)) {
      apart.push_back(value);
      if (std::isfinite(value)) value = 0;  // else the codec says so, on every rank
    }
  }
  CallOptions call = job.call;
  call.stream = kFirstExactStream + job.bucket;
  const auto work =
      group_->all_reduce(apart.data(), apart.size(), DataType::kFloat32, ReduceOp::kAverage, call);
  Status status = coded();
  if (const Status mean = work->wait(); status.ok()) status = mean;
  if (!status.ok()) return status;
  const float* from = apart.data();
  for (const sync::Range& place : job.contents.exact) {
    std::copy_n(from, place.size, job.data.begin() + static_cast<std::ptrdiff_t>(place.from));
    from += place.size;
    forget(state, place);
  }
  return {};
}

Status CompressedReduce::run_linear(Job& job, codec::CodecState& state) {
  auto begun = codec_->linear()->begin(job.data, state);
  const Status own = begun.ok() ? Status{} : Status{begun.error()};
  if (const Status status = agree(*group_, own, job.call); !status.ok()) return status;
  codec::LinearRun& run = **begun;
  while (!run.done()) {
    if (const Status status = exchange(*group_, run.exchange(), job.call); !status.ok()) {
      return status;
    }
    // A rank that cannot go on must not leave the others waiting in the next round.
    if (const Status status = agree(*group_, run.next(), job.call); !status.ok()) return status;
  }
  run.finish(job.data);
  const float share = 1.0F / static_cast<float>(job.ranks);
  for (float& value : job.data) value *= share;
  return {};
}

std::vector<float> CompressedReduce::take_residual(std::uint32_t bucket) {
  CHECK(codec_->movable());
  const std::lock_guard lock(mutex_);
  buffers_.erase(bucket);
  const auto at = states_.find(bucket);
  if (at == states_.end()) return {};
  const std::size_t first = at->second.first;
  codec::CodecState sent = codec::widened(std::move(at->second.sent)), back;
  if (at->second.back) back = codec::widened(std::move(*at->second.back));
  states_.erase(at);
  std::vector<float> residual;
  if (!sent.local.empty()) residual = std::move(sent.local.front());
  if (!back.local.empty()) {
    residual.resize(sent.size, 0.0F);
    // The owner's is of the mean, to which a rank's own values count one by the number of ranks.
    const auto ranks = static_cast<float>(group_->size());
    const std::vector<float>& owed = back.local.front();
    for (std::size_t i = 0; i < owed.size(); ++i) residual[first + i] += ranks * owed[i];
  }
  return residual;
}

std::optional<BucketState> CompressedReduce::state_of(std::uint32_t bucket) const {
  const std::lock_guard lock(mutex_);
  const auto at = states_.find(bucket);
  return at == states_.end() ? std::nullopt : std::optional(at->second);
}

std::string CompressedReduce::save() const { return save_states(*codec_, states_); }

Status CompressedReduce::restore(const std::vector<std::string>& saved) {
  std::vector<BucketStates> all;
  for (const std::string& bytes : saved) {
    if (bytes.empty()) continue;
    auto loaded = load_states(*codec_, std::as_bytes(std::span(bytes)));
    if (!loaded.ok()) return loaded.error();
    // Ranks that have not averaged anything yet have nothing to give.
    if (!loaded->empty()) all.push_back(std::move(*loaded));
  }
  BucketStates mine;
  if (!all.empty()) {
    auto spread = spread_states(*codec_, std::move(all), place());
    if (!spread.ok()) return spread.error();
    mine = std::move(*spread);
  }
  const std::lock_guard lock(mutex_);
  states_ = std::move(mine);
  return {};
}

Status CompressedReduce::regroup() {
  CallOptions call;
  call.stream = kStateStream;
  const auto all = gather_strings(*group_, states_.empty() ? "" : save(), call);
  if (!all.ok()) return all.error();
  return restore(*all);
}

Result<std::vector<std::string>> gather_strings(Group& group, const std::string& own,
                                                const CallOptions& call) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto length = static_cast<std::int64_t>(own.size());
  std::vector<std::int64_t> lengths(ranks);
  if (const Status status =
          group.all_gather(&length, lengths.data(), 1, DataType::kInt64, call)->wait();
      !status.ok()) {
    return status.error();
  }
  std::vector<std::string> all(ranks);
  const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  if (longest == 0) return all;
  if (longest <= kShortText) {  // one operation, padded, is sooner over than one for each rank
    std::string mine = own, everyone(longest * ranks, '\0');
    mine.resize(longest, '\0');
    const Status status =
        group.all_gather(mine.data(), everyone.data(), longest, DataType::kUint8, call)->wait();
    if (!status.ok()) return status.error();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      all[rank] = everyone.substr(rank * longest, static_cast<std::size_t>(lengths[rank]));
    }
    return all;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (lengths[rank] == 0) continue;
    all[rank] = static_cast<int>(rank) == group.rank()
                    ? own
                    : std::string(static_cast<std::size_t>(lengths[rank]), '\0');
    const Status status = group
                              .broadcast(all[rank].data(), all[rank].size(), DataType::kUint8,
                                         static_cast<int>(rank), call)
                              ->wait();
    if (!status.ok()) return status.error();
  }
  return all;
}

}  // namespace weft::runtime
