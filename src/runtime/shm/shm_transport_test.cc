#include "runtime/shm/shm_transport.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace weft::runtime {
namespace {

using testing::HasSubstr;

struct Member {
  explicit Member(MemberId id)
      : bell(SharedBell::create().value()),
        segment(Segment::create(id, bell).value()),
        transport(std::make_unique<ShmTransport>(id, segment)) {}
  SharedBell bell;
  Segment segment;
  std::unique_ptr<ShmTransport> transport;
};

class ShmTransportTest : public testing::Test {
 protected:
  void start(MemberId count) {
    for (MemberId id = 0; id < count; ++id) members_.push_back(std::make_unique<Member>(id));
    for (MemberId a = 0; a < count; ++a) {
      for (MemberId b = 0; b < count; ++b) {
        if (a == b) continue;
        const Status attached = at(a).attach(b, members_[b]->segment.where());
        ASSERT_TRUE(attached.ok()) << attached.error().what;
      }
    }
  }
  ShmTransport& at(MemberId id) { return *members_[id]->transport; }
  Segment& segment(MemberId id) { return members_[id]->segment; }

  // Whether there was room.
  bool send(MemberId from, const std::vector<MemberId>& to, std::uint32_t index,
            std::uint32_t bytes = 100) {
    std::byte* room = at(from).reserve(to, bytes, false).at;
    if (room == nullptr) return false;
    std::memset(room, static_cast<int>(index), bytes);
    Header header;
    header.index = index;
    header.bytes = bytes;
    at(from).post(room, to, header);
    return true;
  }
  std::optional<Message> receive(MemberId id) {
    Message message;
    if (!at(id).poll(message)) return std::nullopt;
    for (std::uint32_t i = 0; i < message.header.bytes; ++i) {
      EXPECT_EQ(message.payload[i], static_cast<std::byte>(message.header.index));
    }
    return message;
  }

  std::vector<std::unique_ptr<Member>> members_;
};

TEST_F(ShmTransportTest, MessagesArriveInOrderWithTheirHeader) {
  start(2);
  for (std::uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(send(0, {1}, i, i * 1000));
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto message = receive(1);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->from, 0u);
    EXPECT_EQ(message->header.index, i);
    EXPECT_EQ(message->header.bytes, i * 1000);
    at(1).release(*message);
  }
  EXPECT_FALSE(receive(1));
  EXPECT_EQ(at(0).counts().messages_sent, 10u);
  EXPECT_EQ(at(1).counts().bytes_received, 45000u);
}

TEST_F(ShmTransportTest, OneCopyServesSeveralAndIsFreeWhenTheLastHasReadIt) {
  start(4);
  for (std::uint32_t i = 0; i < kSlots; ++i) ASSERT_TRUE(send(0, {1, 2, 3}, i));
  EXPECT_FALSE(send(0, {1}, 99)) << "all slots are taken";
  std::vector<Message> held;
  for (const MemberId reader : {1u, 2u, 3u}) {
    const auto message = receive(reader);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->header.index, 0u);
    held.push_back(*message);
  }
  at(1).release(held[0]);
  at(3).release(held[2]);
  EXPECT_FALSE(send(0, {1}, 99)) << "one still reads";
  at(2).release(held[1]);
  EXPECT_TRUE(send(0, {1}, 99));
}

TEST_F(ShmTransportTest, AFullRingHoldsTheSenderUntilAnEntryIsTaken) {
  start(2);
  std::uint32_t sent = 0;
  while (send(0, {1}, sent)) ASSERT_LT(++sent, 1000u);
  EXPECT_EQ(sent, std::min(kSlots, kRingEntries));
  // Every message passes once, far beyond the length of the ring.
  for (std::uint32_t i = 0; i < 500; ++i) {
    const auto message = receive(1);
    ASSERT_TRUE(message);
    ASSERT_EQ(message->header.index, i);
    at(1).release(*message);
    ASSERT_TRUE(send(0, {1}, sent++));
  }
}

TEST_F(ShmTransportTest, WhoWaitsForRoomIsRungWhenThereIsSome) {
  start(2);
  while (send(0, {1}, 1)) {
  }
  Doorbell bell = members_[0]->bell.bell();
  const std::uint32_t seen = bell.announce();
  const auto message = receive(1);
  ASSERT_TRUE(message);
  at(1).release(*message);
  EXPECT_NE(members_[0]->bell.bell().announce(), seen);
}

