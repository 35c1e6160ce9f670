// How fast the TCP transport moves messages between two members on loopback, and what that costs
// both sides in CPU time. Flags: --seconds S (about, for each row), --streams N, --congestion NAME.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/stopwatch.h"
#include "base/table.h"
#include "runtime/tcp/tcp_transport.h"

namespace weft::runtime {
namespace {

struct Flags {
  double seconds = 1;
  int streams = 2;
  std::string congestion;
};

constexpr Seconds kPatience = 60;

// One of two members of a job in this process.
struct Member {
  DoorbellWord word{};
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<TcpTransport> transport;

  // Does `once` until it is true, sleeping on the doorbell; aborts when that takes too long.
  template <typename Function>
  void until(const Function& once) {
    Doorbell bell(&word);
    const std::int64_t start = monotonic_ns();
    while (true) {
      if (once()) return;
      const std::uint32_t seen = bell.announce();
      if (once()) return bell.retract();
      bell.sleep(seen, 1);
      CHECK_MSG(1e-9 * static_cast<double>(monotonic_ns() - start) < kPatience, "it hangs");
    }
  }
  void send(MemberId to, std::uint32_t bytes) {
    until([&] {
      std::byte* room = transport->reserve({&to, 1}, bytes, false).at;
      if (room == nullptr) return false;
      Header header;
      header.bytes = bytes;
      transport->post(room, {&to, 1}, header);
      return true;
    });
  }
  void receive() {
    until([&] {
      Message message;
      if (!transport->poll(message)) return false;
      transport->release(message);
      return true;
    });
  }
};

struct Pair {
  Pair(const Flags& flags, bool encrypt) {
    const Secret secret = *Secret::fresh();
    for (MemberId id : {0, 1}) {
      Member& member = members[id];
      member.reactor = std::move(Reactor::start()).value();
      TcpTransport::Settings settings;
      settings.self = id;
      settings.secret = secret;
      settings.streams = flags.streams;
      settings.options.encrypt = encrypt;
      settings.options.congestion = flags.congestion;
      settings.listen_address = "127.0.0.1:0";
      settings.address_of = [this](MemberId other) {
        return std::optional(fmt::format("127.0.0.1:{}", members[other].transport->port()));
      };
      member.transport =
          std::move(TcpTransport::open(*member.reactor, Doorbell(&member.word), settings)).value();
    }
    members[0].send(1, 8);
    members[1].receive();
  }

  Member members[2];
};

struct Measured {
  double gb_per_s = 0, cpu_s_per_gb = 0;
};

Measured stream(Pair& pair, std::uint32_t bytes, int count) {
  const double cpu = process_cpu_seconds();
  const std::int64_t start = monotonic_ns();
  std::thread receiver([&] {
    for (int i = 0; i < count; ++i) pair.members[1].receive();
  });
  for (int i = 0; i < count; ++i) pair.members[0].send(1, bytes);
  receiver.join();
  const double seconds = 1e-9 * static_cast<double>(monotonic_ns() - start);
  const double gb = 1e-9 * bytes * count;
  return {gb / seconds, (process_cpu_seconds() - cpu) / gb};
}

double round_trip_us(Pair& pair, std::uint32_t bytes, int count) {
  std::thread mirror([&] {
    for (int i = 0; i < count; ++i) {
      pair.members[1].receive();
      pair.members[1].send(0, bytes);
    }
  });
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const std::int64_t start = monotonic_ns();
    pair.members[0].send(1, bytes);
    pair.members[0].receive();
    times.push_back(1e-3 * static_cast<double>(monotonic_ns() - start));
  }
  mirror.join();
  std::nth_element(times.begin(), times.begin() + count / 2, times.end());
  return times[static_cast<std::size_t>(count / 2)];
}

void run(const Flags& flags) {
  Table table({"message", "encrypted", "GB/s", "CPU s/GB"});
  for (const bool encrypt : {false, true}) {
    Pair pair(flags, encrypt);
    for (const std::uint32_t bytes : {4U << 10, 64U << 10, 256U << 10, 1U << 20}) {
      // A first row of a tenth of the time says how many messages fill it.
      int count = 64;
      Measured measured = stream(pair, bytes, count);
      const double wanted = flags.seconds * measured.gb_per_s * 1e9 / bytes;
      count = static_cast<int>(std::clamp(wanted, 16.0, 1e6));
      measured = stream(pair, bytes, count);
      table.row({fmt::format("{} KiB", bytes >> 10), encrypt ? "yes" : "no",
                 three_digits(measured.gb_per_s), three_digits(measured.cpu_s_per_gb)});
    }
    fmt::print("round trip of 4 KiB{}, median of 1000: {} us\n", encrypt ? ", encrypted" : "",
               three_digits(round_trip_us(pair, 4096, 1000)));
  }
  fmt::print("{}", table.text());
}

}  // namespace
}  // namespace weft::runtime

int main(int argc, char** argv) {
  weft::runtime::Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--seconds") flags.seconds = std::atof(argv[i + 1]);
    if (name == "--streams") flags.streams = std::atoi(argv[i + 1]);
    if (name == "--congestion") flags.congestion = argv[i + 1];
  }
  weft::runtime::run(flags);
  return 0;
}
