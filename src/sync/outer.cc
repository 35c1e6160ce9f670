#include "sync/outer.h"

#include <cmath>

namespace weft::sync {

bool needs_momentum(const OuterRule& rule) {
  return rule.momentum > 0 || rule.kind == OuterRule::Kind::kAdam;
}

bool needs_second_moment(const OuterRule& rule) { return rule.kind == OuterRule::Kind::kAdam; }

template <typename T>
void outer_step(const OuterRule& rule, double inner_lr, std::span<const T> way, std::span<T> agreed,
                std::span<T> u, std::span<T> v) {
  CHECK(inner_lr > 0 && agreed.size() == way.size());
  CHECK(!needs_momentum(rule) || u.size() == way.size());
  CHECK(!needs_second_moment(rule) || v.size() == way.size());
  const double unit = rule.in_units_of_lr ? inner_lr : 1;
  const T momentum = static_cast<T>(rule.momentum), lr = static_cast<T>(rule.lr * unit);
  const T scale = static_cast<T>(1 / unit);
  if (!needs_momentum(rule)) {
    for (std::size_t i = 0; i < way.size(); ++i) agreed[i] -= static_cast<T>(rule.lr) * way[i];
    return;
  }
  if (rule.kind == OuterRule::Kind::kAdam) {
    const T beta2 = static_cast<T>(rule.beta2), epsilon = static_cast<T>(rule.epsilon);
    for (std::size_t i = 0; i < way.size(); ++i) {
      u[i] = momentum * u[i] + (1 - momentum) * way[i];
      v[i] = beta2 * v[i] + (1 - beta2) * way[i] * way[i];
      agreed[i] -= lr * u[i] / (std::sqrt(v[i]) + epsilon);
    }
    return;
  }
  const bool nesterov = rule.kind == OuterRule::Kind::kNesterov;
  for (std::size_t i = 0; i < way.size(); ++i) {
    const T here = scale * way[i];
    u[i] = momentum * u[i] + here;
    agreed[i] -= lr * (nesterov ? here + momentum * u[i] : u[i]);
  }
}

template void outer_step<float>(const OuterRule&, double, std::span<const float>, std::span<float>,
                                std::span<float>, std::span<float>);
template void outer_step<double>(const OuterRule&, double, std::span<const double>,
                                 std::span<double>, std::span<double>, std::span<double>);

}  // namespace weft::sync
