#include "sync/sampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/delimited.h"
#include "base/random.h"

namespace weft::sync {
namespace {

void shuffle(std::vector<std::uint32_t>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

// The logarithm of a gamma variable of the given shape: small shapes give values below the smallest
// double. Marsaglia and Tsang 2000; shapes below 1 by the boost that they give.
double log_gamma_variable(double shape, Random& random) {
  if (shape < 1) {
    const double boost = std::log1p(-random.uniform()) / shape;
    return log_gamma_variable(shape + 1, random) + boost;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log1p(-random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d * v);
    }
  }
}

std::vector<double> dirichlet(std::size_t n, double alpha, Random& random) {
  std::vector<double> logs(n);
  for (double& value : logs) value = log_gamma_variable(alpha, random);
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (double& value : logs) sum += value = std::exp(value - largest);
  for (double& value : logs) value /= sum;
  return logs;
}

// Deals `examples` to the ranks in the given proportions.
void deal(const std::vector<std::uint32_t>& examples, const std::vector<double>& shares,
          std::vector<std::vector<std::uint32_t>>& parts) {
  double until = 0;
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    until += shares[rank];
    const bool last = rank + 1 == shares.size();
    const auto end =
        last ? examples.size()
             : std::min(examples.size(), static_cast<std::size_t>(std::llround(
                                             until * static_cast<double>(examples.size()))));
    for (; next < end; ++next) parts[rank].push_back(examples[next]);
  }
}

// A rank without examples takes one from the rank that has most.
void fill_empty(std::vector<std::vector<std::uint32_t>>& parts) {
  for (auto& part : parts) {
    if (!part.empty()) continue;
    const auto most =
        std::max_element(parts.begin(), parts.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    part.push_back(most->back());
    most->pop_back();
  }
}

std::vector<std::vector<std::uint32_t>> by_label(std::span<const std::uint32_t> labels,
                                                 Random& random) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> classes;
  for (std::uint32_t i = 0; i < labels.size(); ++i) classes[labels[i]].push_back(i);
  std::vector<std::vector<std::uint32_t>> result;
  for (auto& [label, examples] : classes) {
    shuffle(examples, random);
    result.push_back(std::move(examples));
  }
  return result;
}

}  // namespace

std::vector<bool> participants(std::uint64_t seed, std::uint64_t round, std::size_t members,
                               double fraction) {
  CHECK(members >= 1 && fraction > 0 && fraction <= 1);
  const auto wanted =
      static_cast<std::size_t>(std::llround(fraction * static_cast<double>(members)));
  std::vector<std::uint32_t> order(members);
  std::iota(order.begin(), order.end(), 0);
  Random mixed(seed);
  Random random(mixed.next() ^ (round * 0x9e3779b97f4a7c15ULL));
  shuffle(order, random);
  std::vector<bool> chosen(members);
  for (std::size_t i = 0; i < std::max<std::size_t>(1, wanted); ++i) chosen[order[i]] = true;
  return chosen;
}

Result<DataSplit> parse_data_split(std::string_view text) {
  using Kind = DataSplit::Kind;
  if (text == "iid") return DataSplit{};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  const auto number = parse_number(text.substr(std::min(colon + 1, text.size())));
  if (number && *number >= 1e-3 && *number <= 1e6) {
    if (name == "dirichlet") return DataSplit{Kind::kDirichlet, *number, 0};
    if (name == "quantity") return DataSplit{Kind::kQuantity, *number, 0};
    if (name == "shards" && *number == std::floor(*number) && *number >= 1) {
      return DataSplit{Kind::kShards, 0, static_cast<std::uint32_t>(*number)};
    }
  }
  const std::string near =
      near_miss(std::string(name.substr(0, 100)), {"iid", "dirichlet", "shards", "quantity"});
  return Error{
      ErrorKind::kInvalidInput,
      fmt::format("data split {} is not understood{}", shown(text),
                  near.empty() || near == name ? "" : fmt::format("; did you mean '{}'?", near)),
      "splits are iid, dirichlet:ALPHA and quantity:ALPHA with ALPHA from 0.001 to 1e6, and "
      "shards:N with N from 1"};
}

std::string data_split_text(const DataSplit& split) {
  switch (split.kind) {
    case DataSplit::Kind::kIid:
      return "iid";
    case DataSplit::Kind::kDirichlet:
      return fmt::format("dirichlet:{}", split.alpha);
    case DataSplit::Kind::kShards:
      return fmt::format("shards:{}", split.shards);
    case DataSplit::Kind::kQuantity:
      return fmt::format("quantity:{}", split.alpha);
  }
  return "";
}

std::vector<std::vector<std::uint32_t>> split_data(const DataSplit& split,
                                                   std::span<const std::uint32_t> labels,
                                                   std::uint32_t ranks, std::uint64_t seed) {
  CHECK(ranks >= 1 && labels.size() >= ranks);
  Random random(seed);
  std::vector<std::vector<std::uint32_t>> parts(ranks);
  const std::vector<double> alike(ranks, 1.0 / ranks);
  if (split.kind == DataSplit::Kind::kDirichlet) {
    for (const auto& examples : by_label(labels, random)) {
      deal(examples, dirichlet(ranks, split.alpha, random), parts);
    }
  } else if (split.kind == DataSplit::Kind::kShards) {
    std::vector<std::uint32_t> sorted;
    for (const auto& examples : by_label(labels, random)) {
      sorted.insert(sorted.end(), examples.begin(), examples.end());
    }
    const std::size_t count = std::size_t{split.shards} * ranks;
    CHECK(count >= 1 && count <= labels.size());
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t from = sorted.size() * order[i] / count;
      const std::size_t until = sorted.size() * (order[i] + std::size_t{1}) / count;
      auto& part = parts[i / split.shards];
      for (std::size_t at = from; at < until; ++at) part.push_back(sorted[at]);
    }
  } else {
    std::vector<std::uint32_t> all(labels.size());
    std::iota(all.begin(), all.end(), 0);
    shuffle(all, random);
    const bool even = split.kind == DataSplit::Kind::kIid;
    deal(all, even ? alike : dirichlet(ranks, split.alpha, random), parts);
  }
  fill_empty(parts);
  for (auto& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

}  // namespace weft::sync
