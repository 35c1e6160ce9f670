// The parameters of a builder, from shorthand or YAML: checked values, or complaints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fabric/wiring.h"

namespace weft {

// Every get marks its name as known; done() complains of the others. A value out of range is
// complained about and a harmless one returned, so that one pass finds every mistake.
class Parameters {
 public:
  struct Entry {
    std::string name;  // empty: a word without a name, such as the sides in "torus:4x4"
    std::string value;
    bool used = false;
  };

  // `text` is how the user named the topology.
  Parameters(std::string text, std::vector<Entry> entries)
      : text_(std::move(text)), entries_(std::move(entries)) {}

  const std::string& text() const { return text_; }
  bool has(std::string_view name) const;
  std::uint32_t count(std::string_view name, std::uint32_t fallback, std::uint32_t low,
                      std::uint32_t high);
  // A number above `low` and at most `high`.
  double number(std::string_view name, double fallback, double low, double high);
  double bandwidth(std::string_view name, double fallback);
  Seconds seconds(std::string_view name, Seconds fallback);
  bool flag(std::string_view name, bool fallback);
  // Index of the value among `words`.
  int word(std::string_view name, int fallback, const std::vector<std::string>& words);
  // "4x4x2", as `name` or, with `bare`, without a name.
  std::vector<std::uint32_t> sides(std::string_view name, std::vector<std::uint32_t> fallback,
                                   std::size_t most, bool bare);
  // The cable that `bandwidth` and `latency` describe, the parameters everybody has.
  LinkRate link(double bandwidth_fallback, Seconds latency_fallback);
  // fail=A/B, degrade=A/B:0.5, speed=A/B:50GB/s; each may stand several times.
  std::vector<LinkChange> changes();

  void complain(std::string sentence);
  // Complains when the network would be too large. Returns whether it is not.
  bool fits(double endpoints, double cables);
  // Whether there was no mistake. Complains of names that nobody asked for and of doubled ones.
  bool done();
  // Requires: !done().
  Error error() const;

 private:
  // The value of a name; null when it is not given.
  const std::string* find(std::string_view name);
  void refuse(std::string_view name, const std::string& value, std::string_view wanted);
  void add_change(LinkChange::Kind kind, const std::string& name, const std::string& value,
                  std::vector<LinkChange>& out);

  std::string text_;
  std::vector<Entry> entries_;
  std::vector<std::string> known_;
  Complaints complaints_;
};

}  // namespace weft
