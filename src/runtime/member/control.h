// What members say to each other outside of operations, as JSON in frames of control connections.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "runtime/member/reform.h"

namespace weft::runtime {

// A member is lost, or is alive after all. Passed on to everybody.
struct LifeNotice {
  MemberId member = 0;
  Life life = Life::kAlive;
  std::string why;
  bool operator==(const LifeNotice&) const = default;
};
// An operation failed in a way that the others cannot see. Passed on to everybody.
struct Broken {
  std::uint32_t group = 0, epoch = 0;
  std::string why;
  bool operator==(const Broken&) const = default;
};
// Somebody asks for a new membership, so what is under way in this one may never end. Passed on to
// everybody.
struct Reforming {
  std::uint32_t epoch = 0;
  std::string why;
  bool operator==(const Reforming&) const = default;
};
// A process wants to be taken in. Passed on to everybody.
struct Join {
  MemberInfo info;
  bool operator==(const Join&) const = default;
};
// The receiver is not a member any more.
struct Fenced {
  std::uint32_t number = 0;  // of the membership that goes on without it
  bool operator==(const Fenced&) const = default;
};
// The sender leaves of its own will.
struct Leaving {
  bool operator==(const Leaving&) const = default;
};
// How far the receiver is: asked when an operation is late, which the question names by its stream
// and sequence, so that the receiver also saves its stacks. The answer lists the next sequence of
// each stream.
struct Progress {
  bool answer = false;
  std::uint32_t group = 0, epoch = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> streams;  // stream, next sequence
  bool operator==(const Progress&) const = default;
};

using ControlMessage = std::variant<Ready, Propose, Accept, Commit, LifeNotice, Broken, Join,
                                    Fenced, Leaving, Progress, Reforming>;

std::string to_text(const ControlMessage& message);
// From another process: every field is checked.
Result<ControlMessage> control_from(std::string_view text);

}  // namespace weft::runtime
