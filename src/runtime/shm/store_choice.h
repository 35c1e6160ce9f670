// Whether a message is written through this processor's caches or around them.
//
// A line that another processor has read must be taken back from its caches before it can be
// written. Where the two share a cache this is cheap; where they do not, it costs four times what
// the copy through memory costs that a write around the caches leads to (64 KiB: 28 us to write and
// 4 us to read against 2 us and 4.5 us; with a shared cache 2 us and 2 us). Which of the two holds
// is not ours to know: a hypervisor moves processors about while we run. So both ways are timed,
// now and then, and the cheaper one is taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::runtime {

class StoreChoice {
 public:
  struct Decision {
    bool around = false;
    bool timed = false;  // tell() how long it took
  };
  // For the next message. `wish`: the caller wants the caches for other things.
  Decision next(std::size_t bytes, bool wish);
  void tell(std::size_t bytes, bool around, std::int64_t ns);

 private:
  static constexpr std::size_t kLeast = 4096;  // shorter ones go through the caches
  static constexpr std::size_t kClasses = 8;   // of sizes, by powers of two from kLeast on
  static constexpr std::uint32_t kTimedEach = 7, kProbedEach = 127;
  // What reading costs more after a write around the caches than from a cache that both share.
  static constexpr float kReadMore = 0.06F;  // ns per byte

  // The least of the last few times: a switch to another process is not our cost.
  struct Times {
    std::array<float, 4> ns_per_byte = {};
    std::uint32_t count = 0;
    float least() const;
  };
  struct SizeClass {
    Times times[2];  // through, around
    std::uint32_t messages = 0;
    bool around = false;
  };
  static std::size_t class_of(std::size_t bytes);

  std::array<SizeClass, kClasses> classes_ = {};
};

}  // namespace weft::runtime
