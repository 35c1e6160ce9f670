// Threads that wait for operations somebody holds a future of, and complete those futures.
#pragma once

#include <functional>
#include <memory>

namespace weft::bindings {

// One thread waits at a time, for the oldest operation; before it completes a future it hands the
// waiting on, because a callback may itself wait for an operation that was called in it. Threads are
// added only when all others are inside callbacks.
//
// Waiting in order cannot lock ranks against each other while an operation ends on a rank only after
// every rank has called it: whoever is waited for was then called before whoever waits. Operations
// that end without the others (a broadcast's root, a send) are waited for by a thread each.
class Completer {
 public:
  struct Task {
    std::function<bool()> done;
    std::function<void()> wait;
    std::function<void()> complete;  // runs callbacks
    bool alone = false;              // may end before every rank has called it
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
