#include "collective/generators.h"
#include "collective/packed_trees.h"

namespace weft::collective {

Schedule double_tree_all_reduce(const Request& request) {
  const std::vector<Tree> trees = two_trees(request.ranks);
  return along_trees(Operation::kAllReduce, "double-binary-tree", {{trees[0]}, {trees[1]}},
                     request.chunks);
}

}  // namespace weft::collective
