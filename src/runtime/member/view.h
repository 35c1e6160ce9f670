// Who belongs to the group: the value that members agree on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/links.h"
#include "runtime/transport.h"

namespace weft::runtime {

// How to reach a member.
struct MemberInfo {
  MemberId id = 0;
  int seat = -1;        // -1: of one that waits to join, not given yet
  std::string host;     // the same text: can share memory
  std::string control;  // host:port
  std::string data;     // host:port
  std::string segment;  // its shared memory for the membership that begins; "": none
  bool operator==(const MemberInfo&) const = default;
};

struct View {
  std::uint32_t job_epoch = 0;
  std::uint32_t number = 0;
  std::vector<MemberInfo> members;  // by rank, which is by seat
  LinkSpeeds links = {};            // by which all of them choose algorithms

  std::uint32_t epoch() const { return (job_epoch << 20) | number; }
  // -1: it is none.
  int rank_of(MemberId id) const;
  const MemberInfo* find(MemberId id) const;
  bool operator==(const View&) const = default;
};
inline constexpr std::uint32_t kMostMemberships = (1u << 20) - 1, kMostJobEpochs = (1u << 12) - 1;
inline constexpr int kMostMembers = 4096;

std::string to_text(const MemberInfo& info);
std::string to_text(const View& view);
// From another process: every field is checked.
Result<MemberInfo> member_from(std::string_view text);
Result<View> view_from(std::string_view text);

}  // namespace weft::runtime
