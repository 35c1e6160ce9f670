// On a hang: who has not entered the operation, from what the members answered about their
// progress.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/units.h"
#include "runtime/execution.h"
#include "runtime/member/control.h"

namespace weft::runtime {

// Thread-safety: all of it.
class Missing {
 public:
  // From now on answers about this operation are kept. Ensures: what the control message must ask.
  Progress ask(const OperationSpec& spec);
  void answer(MemberId from, const Progress& progress);
  // "rank 3 has not entered all-reduce number 17 of stream 0; it last entered number 16". Empty:
  // nobody was asked, or all have entered.
  std::string in_words(const OperationSpec& spec) const;
  // Until all members have answered, for so long at most.
  void await(const OperationSpec& spec, Seconds at_most);

 private:
  // Of one operation: by member the next sequence in its stream.
  using Answers = std::map<MemberId, std::uint32_t>;
  struct Asked {
    OperationKey key;
    Answers answers;
  };
  const Asked* find(const OperationKey& key) const;

  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<Asked> asked_;
};

}  // namespace weft::runtime
