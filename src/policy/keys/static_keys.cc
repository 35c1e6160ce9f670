// Keys that are fixed when a job is submitted.
#include "policy/keys/keys.h"

namespace weft {
namespace {

class ArrivalKey : public Key {
 public:
  KeyValue of(const State&, const JobState& job) const override { return {job.submit, 0, 0}; }
};

class PriorityKey : public Key {
 public:
  KeyValue of(const State&, const JobState& job) const override {
    return {-static_cast<double>(job.spec->priority), job.submit, 0};
  }
};

class DeadlineKey : public Key {
 public:
  KeyValue of(const State&, const JobState& job) const override {
    return {job.spec->deadline, job.submit, 0};
  }
};

}  // namespace

std::unique_ptr<Key> arrival_key() { return std::make_unique<ArrivalKey>(); }
std::unique_ptr<Key> priority_key() { return std::make_unique<PriorityKey>(); }
std::unique_ptr<Key> deadline_key() { return std::make_unique<DeadlineKey>(); }

}  // namespace weft
