#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sync/machine.h"
#include "sync/state_text.h"

namespace weft::sync {
namespace {

constexpr std::string_view kRankHeading = "weft-sync-rank 1";
constexpr std::size_t kNumbersOfOperation = 8;

}  // namespace

std::string Machine::save() const {
  // Gradients are not saved: the rank that restores takes that step again.
  const bool untaken = !under_way_.empty() && under_way_.front().action.what == What::kGradients;
  std::string text = fmt::format("{}\nmode {}\n", kRankHeading, mode_text(mode_));
  text += fmt::format("step {}\nround {}\nperiod {}\n", step_ - (untaken ? 1 : 0), round_, period_);
  text += fmt::format("agreed {}\nfirst_loss {}\n", agreed_ ? 1 : 0, first_loss_);
  text += untaken ? "sums 0 0 0\n" : fmt::format("sums {} {} {}\n", loss_sum_, lr_, lr_sum_);
  text += fmt::format("due {}\nsince {}\n", fmt::join(due_, " "), fmt::join(since_, " "));
  text += fmt::format("operations {}\n", untaken ? 0 : under_way_.size());
  for (const Operation& operation : under_way_) {
    if (untaken) break;
    const Action& a = operation.action;
    text += fmt::format("operation {} {} {} {} {} {} {} {}\n", static_cast<int>(a.what), a.fragment,
                        a.step, a.steps, a.weight > 0 ? 1 : 0, a.loss, a.lr, a.lr_sum);
  }
  return seal(std::move(text));
}

Result<Machine> Machine::restore(std::string_view saved, std::vector<Member> members,
                                 std::uint32_t self, std::uint32_t epoch) {
  StateReader reader(saved, kRankHeading);
  const auto mode = parse_mode(reader.line("mode"));
  if (!mode.ok()) {
    reader.refuse(mode.error().what);
    return *reader.finish();
  }
  Result<Machine> made = make(*mode, std::move(members), self, epoch);
  if (!made.ok()) return made;
  Machine& m = *made;
  m.step_ = reader.whole("step", 0, kMostInState);
  m.round_ = reader.whole("round", 0, kMostInState);
  m.period_ = static_cast<std::uint32_t>(reader.whole("period", 1, mode->period));
  m.agreed_ = reader.whole("agreed", 0, 1) == 1;
  m.first_loss_ = reader.number("first_loss");
  const std::vector<double> sums = reader.numbers("sums", 3);
  if (sums.size() == 3) m.loss_sum_ = sums[0], m.lr_ = sums[1], m.lr_sum_ = sums[2];
  m.due_ = reader.wholes("due", mode->fragments, kMostInState);
  m.since_ = reader.wholes("since", mode->fragments, kMostInState);
  if (sums.size() != 3 || m.due_.size() != mode->fragments || m.since_.size() != mode->fragments) {
    reader.refuse(fmt::format("it must hold 3 sums and {} fragments", mode->fragments));
  }
  const std::uint64_t now = std::max<std::uint64_t>(m.step_, mode->warmup);
  for (std::size_t p = 0; p < m.due_.size() && p < m.since_.size(); ++p) {
    if (m.since_[p] > now || m.due_[p] > now + mode->period + kUnbounded) {
      reader.refuse("a fragment was exchanged, or will be, at a step that cannot be");
    }
  }
  const std::uint64_t count =
      reader.whole("operations", 0, (mode->eager ? 2 : 1) * std::uint64_t{mode->fragments});
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::vector<double> v = reader.numbers("operation", kNumbersOfOperation);
    const bool whole =
        v.size() == kNumbersOfOperation && std::all_of(v.begin(), v.begin() + 5, [](double x) {
          return x >= 0 && x <= static_cast<double>(kMostInState) &&
                 x == static_cast<double>(static_cast<std::uint64_t>(x));
        });
    if (!whole || (v[0] != 1 && v[0] != 2) || v[1] >= mode->fragments ||
        v[2] > static_cast<double>(m.step_) || v[3] > v[2] || v[3] >= kUnbounded) {
      reader.refuse("an operation under way has values that cannot be");
      break;
    }
    Action action;
    action.what = static_cast<What>(v[0]);
    action.fragment = static_cast<std::uint32_t>(v[1]);
    action.step = static_cast<std::uint64_t>(v[2]);
    action.steps = static_cast<std::uint32_t>(v[3]);
    action.weight = v[4];
    action.loss = v[5], action.lr = v[6], action.lr_sum = v[7];
    m.under_way_.push_back({action, m.step_, false, {}});
  }
  if (auto error = reader.finish()) return *error;
  if (m.me().steps > 0) m.due_[0] = m.since_[0] + m.me().steps;
  return made;
}

Result<Actions> Machine::adopt(std::string_view saved) {
  CHECK(pause_ == Pause::kAdoption);
  members_[place()].joining = false;
  Result<Machine> other = restore(saved, members_, self_, epoch_);
  if (!other.ok()) return other.error();
  if (other->mode_ != mode_) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the state to adopt is of sync mode '{}'; this rank runs '{}'",
                             mode_text(other->mode_), mode_text(mode_)),
                 "give all ranks the same mode"};
  }
  *this = std::move(*other);
  Actions out;
  resume(out);
  return out;
}

}  // namespace weft::sync
