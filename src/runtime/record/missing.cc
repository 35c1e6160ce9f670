#include "runtime/record/missing.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace weft::runtime {
namespace {

constexpr std::size_t kMostAsked = 64;  // operations kept
constexpr std::size_t kMostNamed = 8;

struct Behind {
  int rank = 0;
  std::uint32_t next = 0;  // sequence that it would enter
};

std::string sentence(const Behind& behind, const OperationSpec& spec) {
  const std::string entered = behind.next == 0
                                  ? "it has entered none"
                                  : fmt::format("it last entered number {}", behind.next - 1);
  return fmt::format("rank {} has not entered {} number {} of stream {}; {}", behind.rank,
                     name_of(spec.call.operation), spec.key.sequence, spec.key.stream, entered);
}

}  // namespace

Progress Missing::ask(const OperationSpec& spec) {
  const std::lock_guard lock(mutex_);
  if (find(spec.key) == nullptr) {
    if (asked_.size() == kMostAsked) asked_.erase(asked_.begin());
    asked_.push_back({spec.key, {}});
  }
  return {false, spec.key.group, spec.key.epoch, {{spec.key.stream, spec.key.sequence}}};
}

const Missing::Asked* Missing::find(const OperationKey& key) const {
  const auto found = std::find_if(asked_.begin(), asked_.end(),
                                  [&](const Asked& asked) { return asked.key == key; });
  return found == asked_.end() ? nullptr : &*found;
}

void Missing::answer(MemberId from, const Progress& progress) {
  const std::lock_guard lock(mutex_);
  for (Asked& asked : asked_) {
    if (asked.key.group != progress.group || asked.key.epoch != progress.epoch) continue;
    std::uint32_t& next = asked.answers[from];
    for (const auto& [stream, sequence] : progress.streams) {
      if (stream == asked.key.stream) next = std::max(next, sequence);
    }
  }
  answered_.notify_all();
}

std::string Missing::in_words(const OperationSpec& spec) const {
  const std::lock_guard lock(mutex_);
  const Asked* asked = find(spec.key);
  if (asked == nullptr) return "";
  std::vector<Behind> behind;
  std::vector<int> silent;
  for (std::size_t rank = 0; rank < spec.members->size(); ++rank) {
    if (static_cast<int>(rank) == spec.rank) continue;
    const auto answer = asked->answers.find((*spec.members)[rank]);
    if (answer == asked->answers.end()) {
      silent.push_back(static_cast<int>(rank));
    } else if (answer->second <= spec.key.sequence) {
      behind.push_back({static_cast<int>(rank), answer->second});
    }
  }
  std::stable_sort(behind.begin(), behind.end(),
                   [](const Behind& a, const Behind& b) { return a.next < b.next; });
  std::string text;
  for (std::size_t i = 0; i < std::min(behind.size(), kMostNamed); ++i) {
    text += (text.empty() ? "" : "; ") + sentence(behind[i], spec);
  }
  if (behind.size() > kMostNamed) text += fmt::format("; and {} more", behind.size() - kMostNamed);
  if (!silent.empty()) {
    text += fmt::format("{}rank{} {} did not answer when asked", text.empty() ? "" : "; ",
                        silent.size() == 1 ? "" : "s", fmt::join(silent, ", "));
  }
  return text;
}

void Missing::await(const OperationSpec& spec, Seconds at_most) {
  std::unique_lock lock(mutex_);
  answered_.wait_for(lock, std::chrono::duration<double>(at_most), [&] {
    const Asked* asked = find(spec.key);
    return asked == nullptr || asked->answers.size() + 1 >= spec.members->size();
  });
}

}  // namespace weft::runtime