TEST_F(ShmTransportTest, ForgettingAMemberFreesWhatItHasNotRead) {
  start(3);
  for (std::uint32_t i = 0; i < kSlots; ++i) ASSERT_TRUE(send(0, {1}, i));
  EXPECT_FALSE(send(0, {2}, 7));
  at(0).forget(1);
  EXPECT_FALSE(at(0).reaches(1));
  EXPECT_TRUE(send(0, {2}, 7));
  EXPECT_TRUE(send(0, {1, 2}, 8)) << "who is gone is skipped";
  EXPECT_EQ(receive(2)->header.index, 7u);
  EXPECT_EQ(receive(2)->header.index, 8u);
}

TEST_F(ShmTransportTest, WhatAForgottenMemberSentStaysReadable) {
  start(2);
  ASSERT_TRUE(send(0, {1}, 42));
  const auto message = receive(1);
  ASSERT_TRUE(message);
  ASSERT_TRUE(send(0, {1}, 43));
  at(1).forget(0);
  EXPECT_FALSE(receive(1)) << "what it sent later is dropped";
  EXPECT_EQ(message->payload[99], std::byte{42});
  at(1).release(*message);
}

TEST_F(ShmTransportTest, GarbageInAPeersRingIsRefused) {
  start(2);
  const auto announce = [&](std::uint32_t slot, std::uint32_t bytes, std::uint32_t position) {
    for (Ring& ring : segment(1)->rings) {
      if (ring.sender.load() != 1) continue;
      Header header;
      header.bytes = bytes;
      RingEntry& entry = ring.entries[position % kRingEntries];
      entry.slot = slot;
      std::memcpy(entry.header, &header, sizeof(entry.header));
      entry.turn.store(position + 1);
    }
  };
  announce(kSlots, 10, 0);
  announce(kNoSlot, 10, 1);
  announce(0, kSlotBytes + 1, 2);
  announce(3, kSlotBytes, 3);
  Message message;
  int good = 0;
  for (int i = 0; i < 10; ++i) good += at(1).poll(message) ? 1 : 0;
  EXPECT_EQ(good, 1);
  EXPECT_EQ(message.token, 3u);
}

TEST_F(ShmTransportTest, RingsAreClaimedAgainOnlyByOthers) {
  start(2);
  EXPECT_TRUE(at(0).attach(1, segment(1).where()).ok()) << "a second time changes nothing";
  EXPECT_EQ(at(0).counts().connections, 1u);
  for (Ring& ring : segment(1)->rings) {
    std::uint32_t nobody = 0;
    ring.sender.compare_exchange_strong(nobody, 77);
  }
  Member other(5);
  const Status refused = other.transport->attach(1, segment(1).where());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, HasSubstr("already hears 64 processes"));
}

TEST(Segment, OpensOnlyWhatASegmentOfThatMemberIs) {
  const Member member(3);
  const std::string where = member.segment.where();
  EXPECT_TRUE(Segment::open(where, 3).ok());
  EXPECT_FALSE(Segment::open(where, 4).ok()) << "of another member";
  for (const char* wrong : {"", "1", "1/2", "1/2/3/4", "a/b/c", "../../1/2", "1//2", "-1/2/3",
                            "9999999999/1/1", "1/2/3 ", "0/0/0"}) {
    EXPECT_FALSE(Segment::open(wrong, 3).ok()) << "'" << wrong << "'";
  }
  const auto parts_end = where.rfind('/');
  const std::string bell = where.substr(parts_end + 1);
  const std::string pid = where.substr(0, where.find('/'));
  EXPECT_FALSE(Segment::open(fmt::format("{}/{}/{}", pid, bell, bell), 3).ok())
      << "the bell is not a segment";
  EXPECT_FALSE(Segment::open(fmt::format("{}/0/{}", pid, bell), 3).ok()) << "not shared memory";
  const auto other = SharedPages::create(sizeof(SegmentMap));
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(Segment::open(fmt::format("{}/{}/{}", pid, other->descriptor(), bell), 3).ok())
      << "without its first words";
}

}  // namespace
}  // namespace weft::runtime
