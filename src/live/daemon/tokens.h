// Bearer tokens: who may ask over a network, and as whom. The store keeps a digest of each, so that
// whoever reads it can ask nothing.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "live/http/caller.h"

namespace weft::live {

struct Token {
  std::string id;  // public
  Caller caller;
  Seconds made_s = 0, expires_s = 0;  // of the calendar (Unix time); expires 0: never
  std::string digest;                 // SHA-256 of the secret, hexadecimal
};

// Thread-safe.
class Tokens {
 public:
  struct Made {
    Token token;
    std::string secret;  // what the caller shows; kept nowhere
  };
  // Requires: `path` is in a folder that exists. No file: no tokens yet.
  Status open(std::string path);

  // Durable when it returns.
  Result<Made> create(const Caller& caller, Seconds now_s, Seconds expires_s);
  // False: there is none.
  Result<bool> revoke(const std::string& id);
  std::vector<Token> list() const;
  // Whose secret it is; nothing if it is nobody's, or has expired.
  std::optional<Caller> find(std::string_view secret, Seconds now_s) const;

 private:
  Status keep(const std::vector<Token>& tokens);

  mutable std::mutex mutex_;
  std::string path_;
  std::vector<Token> tokens_;  // in order of making
};

}  // namespace weft::live
