#include "model/readers/model_names.h"

#include <fmt/core.h>

#include <vector>

#include "base/delimited.h"
#include "base/result.h"
#include "model/readers/table_reader.h"

namespace weft {

ModelNames::ModelNames(std::shared_ptr<const PairTable> pairs) : pairs_(std::move(pairs)) {
  if (pairs_ == nullptr) return;
  for (std::size_t row = 0; row < pairs_->models.size(); ++row) {
    ids_.try_emplace(pairs_->models[row].name, static_cast<ModelId>(row));
  }
}

ModelId ModelNames::find(std::string_view name) {
  if (pairs_ == nullptr && ids_.size() < kNoModel) {
    return ids_.try_emplace(std::string(name), static_cast<ModelId>(ids_.size())).first->second;
  }
  const auto it = ids_.find(std::string(name));
  return it == ids_.end() ? kNoModel : it->second;
}

std::string ModelNames::complaint(std::string_view name) const {
  if (pairs_ == nullptr) {
    return fmt::format("model {} is one more than the limit of {}", shown(name), kNoModel);
  }
  std::vector<std::string> known;
  for (const ModelProfile& model : pairs_->models) known.push_back(model.name);
  return fmt::format("model {} is not one of the {} of the pair table{}", shown(name), known.size(),
                     did_you_mean(name, known));
}

}  // namespace weft
