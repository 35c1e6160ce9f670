// Model names of a trace as rows of its pair table.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/pairs.h"

namespace weft {

// With a pair table, ids are its rows. Without one, names are numbered in order of appearance:
// equal names stay recognisable as one model.
class ModelNames {
 public:
  explicit ModelNames(std::shared_ptr<const PairTable> pairs);

  // kNoModel: the table has no such row, or there are more names than ids.
  ModelId find(std::string_view name);
  const std::shared_ptr<const PairTable>& pairs() const { return pairs_; }
  // What to say of a name that find() refused.
  std::string complaint(std::string_view name) const;

 private:
  std::shared_ptr<const PairTable> pairs_;
  std::unordered_map<std::string, ModelId> ids_;
};

}  // namespace weft
