#include <algorithm>
#include <deque>

#include "pipeline/builder.h"
#include "pipeline/generators.h"

namespace weft::pipeline {
namespace {

// Direction 0 of a device is the one whose first stage is nearer to it. The parts of a device's
// list, and how often each runs, follow the schedule picture of the report.
class Device {
 public:
  Device(Schedule& schedule, int device) : s_(schedule), d_(device) {}

  void fill() {
    const int half = s_.devices / 2;
    const int near = std::min(d_, s_.devices - 1 - d_);
    const int rest = half - near - 1;
    const int steady = s_.micro_batches / 2 - s_.devices + near + 1;
    for (int i = 0; i < 2 * rest; ++i) forward(0);
    for (int i = 0; i <= near; ++i) forward(0), forward(1);
    for (int i = 0; i < rest; ++i) backward(1, true), weight(), forward(1);
    for (int i = 0; i < steady; ++i) {
      // The two middle devices have not been sent this backward's gradient when its turn comes.
      if (i == 0 && rest == 0) {
        forward(0), backward(1, false);
      } else {
        both(0, 1);
      }
      both(1, 0);
    }
    for (int i = 0; i < rest; ++i) backward(1, false), both(1, 0);
    // In the second half of these the weight gradients are put off.
    const int turn = (near + 1) / 2;
    bool split = false;
    for (int i = 0; i <= near; ++i) {
      split = split || (i == turn && near % 2 == 1);
      backward(1, split);
      split = split || (i == turn && near % 2 == 0);
      backward(0, split);
    }
    for (int i = 0; i < rest; ++i) weight(), backward(0, true);
    while (!put_off_.empty()) weight();
  }

 private:
  // The next micro-batch of a direction. Route 0 begins at device 0 and has the first half of them.
  Work next(int direction, int (&counters)[2]) {
    const int route = direction ^ (d_ < s_.devices / 2 ? 0 : 1);
    const int m = counters[direction]++ + route * s_.micro_batches / 2;
    return {m, route == 0 ? d_ : s_.devices - 1 - d_};
  }
  void forward(int direction) { add(s_, d_, Kind::kForward, next(direction, forwards_)); }
  void backward(int direction, bool split) {
    const Work work = next(direction, backwards_);
    add(s_, d_, split ? Kind::kBackwardInput : Kind::kBackward, work);
    if (split) put_off_.push_back(work);
  }
  void weight() {
    if (put_off_.empty()) return;
    add(s_, d_, Kind::kWeightGradient, put_off_.front());
    put_off_.pop_front();
  }
  void both(int forward_direction, int backward_direction) {
    add(s_, d_, Kind::kForwardBackward, next(forward_direction, forwards_));
    s_.programs[static_cast<std::size_t>(d_)].back().other = next(backward_direction, backwards_);
  }

  Schedule& s_;
  int d_;
  int forwards_[2] = {}, backwards_[2] = {};
  std::deque<Work> put_off_;
};

}  // namespace

Schedule dualpipe(const Request& request) {
  Schedule s = empty_schedule("dualpipe", request);
  s.routes.emplace_back(s.routes[0].rbegin(), s.routes[0].rend());
  for (int m = 0; m < s.micro_batches; ++m) s.route_of.push_back(2 * m / s.micro_batches);
  for (int d = 0; d < s.devices; ++d) Device(s, d).fill();
  return finished(std::move(s));
}

}  // namespace weft::pipeline
