// Threads that carry out tasks which wait for each other's counterparts on other ranks. A task
// never queues behind another, since the one that another rank is at may be any of them.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::runtime {

// Thread-safety: all of it.
class Crew {
 public:
  Crew() = default;
  // Waits for the tasks that were begun.
  ~Crew();
  Crew(const Crew&) = delete;

  // Begins the task on an idle thread, or on a new one. Cost: a thread for each task under way.
  void begin(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::vector<std::function<void()>> tasks_;  // not taken yet, at most one for each idle thread
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft::runtime
