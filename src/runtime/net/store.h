// The rendezvous store: names and values by which the members of a job find each other while they
// start. The launcher (or, without one, rank 0) serves it; nothing uses it after start-up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "runtime/net/secret.h"

namespace weft::runtime {

inline constexpr std::size_t kMostKeyBytes = 256, kMostValueBytes = 1 << 20, kMostKeys = 100'000;

// Serves from a thread of its own until it is destroyed. Connections that do not prove that they
// know the secret are dropped and change nothing.
class StoreServer {
 public:
  // `address` is host:port; port 0 takes a free one. The error names a port that is taken.
  static Result<std::unique_ptr<StoreServer>> start(const std::string& address,
                                                    const Secret& secret);
  virtual ~StoreServer() = default;
  virtual int port() const = 0;
};

// Each call has a deadline; an error names the key, or why the store cannot be reached.
// Thread-safety: one caller at a time.
class StoreClient {
 public:
  // Tries again until the deadline when nothing listens yet; a wrong secret is refused at once.
  static Result<std::unique_ptr<StoreClient>> connect(const std::string& address,
                                                      const Secret& secret, Seconds deadline_s);
  virtual ~StoreClient() = default;
  virtual Status set(const std::string& key, const std::string& value, Seconds deadline_s) = 0;
  // Waits until the key exists.
  virtual Result<std::string> get(const std::string& key, Seconds deadline_s) = 0;
  // What exists now; not found is an error of kind kNotFound.
  virtual Result<std::string> look(const std::string& key, Seconds deadline_s) = 0;
  // Adds to a whole number (a missing one is 0) and gives the sum.
  virtual Result<std::int64_t> add(const std::string& key, std::int64_t amount,
                                   Seconds deadline_s) = 0;
  // Sets when the key holds `expected` ("" also: does not exist); gives what it holds afterwards.
  virtual Result<std::string> swap(const std::string& key, const std::string& expected,
                                   const std::string& value, Seconds deadline_s) = 0;
  virtual Status remove(const std::string& key, Seconds deadline_s) = 0;
};

}  // namespace weft::runtime
