// One operation on its way: its calls are compared with those of the other ranks, then its slices
// run through the program of this endpoint. Driven by the engine, under the engine's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/layout.h"
#include "runtime/parcel.h"
#include "runtime/program.h"

namespace weft::runtime {

// By which an operation is known on all ranks.
struct OperationKey {
  std::uint32_t group = 0, epoch = 0, stream = 0, sequence = 0;
  bool operator==(const OperationKey&) const = default;
};
inline OperationKey key_of(const Header& header) {
  return {header.group, header.epoch, header.stream, header.sequence};
}

struct OperationSpec {
  OperationKey key;
  Call call;
  // What this rank does; nullptr: nothing but comparing calls, which is a barrier.
  std::shared_ptr<const EndpointProgram> program;
  std::shared_ptr<const std::vector<MemberId>> members;  // by endpoint
  int rank = 0;                                          // our endpoint
  // Every rank hears from every other in the first round, so data may go without comparing first.
  bool hears_all = false;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::shared_ptr<const PairCounts> pairs;
  std::uint32_t slices = 1;
  double priority = 0;            // the least goes first
  double deadline = 0;            // on the engine's clock
  double alarm = 0;               // when it is asked who has not entered; 0: never
  std::int64_t submitted_ns = 0;  // 0: when the engine gets it
};

// What an execution needs of the world.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // How many of the first destinations one message can be for. Ensures: at least 1.
  virtual std::size_t together(std::span<const MemberId> to) const = 0;
  // As in Transport. Requires: together(to) == to.size().
  virtual Room reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) = 0;
  virtual void post(std::byte* room, std::span<const MemberId> to, const Header& header) = 0;
  // Called when the calls of all ranks were found equal.
  virtual void compared(const OperationSpec& spec) = 0;
  // Called when a message was applied: bytes reached their cells. For logs and the recorder.
  virtual void delivered(const Header& header, std::uint32_t chunk_count) = 0;
};

class Execution {
 public:
  explicit Execution(OperationSpec spec);
  // As if made anew, in the same memory. Requires: done(), clear() was called.
  void restart(OperationSpec spec);

  const OperationSpec& spec() const { return spec_; }
  bool done() const { return finished_ || failed_; }
  bool failed() const { return failed_; }
  const std::string& failure() const { return failure_; }
  // Ends it now. The sentence says why.
  void fail(std::string why);
  // Gives back all messages it holds. Requires: done().
  void clear();

  // Begins: calls are compared, or the first slice sent.
  void begin(Carrier& carrier);
  // Takes a message for this operation. Ensures: what can be done with it is done.
  void take(Parcel parcel, Carrier& carrier, bool may_pin);
  // Goes on where there was no room. Whether something moved.
  bool retry(Carrier& carrier);
  // Starts one more slice if there is one. Whether it did.
  bool start_slice(Carrier& carrier);
  bool wants_slice() const {
    return agreed_ && !done() && spec_.program != nullptr && next_slice_ < spec_.slices;
  }
  std::uint32_t slices_under_way() const { return under_way_; }
  std::size_t slice_bytes() const { return slice_bytes_; }
  // A receive from one peer sends nothing: were it counted as under way, many of them could keep
  // the sends back that the peer's own receives wait for.
  bool takes_credit() const { return spec_.call.operation != Operation::kPoint || spec_.rank == 0; }
  bool blocked() const { return blocked_ > 0; }
  bool agreed() const { return agreed_; }
  // What this rank computed until it called, to be told to the others. Requires: not begun; not 0.
  // `step` is this rank's.
  void set_own_us(std::uint32_t own_us, std::uint64_t step) {
    own_us_[static_cast<std::size_t>(spec_.rank)] = own_us;
    step_ = step;
  }
  std::uint64_t step() const { return step_; }
  // The same of all ranks, as far as they told.
  const std::vector<std::uint32_t>& own_us() const { return own_us_; }
  // When the engine saw it end; 0: it did not yet.
  std::int64_t ended_ns() const { return ended_ns_; }
  void set_ended_ns(std::int64_t now_ns) { ended_ns_ = now_ns; }
  bool alarmed() const { return alarmed_; }
  void set_alarmed() { alarmed_ = true; }
  // Ranks whose message is waited for, for error messages.
  std::vector<int> waited_for() const;

