// Programs of all generators, executed by hand: messages arrive in any order, rooms are refused now
// and then, and the result is that of the operation.
#include "runtime/program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <tuple>

#include "base/random.h"
#include "runtime/execution.h"
#include "runtime/program_testing.h"

namespace weft::runtime {
namespace {

using Words = std::vector<std::int32_t>;

struct FlyingMessage {
  MemberId to = 0;
  Message message;
  std::unique_ptr<std::byte[]> bytes;
};

// Carries the messages of one endpoint and puts them where the adversary picks them.
class Post : public Carrier {
 public:
  Post(std::vector<FlyingMessage>& flying, Random& random, MemberId self)
      : flying_(flying), random_(random), self_(self) {}
  std::size_t together(std::span<const MemberId> to) const override {
    return to.size() > 1 ? to.size() - to.size() / 2 : 1;
  }
  Room reserve(std::span<const MemberId>, std::size_t bytes, bool) override {
    if (random_.chance(0.2)) return {};
    room_ = std::make_unique<std::byte[]>(bytes + 1);
    return {room_.get(), random_.chance(0.5)};
  }
  void post(std::byte* room, std::span<const MemberId> to, const Header& header) override {
    for (const MemberId member : to) {
      FlyingMessage& flying = flying_.emplace_back();
      flying.to = member;
      flying.bytes = std::make_unique<std::byte[]>(header.bytes + 1);
      std::memcpy(flying.bytes.get(), room, header.bytes);
      flying.message = {self_, header, flying.bytes.get(), 0};
    }
  }
  void compared(const OperationSpec&) override {}
  void delivered(const Header&, std::uint32_t) override {}

