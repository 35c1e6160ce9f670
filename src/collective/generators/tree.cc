// Pipelines along chains and trees.
#include "collective/generators.h"
#include "collective/packed_trees.h"

namespace weft::collective {
namespace {

Schedule along(const Request& request, Operation operation, const char* name, int arity) {
  return along_trees(operation, name, {{heap_tree(request.ranks, request.root, arity)}},
                     request.chunks);
}

}  // namespace

Schedule chain_broadcast(const Request& request) {
  return along(request, Operation::kBroadcast, "chain", 1);
}
Schedule tree_broadcast(const Request& request) {
  return along(request, Operation::kBroadcast, "tree", 2);
}
Schedule chain_reduce(const Request& request) {
  return along(request, Operation::kReduce, "chain", 1);
}
Schedule tree_reduce(const Request& request) {
  return along(request, Operation::kReduce, "tree", 2);
}

}  // namespace weft::collective
