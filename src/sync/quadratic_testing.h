// A convex problem with known answers: rank i has the loss ½ Σ_d h_id (x_d - b_id)².
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "sync/swarm_testing.h"

namespace weft::sync {

inline Mode mode(const std::string& text) {
  auto parsed = parse_mode(text);
  CHECK_MSG(parsed.ok(), text.c_str());
  return *parsed;
}

// Ranks 0 to count - 1.
inline std::vector<Member> members(std::uint32_t count) {
  std::vector<Member> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({i});
  return all;
}

struct Quadratics {
  std::vector<std::vector<double>> h, b;  // by rank and dimension
  std::vector<double> weights;            // add up to 1

  static Quadratics draw(std::uint32_t ranks, std::size_t dimensions, std::uint64_t seed) {
    Random random(seed);
    Quadratics q;
    double sum = 0;
    for (std::uint32_t i = 0; i < ranks; ++i) {
      q.h.emplace_back(), q.b.emplace_back();
      for (std::size_t d = 0; d < dimensions; ++d) {
        q.h.back().push_back(random.uniform(0.5, 2));
        q.b.back().push_back(random.uniform(-3, 3));
      }
      q.weights.push_back(random.uniform(0.5, 2));
      sum += q.weights.back();
    }
    for (double& weight : q.weights) weight /= sum;
    return q;
  }

  std::size_t dimensions() const { return b[0].size(); }
  void gradient(std::uint32_t rank, std::span<const double> at, std::span<double> out) const {
    for (std::size_t d = 0; d < at.size(); ++d) out[d] = h[rank][d] * (at[d] - b[rank][d]);
  }
  double loss(std::uint32_t rank, std::span<const double> at) const {
    double sum = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      sum += 0.5 * h[rank][d] * (at[d] - b[rank][d]) * (at[d] - b[rank][d]);
    }
    return sum;
  }
  // Where the weighted pulls of the ranks cancel: pull i is c_id (x_d - b_id).
  template <typename Pull>
  std::vector<double> balance(Pull pull) const {
    std::vector<double> at(dimensions());
    for (std::size_t d = 0; d < at.size(); ++d) {
      double top = 0, bottom = 0;
      for (std::size_t i = 0; i < b.size(); ++i) {
        const double c = weights[i] * pull(i, d);
        top += c * b[i][d], bottom += c;
      }
      at[d] = top / bottom;
    }
    return at;
  }
  std::vector<double> optimum() const {
    return balance([&](std::size_t i, std::size_t d) { return h[i][d]; });
  }

  SwarmOptions swarm(const Mode& mode, std::vector<std::uint32_t> steps = {}) const {
    SwarmOptions options;
    options.mode = mode;
    for (std::uint32_t i = 0; i < b.size(); ++i) {
      options.members.push_back({i, weights[i], steps.empty() ? 0 : steps[i]});
    }
    options.start.assign(dimensions(), 1.0);
    options.gradient = [*this](std::uint32_t rank, std::span<const double> at,
                               std::span<double> out) { gradient(rank, at, out); };
    options.loss = [*this](std::uint32_t rank, std::span<const double> at) {
      return loss(rank, at);
    };
    return options;
  }
};

// The one seed that is given, or so many; twenty times as many for a soak. Tests hand in the
// environment: WEFT_SEED and WEFT_SOAK.
inline std::vector<std::uint64_t> seeds_to_try(std::uint64_t count, const char* one,
                                               const char* soak) {
  if (one != nullptr) return {std::strtoull(one, nullptr, 10)};
  std::vector<std::uint64_t> seeds(count * (soak != nullptr ? 20 : 1));
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{1});
  return seeds;
}

inline double distance(std::span<const double> a, std::span<const double> b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace weft::sync
