// Result: a value, or the sentence that tells the user why there is none.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace weft {

enum class ErrorKind { kInvalidInput, kNotFound, kIo, kUnsupported };

// What the world did wrong. `what` names the thing, the value seen and the value allowed;
// `hint` says what to try.
struct Error {
  ErrorKind kind = ErrorKind::kInvalidInput;
  std::string what;
  std::string hint;

  // "what" and, on a line of its own, "hint".
  std::string text() const { return hint.empty() ? what : what + "\n  hint: " + hint; }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Requires: ok().
  T& value() & {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Requires: !ok().
  const Error& error() const {
    CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

// A result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  const Error& error() const {
    CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

// Gathers every mistake of one input, so that the user mends a file once. Only the first
// `kShown` are spelled out; the rest are counted.
class Complaints {
 public:
  static constexpr int kShown = 20;

  void add(std::string sentence) {
    if (count_++ < kShown) sentences_.push_back(std::move(sentence));
  }
  bool empty() const { return count_ == 0; }
  long count() const { return count_; }
  // Requires: !empty().
  Error error(std::string hint = "") const;

 private:
  std::vector<std::string> sentences_;
  long count_ = 0;
};

// The entry of `known` closest to `word` when it is close enough to be a slip of the keyboard,
// else an empty string.
std::string near_miss(const std::string& word, const std::vector<std::string>& known);

}  // namespace weft
