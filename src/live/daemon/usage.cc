#include "live/daemon/usage.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/files.h"

namespace weft::live {

Status UsageFold::take(const Record& record) {
  through_ = record.seq;
  since_ = std::min(since_, record.at);
  if (record.kind == RecordKind::kEvent) {
    const auto read = from_bytes<EventRecord>(record.body);
    if (!read) {
      return Error{ErrorKind::kInvalidInput, fmt::format("record {} is no event", record.seq), ""};
    }
    event(read->event);
  } else if (record.kind == RecordKind::kStep) {
    const auto read = from_bytes<StepRecord>(record.body);
    if (!read) {
      return Error{ErrorKind::kInvalidInput, fmt::format("record {} is no step", record.seq), ""};
    }
    for (const KeptCommand& c : read->commands) command(read->at, c);
  }
  return {};
}

void UsageFold::command(Seconds at, const KeptCommand& c) {
  pending_[c.job] = {c.number, c.kind};
  if (c.kind != CommandKind::kStart && c.kind != CommandKind::kResize) return;
  close(c.job, at);
  Stay stay{c.job, at, kNever, {}};
  for (const DeviceShare& share : c.allocation.devices) {
    if (share.device >= cluster_.device_count()) continue;
    const NodeId node = cluster_.node_of(share.device);
    if (stay.devices.empty() || stay.devices.back().first != node)
      stay.devices.push_back({node, 0});
    stay.devices.back().second += static_cast<double>(share.milli) / kWhole;
  }
  open_[c.job] = {stays_.size(), c.epoch};
  stays_.push_back(std::move(stay));
}

void UsageFold::event(const Event& e) {
  const auto held = open_.find(e.job);
  if (held == open_.end()) return;
  if (e.kind == EventKind::kWithdraw) return close(e.job, e.at);
  if (e.epoch != held->second.epoch) return;
  if (e.kind == EventKind::kFinished || e.kind == EventKind::kCrashed) return close(e.job, e.at);
  if (e.kind == EventKind::kLost) return lose(e);
  if (e.kind != EventKind::kOutcome) return;
  const auto pending = pending_.find(e.job);
  if (pending == pending_.end() || pending->second.first != e.number) return;
  const bool done = e.outcome == Outcome::kDone;
  const CommandKind kind = pending->second.second;
  if ((kind == CommandKind::kStop && done) || (kind == CommandKind::kStart && !done)) {
    close(e.job, e.at);
  }
}

void UsageFold::lose(const Event& lost) {
  const Open open = open_.at(lost.job);
  Stay left = stays_[open.stay];
  if (std::erase_if(left.devices, [&](const auto& on) { return on.first == lost.node; }) == 0) {
    return;
  }
  close(lost.job, lost.at);
  if (left.devices.empty()) return;
  left.from = lost.at;
  open_[lost.job] = {stays_.size(), open.epoch};
  stays_.push_back(std::move(left));
}

void UsageFold::close(JobId job, Seconds at) {
  const auto held = open_.find(job);
  if (held == open_.end()) return;
  stays_[held->second.stay].to = at;
  open_.erase(held);
}

Usage UsageFold::of(const Stay& stay, Seconds from, Seconds to) const {
  Usage sum;
  const Seconds begin = std::max(from, stay.from), end = std::min(to, stay.to);
  if (end <= begin) return sum;
  for (const auto& [node, devices] : stay.devices) {
    sum.device_s += devices * (end - begin);
    const std::vector<PriceStep>& prices = cluster_.prices[cluster_.nodes[node].price];
    for (std::size_t i = 0; i < prices.size(); ++i) {
      const Seconds until = i + 1 < prices.size() ? std::min(end, prices[i + 1].at) : end;
      const Seconds held = std::max(0.0, until - std::max(begin, prices[i].at));
      sum.cost += devices * held / kHour * prices[i].per_device_hour;
    }
  }
  return sum;
}

std::map<JobId, Usage> UsageFold::between(Seconds from, Seconds to) const {
  std::map<JobId, Usage> by_job;
  for (const Stay& stay : stays_) {
    const Usage used = of(stay, from, to);
    if (used.device_s > 0) by_job[stay.job] += used;
  }
  return by_job;
}

void UsageFold::forget_before(Seconds at) {
  std::vector<Stay> left;
  for (Stay& stay : stays_) {
    if (stay.to <= at) continue;
    if (const auto held = open_.find(stay.job); stay.to == kNever && held != open_.end()) {
      held->second.stay = left.size();
    }
    left.push_back(std::move(stay));
  }
  stays_ = std::move(left);
}

Status JournalTail::read(std::uint64_t after, const std::function<Status(const Record&)>& each) {
  if (database_ == nullptr) {
    auto opened = Database::open(path_in(folder_, "journal.db"), Database::Mode::kReadOnly);
    if (!opened.ok()) return opened.error();
    database_ = std::move(*opened);
  }
  if (after == 0) {
    Statement first(*database_, "SELECT min(seq) FROM records");
    if (first.step() && first.number(0) > 0)
      after = static_cast<std::uint64_t>(first.number(0)) - 1;
  }
  return read_records(*database_, folder_, after, each);
}

Result<UsageBook::Page> UsageBook::look(Seconds from, Seconds to) {
  const std::lock_guard lock(mutex_);
  const Status read =
      tail_.read(fold_.through(), [&](const Record& record) { return fold_.take(record); });
  if (!read.ok()) return read.error();
  return Page{fold_.between(from, to), fold_.since() == kNever ? to : fold_.since()};
}

}  // namespace weft::live
