// How long jobs have held devices and what that cost, as the journal tells.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "live/store/journal.h"
#include "live/store/records.h"
#include "model/cluster.h"

namespace weft::live {

struct Usage {
  double device_s = 0;
  double cost = 0;  // in the currency of the cluster's prices
  Usage& operator+=(const Usage& other) {
    device_s += other.device_s;
    cost += other.cost;
    return *this;
  }
};

// Folds records into stays: a job holds devices from the command that gives them until its end, its
// crash or the confirmed stop. Not thread-safe.
class UsageFold {
 public:
  // Requires: the cluster outlives this.
  explicit UsageFold(const Cluster& cluster) : cluster_(cluster) {}

  // In the order of the journal.
  Status take(const Record& record);
  // What was used between two moments, by job; nobody who used nothing.
  std::map<JobId, Usage> between(Seconds from, Seconds to) const;
  // The number of the last record, and the time of the first.
  std::uint64_t through() const { return through_; }
  // What ended by then is asked for no more.
  void forget_before(Seconds at);
  Seconds since() const { return since_; }

 private:
  struct Stay {
    JobId job = kNoJob;
    Seconds from = 0, to = kNever;
    std::vector<std::pair<NodeId, double>> devices;  // how many of which node
  };
  void command(Seconds at, const KeptCommand& command);
  void event(const Event& event);
  void close(JobId job, Seconds at);
  // What was held on a node is not held any more.
  void lose(const Event& lost);
  Usage of(const Stay& stay, Seconds from, Seconds to) const;

  const Cluster& cluster_;
  std::vector<Stay> stays_;
  struct Open {
    std::size_t stay = 0;
    std::uint32_t epoch = 0;
  };
  std::map<JobId, Open> open_;
  std::map<JobId, std::pair<std::uint32_t, CommandKind>> pending_;
  std::uint64_t through_ = 0;
  Seconds since_ = kNever;
};

// Reads a journal that is being written. Not thread-safe.
class JournalTail {
 public:
  explicit JournalTail(std::string folder) : folder_(std::move(folder)) {}
  // All records after one; after 0 from the first that is kept.
  Status read(std::uint64_t after, const std::function<Status(const Record&)>& each);

 private:
  std::string folder_;
  std::unique_ptr<Database> database_;
};

// The fold of a journal that is being written: each look reads what has come since the last.
// Thread-safe.
class UsageBook {
 public:
  UsageBook(const Cluster& cluster, std::string folder)
      : tail_(std::move(folder)), fold_(cluster) {}
  struct Page {
    std::map<JobId, Usage> by_job;
    Seconds since = 0;  // from when on records are kept
  };
  Result<Page> look(Seconds from, Seconds to);

 private:
  std::mutex mutex_;
  JournalTail tail_;
  UsageFold fold_;
};

}  // namespace weft::live
