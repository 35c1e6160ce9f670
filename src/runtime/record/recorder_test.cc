#include "runtime/record/recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace weft::runtime {
namespace {

Event event(std::int64_t time_ns) {
  Event event;
  event.time_ns = time_ns;
  event.bytes = static_cast<std::uint64_t>(time_ns) * 3;
  event.sequence = static_cast<std::uint32_t>(time_ns);
  return event;
}

TEST(RecorderTest, ForgetsWhatCameBefore) {
  Recorder recorder(4);
  Event event;
  for (event.sequence = 0; event.sequence < 6; ++event.sequence) recorder.add(event);
  recorder.forget();
  EXPECT_TRUE(recorder.events().empty());
  EXPECT_EQ(recorder.recorded(), 0u);
  recorder.add(event);
  ASSERT_EQ(recorder.events().size(), 1u);
  EXPECT_EQ(recorder.events()[0].sequence, 6u);
  EXPECT_EQ(recorder.recorded(), 1u);
}

TEST(RecorderTest, KeepsTheLastEventsInOrder) {
  Recorder recorder(8);
  EXPECT_TRUE(recorder.events().empty());
  for (int i = 1; i <= 21; ++i) recorder.add(event(i));
  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    Event want = event(static_cast<std::int64_t>(14 + i));
    want.thread = static_cast<std::uint32_t>(gettid());
    EXPECT_EQ(events[i], want);
  }
  EXPECT_EQ(recorder.recorded(), 21u);
}

TEST(RecorderTest, ThreadsWriteAtOnceAndNoEventIsTorn) {
  Recorder recorder(256);
  constexpr int kThreads = 4, kEvents = 20'000;
  std::vector<std::thread> threads;
  std::atomic<int> running = kThreads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEvents; ++i) recorder.add(event(t * kEvents + i + 1));
      --running;
    });
  }
  std::size_t seen = 0;
  while (running > 0 || seen == 0) {
    for (const Event& read : recorder.events()) {
      ++seen;
      ASSERT_EQ(read.bytes, static_cast<std::uint64_t>(read.time_ns) * 3);
      ASSERT_EQ(read.sequence, static_cast<std::uint32_t>(read.time_ns));
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(recorder.recorded(), static_cast<std::uint64_t>(kThreads) * kEvents);
  EXPECT_EQ(recorder.events().size(), 256u);
}

Recording sample() {
  Recording recording;
  recording.rank = 2;
  recording.ranks = 4;
  recording.member = 7;
  recording.job = 99;
  recording.recorded = 5;
  recording.clock_offset_ns = -3;
  for (int i = 1; i <= 3; ++i) recording.events.push_back(event(i));
  recording.events[1].kind = EventKind::kWaitEnd;
  recording.events[1].operation = 3;
  return recording;
}

TEST(RecordingTest, ReadsWhatWasWritten) {
  const std::string text = encode(sample());
  EXPECT_EQ(text.size(), kRecordingHeaderBytes + 3 * sizeof(Event));
  const auto read = decode_recording(view_of(text));
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(*read, sample());
}

TEST(RecordingTest, RefusesWhatIsNotARecording) {
  struct Row {
    const char* sentence;
    std::size_t at;
    char byte;
    const char* want;
  };
  const Row rows[] = {
      {"another magic", 0, 'X', "does not begin as a recording"},
      {"another version", 8, 2, "version is 2"},
      {"another width", 12, 48, "48 bytes an event"},
      {"a rank that does not exist", 16, 4, "rank 4 of 4"},
      {"spare bytes in the header", 28, 1, "its version"},
      {"more events than recorded", 40, 1, "3 events of 1 recorded"},
      {"more events than bytes", 48, 4, "4 events of 5 recorded, but holds 120 bytes"},
      {"a number of events that overflows", 55, 127, "events of 5 recorded"},
      {"a negative time", kRecordingHeaderBytes + 7, -1, "event 0 happened at"},
      {"an unknown kind", kRecordingHeaderBytes + 36, 9, "kind 9; there are 0 .. 8"},
      {"an unknown operation", kRecordingHeaderBytes + 40 + 37, 8, "event 1 is of operation 8"},
      {"spare bytes in an event", kRecordingHeaderBytes + 39, 1, "event 0 has its spare"},
  };
  for (const Row& row : rows) {
    std::string text = encode(sample());
    text[row.at] = row.byte;
    const auto read = decode_recording(view_of(text));
    ASSERT_FALSE(read.ok()) << row.sentence;
    EXPECT_NE(read.error().what.find(row.want), std::string::npos)
        << row.sentence << ": " << read.error().what;
  }
  const std::string whole = encode(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_recording(view_of(whole.substr(0, size))).ok()) << size;
  }
  EXPECT_FALSE(decode_recording(view_of(whole + "x")).ok());
}

}  // namespace
}  // namespace weft::runtime
