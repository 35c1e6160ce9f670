// Gloo's all-reduce under bench/peers/measure.h; one process for each rank:
//   peer_gloo --algorithm ring --ranks 2 --rank 0 --rendezvous FOLDER --sizes 4096
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "bench/peers/measure.h"

namespace weft {
namespace {

using Context = std::shared_ptr<gloo::Context>;
using AllReduce = std::function<void(float*, std::size_t)>;

AllReduce by_options(const Context& context, gloo::AllreduceOptions::Algorithm algorithm) {
  return [context, algorithm](float* data, std::size_t count) {
    gloo::AllreduceOptions options(context);
    options.setOutput(data, count);
    options.setAlgorithm(algorithm);
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  };
}

// The older interface ties an object to its buffer, so there is one for each buffer.
AllReduce by_halving_doubling(const Context& context) {
  using Object = gloo::AllreduceHalvingDoubling<float>;
  const auto objects = std::make_shared<std::map<std::pair<float*, std::size_t>,
                                                 std::unique_ptr<Object>>>();  // by every copy
  return [context, objects](float* data, std::size_t count) {
    auto& object = (*objects)[{data, count}];
    if (!object) {
      object =
          std::make_unique<Object>(context, std::vector<float*>{data}, static_cast<int>(count));
    }
    object->run();
  };
}

struct Arguments {
  std::string algorithm, folder, interface = "lo";
  std::vector<std::size_t> sizes_bytes;
  int rank = 0, ranks = 1;
};

// Gloo took the store by reference until 2024 and takes it by pointer since.
template <typename Mesh, typename Device>
void connect_mesh(Mesh& mesh, const std::shared_ptr<gloo::rendezvous::FileStore>& store,
                  Device& device) {
  if constexpr (requires { mesh.connectFullMesh(*store, device); }) {
    mesh.connectFullMesh(*store, device);
  } else {
    mesh.connectFullMesh(store, device);
  }
}

Context connect(const Arguments& a) {
  gloo::transport::tcp::attr where;
  where.iface = a.interface;
  auto device = gloo::transport::tcp::CreateDevice(where);
  const auto store = std::make_shared<gloo::rendezvous::FileStore>(a.folder);
  const auto context = std::make_shared<gloo::rendezvous::Context>(a.rank, a.ranks);
  connect_mesh(*context, store, device);
  return context;
}

int run(int argc, char** argv) {
  Arguments a;
  CLI::App app{"all-reduce of Gloo over TCP"};
  app.add_option("--algorithm", a.algorithm)
      ->required()
      ->check(CLI::IsMember({"ring", "bcube", "halving-doubling"}));
  app.add_option("--ranks", a.ranks)->required();
  app.add_option("--rank", a.rank)->required();
  app.add_option("--rendezvous", a.folder, "an empty folder that all ranks see")->required();
  app.add_option("--interface", a.interface, "of the network; Gloo must be told");
  app.add_option("--sizes", a.sizes_bytes, "bytes, comma separated")->delimiter(',')->required();
  CLI11_PARSE(app, argc, argv);
  const Context context = connect(a);
  Measured library{a.rank, a.ranks, {}, {}};
  if (a.algorithm == "halving-doubling") {
    library.all_reduce = by_halving_doubling(context);
  } else {
    library.all_reduce =
        by_options(context, a.algorithm == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                                  : gloo::AllreduceOptions::Algorithm::BCUBE);
  }
  library.barrier = [&context] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  };
  std::fputs(measure_all_reduce(library, a.sizes_bytes).c_str(), stdout);
  std::fflush(stdout);
  library.barrier();  // nobody leaves while a peer still needs its connections
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc, argv); }