 private:
  static constexpr int kForwardable = 64;  // sends of a round that the bits of `ahead` can name
  struct LaneRun {
    std::uint16_t lane = 0;
    bool blocked = false;  // waits for room
    bool done = false;
    std::size_t round = 0, next_send = 0, next_step = 0;
    std::size_t reached = 0;                  // destinations of the current send that have it
    std::uint64_t ahead = 0, ahead_next = 0;  // sends that were forwarded already, by place
    std::vector<Parcel> waiting;
  };
  struct SliceRun {
    std::uint32_t slice = 0;
    std::vector<LaneRun> lanes;
    std::size_t open = 0;
    std::unique_ptr<std::byte[]> scratch;
  };
  struct Opinion {  // a call and a rank that made it
    Call call;
    std::uint32_t rank = 0;
    std::uint32_t spare = 0;
  };

  void prepare();
  void agree(Carrier& carrier);
  void finish_agreement();
  void merge(const Parcel& parcel);
  std::size_t opinion_bytes() const;
  void write_opinions(std::byte* room) const;
  bool fits(const Parcel& parcel);
  SliceRun& run_of(std::uint32_t slice);
  void advance(SliceRun& run, LaneRun& lane, Carrier& carrier);
  bool try_send(SliceRun& run, LaneRun& lane, const Step& step, Carrier& carrier);
  bool try_step(SliceRun& run, LaneRun& lane, const Step& step, Carrier& carrier);
  // Like try_step() for a sum of several steps from `lane.next_step` on, in one pass.
  bool try_sum(SliceRun& run, LaneRun& lane, const ProgramRound& round, Carrier& carrier);
  // Takes the message that the step waits for, if it is there and of the right size.
  std::optional<Parcel> arrived(SliceRun& run, LaneRun& lane, const Step& step);
  bool try_forward(SliceRun& run, LaneRun& lane, const Step& step, const Parcel& parcel,
                   Carrier& carrier);
  void combine_around(std::byte* target, std::byte* room, const std::byte* a, const std::byte* b,
                      std::size_t bytes) const;
  void apply(SliceRun& run, const Step& step, const Parcel& parcel);
  void work_locally(SliceRun& run, const Step& step);
  void end_slice(SliceRun& run);
  std::byte* address(SliceRun& run, const Cell& cell) const;
  Header header_for(const SliceRun& run, const LaneRun& lane, const Step& step) const;
  std::span<const MemberId> members_of(const Step& step);

  OperationSpec spec_;
  std::optional<Layout> layout_;
  std::unique_ptr<std::byte[]> own_input_;  // where the schedule needs it apart from the output
  bool finished_ = false, failed_ = false, agreed_ = false;
  std::string failure_;
  std::vector<std::uint32_t> own_us_;  // by rank; 0: not told
  std::int64_t ended_ns_ = 0;
  std::uint64_t step_ = 0;
  bool alarmed_ = false;
  int agreement_round_ = 0;
  bool agreement_sent_ = false;
  Opinion low_, high_;
  std::vector<Parcel> agreement_;  // arrived before their round
  std::vector<Parcel> early_;      // data that came before the calls were compared
  std::uint32_t next_slice_ = 0, under_way_ = 0, ended_ = 0;
  std::size_t slice_bytes_ = 0;
  bool large_ = false;
  int blocked_ = 0;                              // lanes, and the agreement
  std::vector<std::unique_ptr<SliceRun>> runs_;  // by slice, those under way
  std::vector<std::unique_ptr<SliceRun>> spare_;
  std::vector<MemberId> to_;
  std::vector<Parcel> summed_;  // of one sum, while it is made
  std::vector<const std::byte*> sources_;
};

}  // namespace weft::runtime