 private:
  std::vector<FlyingMessage>& flying_;
  Random& random_;
  MemberId self_;
  std::unique_ptr<std::byte[]> room_;
};

// Messages are owned elsewhere.
class Nowhere : public Transport {
 public:
  std::size_t max_message() const override { return 0; }
  bool reaches(MemberId) const override { return false; }
  Room reserve(std::span<const MemberId>, std::size_t, bool) override { return {}; }
  void post(std::byte*, std::span<const MemberId>, const Header&) override {}
  bool poll(Message&) override { return false; }
  void release(const Message&) override {}
  void forget(MemberId) override {}
  TransportCounts counts() const override { return {}; }
};

struct Sizes {
  std::uint64_t vector = 0;  // elements of a vector, or of one rank's part
  std::shared_ptr<PairCounts> pairs;
};

std::int32_t input_of(int rank, std::uint64_t i) {
  return static_cast<std::int32_t>(i * 10 + static_cast<std::uint64_t>(rank + 1));
}

Words summed(int ranks, std::uint64_t first, std::uint64_t count) {
  Words out(count, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::uint64_t i = 0; i < count; ++i) out[i] += input_of(rank, first + i);
  }
  return out;
}

// The elements that `rank` has at the beginning, and how many it has at the end.
std::pair<std::uint64_t, std::uint64_t> lengths(const collective::Request& r, const Sizes& sizes,
                                                int rank) {
  const auto p = static_cast<std::uint64_t>(r.ranks);
  const auto self = static_cast<std::uint64_t>(rank);
  if (sizes.pairs) {
    std::uint64_t in = 0, out = 0;
    for (std::uint64_t o = 0; o < p; ++o) {
      in += (*sizes.pairs)[self * p + o];
      out += (*sizes.pairs)[o * p + self];
    }
    return {in, out};
  }
  const std::uint64_t n = sizes.vector;
  switch (r.operation) {
    case collective::Operation::kReduceScatter:
      return {n * p, n};
    case collective::Operation::kAllGather:
      return {n, n * p};
    case collective::Operation::kAllToAll:
      return {n * p, n * p};
    default:
      return {n, n};
  }
}

Words wanted(const collective::Request& r, const Sizes& sizes, int rank) {
  const std::uint64_t n = sizes.vector;
  const auto p = static_cast<std::uint64_t>(r.ranks);
  const auto self = static_cast<std::uint64_t>(rank);
  Words out;
  switch (r.operation) {
    case collective::Operation::kAllReduce:
      return summed(r.ranks, 0, n);
    case collective::Operation::kReduce:
      return rank == r.root ? summed(r.ranks, 0, n) : Words{};
    case collective::Operation::kReduceScatter:
      return summed(r.ranks, self * n, n);
    case collective::Operation::kBroadcast:
      for (std::uint64_t i = 0; i < n; ++i) out.push_back(input_of(r.root, i));
      return out;
    case collective::Operation::kAllGather:
      for (std::uint64_t i = 0; i < n * p; ++i) {
        out.push_back(input_of(static_cast<int>(i / n), i % n));
      }
      return out;
    case collective::Operation::kAllToAll:
      for (std::uint64_t s = 0; s < p; ++s) {
        std::uint64_t first = 0;
        const auto amount = [&](std::uint64_t d) {
          return sizes.pairs ? (*sizes.pairs)[s * p + d] : n;
        };
        for (std::uint64_t d = 0; d < self; ++d) first += amount(d);
        for (std::uint64_t i = 0; i < amount(self); ++i) {
          out.push_back(input_of(static_cast<int>(s), first + i));
        }
      }
      return out;
    case collective::Operation::kBarrier:
      break;
  }
  return out;
}

class Play {
 public:
  Play(const collective::Schedule& schedule, const NamedRequest& named, const Sizes& sizes,
       std::uint32_t slices, std::uint64_t seed)
      : named_(named), sizes_(sizes), random_(seed) {
    const auto programs = make_programs(schedule);
    auto members = std::make_shared<std::vector<MemberId>>();
    for (std::size_t e = 0; e < programs.size(); ++e) {
      members->push_back(static_cast<MemberId>(e));
    }
    for (std::size_t e = 0; e < programs.size(); ++e) {
      OperationSpec spec;
      spec.program = std::make_shared<const EndpointProgram>(programs[e]);
      spec.members = members;
      spec.rank = static_cast<int>(e);
      spec.hears_all = true;
      spec.slices = slices;
      spec.pairs = sizes.pairs;
      spec.call = {
          operation_of(named.request.operation),          DataType::kInt32, ReduceOp::kSum, 0,
          static_cast<std::uint32_t>(named.request.root), sizes.vector};
      fill(static_cast<int>(e), programs[e], spec);
      executions_.push_back(std::make_unique<Execution>(spec));
      posts_.push_back(std::make_unique<Post>(flying_, random_, static_cast<MemberId>(e)));
    }
  }

  // Until all have ended; false when nothing can move any more.
  bool run() {
    for (std::size_t e = 0; e < executions_.size(); ++e) executions_[e]->begin(*posts_[e]);
    int idle = 0;
    while (idle < 200) {
      const auto e = static_cast<std::size_t>(random_.below(executions_.size()));
      const bool moved =
          executions_[e]->retry(*posts_[e]) || executions_[e]->start_slice(*posts_[e]);
      idle = moved || deliver() ? 0 : idle + 1;
    }
    for (const auto& execution : executions_) {
      if (!execution->done() || execution->failed()) {
        ADD_FAILURE() << "did not end: " << execution->failure();
        return false;
      }
    }
    return flying_.empty();
  }

  void expect_right() {
    for (int rank = 0; rank < named_.request.ranks; ++rank) {
      const Words want = wanted(named_.request, sizes_, rank);
      Words got = outputs_[static_cast<std::size_t>(rank)];
      if (named_.request.operation == collective::Operation::kReduce && rank != named_.request.root)
        continue;
      got.resize(want.size());
      EXPECT_EQ(got, want) << "rank " << rank;
    }
  }

