// The secret of a job: who knows it may join. It is proved by challenge and response and never
// travels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::runtime {

struct Secret {
  std::array<std::uint8_t, 32> key = {};

  static Result<Secret> fresh();  // from the kernel's random numbers
  static Result<Secret> from_hex(std::string_view hex);
  // A file of 64 hexadecimal digits that only its owner can read.
  static Result<Secret> from_file(const std::string& path);
  std::string hex() const;
  bool operator==(const Secret&) const = default;
};

using Proof = std::array<std::uint8_t, 32>;
using Nonce = std::array<std::uint8_t, 32>;
Result<Nonce> fresh_nonce();
// HMAC-SHA256 over the label and the parts, each with its length, so that no two lists agree.
Proof prove(const Secret& secret, std::string_view label,
            std::span<const std::span<const std::uint8_t>> parts);
// A number for the job that tells it from others on the same hosts and gives nothing away.
std::uint64_t job_of(const Secret& secret);
// Takes the same time whatever differs.
bool same_proof(const Proof& a, const Proof& b);

}  // namespace weft::runtime
