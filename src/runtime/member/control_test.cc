#include "runtime/member/control.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

MemberInfo member(MemberId id, int seat) {
  return {id, seat, "boot/1/2/0", "10.0.0.1:4000", "[::1]:4001", "17/4/5"};
}
View view() { return {3, 7, {member(0, 0), member(9, 2), member(4, 5)}}; }

const ControlMessage kControlMessages[] = {
    Ready{4, ballot_of(3, 9), member(1, -1), {}},
    Ready{0xffffffff, ~0ull, member(0xffffffff, 4096), Accepted{ballot_of(1, 2), view()}},
    Propose{{ballot_of(5, 1), view()}},
    Accept{ballot_of(7, 0), 8},
    Commit{view()},
    LifeNotice{3, Life::kDead, "connection reset"},
    LifeNotice{3, Life::kUnreachable, ""},
    Broken{5, 70000, "rank 1 called \"x\"\n"},
    Join{member(12, -1)},
    Fenced{9},
    Leaving{},
    Reforming{70000, "rank 3 asked"},
    Progress{false, 0, 1, {}},
    Progress{true, 2, 3, {{0, 5}, {0xffffffff, 0xffffffff}}},
};

TEST(Control, EveryMessageSurvivesTheWay) {
  for (const ControlMessage& message : kControlMessages) {
    const auto back = control_from(to_text(message));
    ASSERT_TRUE(back.ok()) << to_text(message) << ": " << back.error().what;
    EXPECT_TRUE(*back == message) << to_text(message);
  }
}

TEST(Control, WordsInAnyEncodingTravel) {
  const auto back = control_from(to_text(ControlMessage{Broken{0, 0, "\xff\xfe"}}));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_FALSE(std::get<Broken>(*back).why.empty());
}

TEST(Control, WhatIsWrongIsRefused) {
  const char* const wrong[] = {
      "",
      "7",
      "[]",
      "{}",
      R"({"is":7})",
      R"({"is":"nonsense"})",
      R"({"is":"accept"})",
      R"({"is":"accept","round":-1,"number":1})",
      R"({"is":"accept","round":1,"number":4294967296})",
      R"({"is":"accept","round":1.5,"number":1})",
      R"({"is":"verdict","member":1,"life":3,"why":""})",
      R"({"is":"verdict","member":1,"life":1,"why":7})",
      R"({"is":"commit","view":"{}"})",
      R"({"is":"commit","view":{}})",
      R"({"is":"join","info":"x"})",
      R"({"is":"ready","number":1,"pledge":1,"info":"{}"})",
      R"({"is":"progress","answer":1,"group":0,"epoch":0,"streams":[]})",
      R"({"is":"progress","answer":true,"group":0,"epoch":0,"streams":[[1]]})",
      R"({"is":"progress","answer":true,"group":0,"epoch":0,"streams":[[1,-2]]})",
      R"({"is":"progress","answer":true,"group":0,"epoch":0,"streams":[[4294967296,1]]})",
  };
  for (const char* text : wrong) EXPECT_FALSE(control_from(text).ok()) << text;
}

TEST(View, SurvivesTheWay) {
  const auto back = view_from(to_text(view()));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(*back, view());
  EXPECT_EQ(back->rank_of(4), 2);
  EXPECT_EQ(back->rank_of(5), -1);
  EXPECT_EQ(back->epoch(), (3u << 20) | 7u);
  const auto info = member_from(to_text(member(8, -1)));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(*info, member(8, -1));
}

TEST(View, WhatIsWrongIsRefused) {
  const auto text_of = [](auto change) {
    View wrong = view();
    change(wrong);
    return to_text(wrong);
  };
  const std::string wrong[] = {
      "",
      "{}",
      "[1]",
      text_of([](View& v) { v.members.clear(); }),
      text_of([](View& v) { v.job_epoch = kMostJobEpochs + 1; }),
      text_of([](View& v) { v.number = kMostMemberships + 1; }),
      text_of([](View& v) { v.members[1].seat = 0; }),
      text_of([](View& v) { v.members[0].seat = -1; }),
      text_of([](View& v) { v.members[2].id = 0; }),
      text_of([](View& v) { v.members[2].seat = kMostMembers + 1; }),
      text_of([](View& v) { v.members[0].host = std::string(5000, 'x'); }),
      text_of([](View& v) { v.links.same_host.message_s = 0; }),
      text_of([](View& v) { v.links.add_bytes_per_s = -1; }),
      R"({"job_epoch":0,"number":0,"members":[7]})",
      R"({"job_epoch":0,"number":0,"members":[{"id":1}]})",
      R"({"job_epoch":0,"number":18446744073709551615,"members":[]})",
  };
  for (const std::string& text : wrong) EXPECT_FALSE(view_from(text).ok()) << text;
  std::string huge = to_text(member(8, 77));
  huge.replace(huge.find("77"), 2, "18446744073709551615");
  EXPECT_FALSE(member_from(huge).ok()) << huge;
}

}  // namespace
}  // namespace weft::runtime
