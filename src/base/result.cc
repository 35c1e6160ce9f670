#include "base/result.h"

#include <fmt/core.h>

#include <algorithm>

namespace weft {

Error Complaints::error(std::string hint) const {
  CHECK(!empty());
  std::string text;
  for (const std::string& sentence : sentences_) {
    if (!text.empty()) text += '\n';
    text += sentence;
  }
  if (count_ > kShown) text += fmt::format("\n… and {} more", count_ - kShown);
  return Error{ErrorKind::kInvalidInput, std::move(text), std::move(hint)};
}

std::string near_miss(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        size_t substituted = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace weft
