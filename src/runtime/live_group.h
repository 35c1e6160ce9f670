// The one group there is: of the ranks of a job, or of some of them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "runtime/chooser.h"
#include "runtime/group.h"
#include "runtime/job.h"
#include "runtime/programs.h"

namespace weft::runtime {

// Streams from here on carry messages from point to point: one for each pair and tag.
inline constexpr std::uint32_t kPointStreams = 0x80000000;
// The last below is used when links are measured.
inline constexpr std::uint32_t kLinkStream = kPointStreams - 1;

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
  LinkSpeeds links() const override { return shape().links; }
  Status measure_links_again() override { return id_ == 0 ? learn_links() : Status{}; }
  void let_order_vary() override;
  int per_host() const override { return shape().per_host; }
  Choice explain(Operation operation, std::uint64_t bytes) const override;
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

  // Measures the links, or takes those that the options have. All ranks call it, before anything
  // else or while nothing is under way.
  Status learn_links();

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
  GroupShape shape() const {
    const std::lock_guard lock(mutex_);
    return shape_;
  }
  Choice choice_for(const Call& call, const GroupShape& shape);
  // What the user wants instead of a choice; empty: nothing.
  std::string wanted_algorithm(const Call& call) const;
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
  std::atomic<bool> order_varies_ = false;
  std::vector<Recent> recent_;
  std::size_t next_recent_ = 0;
  // By operation, size class and whether any order of additions will do.
  std::map<std::tuple<Operation, int, bool>, Choice> choices_;
  Programs programs_;
  std::map<std::vector<int>, std::uint32_t> subgroups_;  // made so far, by ranks
};

}  // namespace weft::runtime
