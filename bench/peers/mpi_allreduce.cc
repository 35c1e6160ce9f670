// MPI's all-reduce under bench/peers/measure.h; built once against each MPI, started by its mpirun:
//   peer_openmpi --sizes 4096,1048576 [--limit-s 60]
// Rank 0 prints the lines of all ranks: launchers mix what several ranks print at a time.
#define OMPI_SKIP_MPICXX 1  // the C interface alone
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/peers/measure.h"

namespace weft {
namespace {

std::string lines_of_all(const std::string& mine, int rank, int ranks) {
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks)), begins(lengths.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int total = 0;
  for (std::size_t r = 0; rank == 0 && r < lengths.size(); ++r) {
    begins[r] = total;
    total += lengths[r];
  }
  std::string all(static_cast<std::size_t>(total), ' ');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR, 0,
              MPI_COMM_WORLD);
  return all;
}

int run(int argc, char** argv) {
  CLI::App app{"all-reduce of this MPI"};
  std::vector<std::size_t> sizes_bytes;
  unsigned limit_s = 600;
  app.add_option("--sizes", sizes_bytes, "bytes, comma separated")->delimiter(',')->required();
  app.add_option("--limit-s", limit_s, "seconds after which a rank ends itself");
  CLI11_PARSE(app, argc, argv);
  // A launcher that is killed leaves its ranks behind, unless they go with it or end in time.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(limit_s);
  MPI_Init(&argc, &argv);
  Measured library;
  MPI_Comm_rank(MPI_COMM_WORLD, &library.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &library.ranks);
  library.all_reduce = [](float* data, std::size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  library.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  const std::string mine = measure_all_reduce(library, sizes_bytes);
  std::fputs(lines_of_all(mine, library.rank, library.ranks).c_str(), stdout);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc, argv); }