 private:
  static runtime::Operation operation_of(collective::Operation operation) {
    return static_cast<runtime::Operation>(operation);
  }
  // In place wherever the schedule allows it and both sides are of one length, as callers have it.
  void fill(int endpoint, const EndpointProgram& program, OperationSpec& spec) {
    Words& in = inputs_.emplace_back();
    Words& out = outputs_.emplace_back();
    if (endpoint >= program.ranks) return;
    const auto [before, after] = lengths(named_.request, sizes_, endpoint);
    for (std::uint64_t i = 0; i < before; ++i) in.push_back(input_of(endpoint, i));
    out.assign(after, -1);
    in.reserve(before + 1);
    out.reserve(after + 1);
    const bool same = program.in_place && before == after;
    if (same) out = in;
    spec.output = reinterpret_cast<std::byte*>(out.data());
    spec.input = same ? spec.output : reinterpret_cast<const std::byte*>(in.data());
  }
  bool deliver() {
    if (flying_.empty()) return false;
    const auto i = static_cast<std::size_t>(random_.below(flying_.size()));
    std::swap(flying_[i], flying_.back());
    const FlyingMessage flying = std::move(flying_.back());
    flying_.pop_back();
    Parcel parcel(flying.message, &nowhere_, &pinned_);
    executions_[flying.to]->take(std::move(parcel), *posts_[flying.to], false);
    return true;
  }

  const NamedRequest& named_;
  const Sizes& sizes_;
  Random random_;
  Nowhere nowhere_;
  int pinned_ = 0;
  std::vector<FlyingMessage> flying_;
  std::deque<Words> inputs_, outputs_;
  std::vector<std::unique_ptr<Post>> posts_;
  std::vector<std::unique_ptr<Execution>> executions_;
};

TEST(Programs, EveryGeneratorGivesTheRightResult) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const NamedRequest& named : requests_of(ranks)) {
      if (named.request.operation == collective::Operation::kBarrier) continue;
      SCOPED_TRACE(describe(named));
      const collective::Schedule schedule = named.algorithm->make(named.request);
      for (const auto& [count, slices] :
           {std::pair{0u, 1u}, {1u, 1u}, {7u, 1u}, {101u, 1u}, {101u, 3u}}) {
        Sizes sizes{count, nullptr};
        if (has_pairs(named.request)) {
          sizes.pairs = std::make_shared<PairCounts>(named.request.pair_weights);
          for (std::uint64_t& pair : *sizes.pairs) pair *= count;
        }
        Play play(schedule, named, sizes, slices, count + slices);
        ASSERT_TRUE(play.run()) << count << " elements in " << slices;
        play.expect_right();
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Programs, MessagesAreNumberedAlikeOnBothSides) {
  for (const NamedRequest& named : requests_of(6)) {
    const auto programs = make_programs(named.algorithm->make(named.request));
    // By sender, receiver, lane and index: cells sent minus cells received.
    std::map<std::tuple<int, int, std::size_t, std::uint32_t>, std::vector<std::uint32_t>> open;
    for (const bool sending : {true, false}) {
      for (const EndpointProgram& program : programs) {
        for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
          for (const ProgramRound& round : program.lanes[lane]) {
            for (const auto* steps : {&round.sends, &round.steps}) {
              for (const Step& step : *steps) {
                const bool send = step.kind == collective::Kind::kSend;
                if (step.peers.empty() || send != sending) continue;
                std::vector<std::uint32_t> chunks;
                for (const Cell& c : send ? step.source : step.target) chunks.push_back(c.chunk);
                for (const int peer : step.peers) {
                  const auto key = send ? std::tuple(program.endpoint, peer, lane, step.index)
                                        : std::tuple(peer, program.endpoint, lane, step.index);
                  if (send) {
                    EXPECT_TRUE(open.emplace(key, chunks).second) << describe(named);
                  } else {
                    ASSERT_TRUE(open.contains(key)) << describe(named);
                    EXPECT_EQ(open[key], chunks) << describe(named);
                    open.erase(key);
                  }
                }
              }
            }
          }
        }
      }
    }
    EXPECT_TRUE(open.empty()) << describe(named);
  }
}

}  // namespace
}  // namespace weft::runtime
