// Whatever the bytes are, reading them as a control message or a membership gives a sound value,
// which survives being written and read again, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "runtime/member/control.h"

namespace {

void expect_sound(const weft::runtime::View& view) {
  CHECK(!view.members.empty());
  CHECK(view.number <= weft::runtime::kMostMemberships);
  CHECK(view.job_epoch <= weft::runtime::kMostJobEpochs);
  int seat = -1;
  for (const weft::runtime::MemberInfo& member : view.members) {
    CHECK(member.seat > seat);
    seat = member.seat;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft::runtime;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto message = control_from(text);
  if (message.ok()) {
    if (const auto* commit = std::get_if<Commit>(&*message)) expect_sound(commit->view);
    if (const auto* propose = std::get_if<Propose>(&*message)) expect_sound(propose->value.view);
    const auto again = control_from(to_text(*message));
    CHECK(again.ok() && *again == *message);
  } else {
    CHECK(!message.error().what.empty());
  }
  const auto view = view_from(text);
  if (view.ok()) {
    expect_sound(*view);
    const auto again = view_from(to_text(*view));
    CHECK(again.ok() && *again == *view);
  }
  return 0;
}
