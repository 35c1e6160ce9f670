// Threads that wait for operations somebody holds a future of, and complete those futures.
#pragma once

#include <functional>
#include <memory>

namespace weft::bindings {

// A thread waits for the oldest operation; before it completes a future it hands the waiting on,
// because a callback may itself wait for an operation that was called in it. Waiting in order could
// lock ranks against each other: here the oldest may need a call that another rank makes only after
// a younger one was completed here. So whenever the oldest has not ended for a while the next is
// waited for too, by another thread, until all are.
class Completer {
 public:
  struct Task {
    std::function<bool()> done;
    std::function<void()> wait;
    std::function<void()> complete;  // runs callbacks
  };

  Completer();
  // Lets the threads end by themselves: one may be inside a callback that waits for the caller.
  ~Completer();
  Completer(const Completer&) = delete;

  void add(Task task);
  int threads() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the threads, which may outlive this
};

}  // namespace weft::bindings
