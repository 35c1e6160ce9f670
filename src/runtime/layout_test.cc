#include "runtime/layout.h"

#include <gtest/gtest.h>

#include "runtime/program_testing.h"

namespace weft::runtime {
namespace {

using collective::Buffer;

// How often the cells of a buffer name each of its elements, over all slices.
std::vector<int> covered(const Layout& layout, const collective::Schedule& schedule, int rank,
                         Buffer buffer, std::uint64_t length) {
  std::vector<int> times(length, 0);
  for (std::uint32_t slice = 0; slice < layout.slices(); ++slice) {
    const auto cells = collective::cells_in(schedule, rank, buffer);
    for (std::int64_t c = 0; c < cells; ++c) {
      const auto chunk = collective::chunk_at(schedule, rank, buffer, c);
      const Layout::Range range = layout.at(
          slice, {buffer, static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(chunk)});
      EXPECT_EQ(range.count, layout.count_of(slice, static_cast<std::uint32_t>(chunk)));
      for (std::uint64_t i = 0; i < range.count; ++i) {
        if (range.first + i < length) {
          ++times[range.first + i];
        } else {
          ADD_FAILURE() << "element " << range.first + i << " of " << length;
          return times;
        }
      }
    }
  }
  return times;
}

TEST(Layout, EveryElementBelongsToOneCellOfOneSlice) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const NamedRequest& named : requests_of(ranks)) {
      if (named.request.operation == collective::Operation::kBarrier || has_pairs(named.request))
        continue;
      const collective::Schedule schedule = named.algorithm->make(named.request);
      const auto programs = make_programs(schedule);
      for (const std::uint64_t count : {0u, 1u, 17u, 1009u, 20011u}) {
        for (const std::uint32_t slices : {1u, 2u, 7u}) {
          for (const std::size_t width : {1u, 2u, 8u}) {
            SCOPED_TRACE(describe(named) + fmt::format(", {} x {} in {}", count, width, slices));
            const int rank = ranks - 1;
            const Layout layout(programs[static_cast<std::size_t>(rank)], count, width, slices,
                                nullptr);
            for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
              const auto whole = count * static_cast<std::uint64_t>(ranks);
              const bool parts =
                  named.request.operation == collective::Operation::kAllToAll ||
                  named.request.operation == (buffer == Buffer::kInput
                                                  ? collective::Operation::kReduceScatter
                                                  : collective::Operation::kAllGather);
              if (collective::cells_in(schedule, rank, buffer) == 0) continue;
              const auto times = covered(layout, schedule, rank, buffer, parts ? whole : count);
              ASSERT_EQ(times, std::vector<int>(times.size(), 1));
            }
          }
        }
      }
    }
  }
}

TEST(Layout, ScratchHasRoomForEveryChunkOfEverySlice) {
  for (const NamedRequest& named : requests_of(6)) {
    if (named.request.operation == collective::Operation::kBarrier || has_pairs(named.request))
      continue;
    for (const EndpointProgram& program : make_programs(named.algorithm->make(named.request))) {
      if (program.scratch_cells == 0) continue;
      for (const std::uint64_t count : {1u, 1009u, 20011u}) {
        const Layout layout(program, count, 4, 3, nullptr);
        const auto stride = layout.at(0, {Buffer::kScratch, 1, 0}).first -
                            layout.at(0, {Buffer::kScratch, 0, 0}).first;
        for (std::uint32_t slice = 0; slice < 3; ++slice) {
          for (std::uint32_t chunk = 0; chunk < program.chunks.count; ++chunk) {
            EXPECT_LE(layout.count_of(slice, chunk), stride) << describe(named) << ", " << count;
          }
        }
      }
    }
  }
}

TEST(Layout, SlicesKeepMessagesSmall) {
  constexpr std::size_t kMost = 4096;
  for (const NamedRequest& named : requests_of(5)) {
    if (named.request.operation == collective::Operation::kBarrier || has_pairs(named.request))
      continue;
    const auto programs = make_programs(named.algorithm->make(named.request));
    for (const std::uint64_t count : {1u, 1000u, 100'003u}) {
      const std::uint32_t slices = slices_for(programs[0], count, 4, nullptr, kMost, 0);
      for (const EndpointProgram& program : programs) {
        EXPECT_EQ(slices_for(program, count, 4, nullptr, kMost, 0), slices) << describe(named);
        const Layout layout(program, count, 4, slices, nullptr);
        for (const auto& lane : program.lanes) {
          for (const ProgramRound& round : lane) {
            for (const Step& step : round.sends) {
              ASSERT_LE(layout.bytes_of(0, step.source), kMost) << describe(named);
              ASSERT_LE(layout.bytes_of(slices - 1, step.source), kMost) << describe(named);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::runtime
