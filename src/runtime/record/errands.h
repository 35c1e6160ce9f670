// Work that must not hold up those who ask for it: files written on a failure or an alarm.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weft::runtime {

// One thread, begun with the first errand; errands run in order. Thread-safety: all of it.
class Errands {
 public:
  // Ensures: all errands were run.
  ~Errands();
  void add(std::function<void()> errand);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::runtime
