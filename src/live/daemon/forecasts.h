// Questions about what is to come, answered on a thread of their own from copies of the
// controller's state.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "control/forecast.h"
#include "live/daemon/brain.h"

namespace weft::live {

class Forecasts {
 public:
  using Question = std::function<void(const Brain::Snapshot&, const Forecaster&)>;
  // Requires: the brain outlives this.
  Forecasts(Brain& brain, std::shared_ptr<const Forecaster> forecaster);
  ~Forecasts();

  // Calls `question` on the thread with a copy of the state, once; its image is empty if the
  // controller has ended. False: too many wait already. From any thread.
  bool ask(Question question);
  // No question is asked any more.
  void end();

 private:
  void work();

  Brain& brain_;
  const std::shared_ptr<const Forecaster> forecaster_;  // shared with whoever made the daemon
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Question> questions_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace weft::live
