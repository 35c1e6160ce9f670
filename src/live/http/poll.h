// Asking again and again, for what a daemon does not tell by itself yet.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace weft::live {

// Asks ten times a second until it holds or has been asked `most` times. False: it never did.
inline bool poll_until(const std::function<bool()>& holds, long most = -1) {
  for (long asked = 0; !holds(); ++asked) {
    if (most >= 0 && asked >= most) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

}  // namespace weft::live
