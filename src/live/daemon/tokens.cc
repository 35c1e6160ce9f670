#include "live/daemon/tokens.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "runtime/net/secret.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostBytes = 64 << 20;
constexpr const char* kBegins = "weft_";
constexpr std::size_t kIdDigits = 12, kSecretDigits = 64;

std::string hex_of(const std::uint8_t* bytes, std::size_t count) {
  std::string hex;
  for (std::size_t i = 0; i < count; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

// A token is 256 random bits: one round of a digest is enough, there is nothing to guess.
std::string digest_of(std::string_view secret) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> out = {};
  unsigned int size = 0;
  EVP_Digest(secret.data(), secret.size(), out.data(), &size, EVP_sha256(), nullptr);
  return hex_of(out.data(), size);
}

Json token_json(const Token& t) {
  return {{"id", t.id},
          {"role", kRoleNames[static_cast<int>(t.caller.role)]},
          {"user", t.caller.user},
          {"uid", t.caller.uid},
          {"gid", t.caller.gid},
          {"made_s", t.made_s},
          {"expires_s", t.expires_s},
          {"digest", t.digest}};
}

std::optional<Token> token_from(const Json& j) {
  try {
    Token t;
    t.id = j.at("id");
    const auto role = role_named(j.at("role").get<std::string>());
    t.caller = {j.at("uid"), j.at("gid"), j.at("user"), role.value_or(Role::kUser), true};
    t.made_s = j.at("made_s");
    t.expires_s = j.at("expires_s");
    t.digest = j.at("digest");
    if (!role || t.digest.size() != 64) return std::nullopt;
    return t;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Status Tokens::open(std::string path) {
  const std::lock_guard lock(mutex_);
  path_ = std::move(path);
  if (!is_file(path_)) return {};
  const auto text = read_file(path_, kMostBytes);
  if (!text.ok()) return text.error();
  const Json json = Json::parse(*text, nullptr, false);
  const Error damaged{ErrorKind::kInvalidInput, fmt::format("{}: is no list of tokens", path_),
                      "remove it; every token has to be made anew then"};
  if (!json.is_array()) return damaged;
  for (const Json& row : json) {
    auto token = token_from(row);
    if (!token) return damaged;
    tokens_.push_back(std::move(*token));
  }
  return {};
}

Status Tokens::keep(const std::vector<Token>& tokens) {
  Json json = Json::array();
  for (const Token& token : tokens) json.push_back(token_json(token));
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (const Status written = write_file_durably(path_, text); !written.ok()) return written;
  ::chmod(path_.c_str(), 0600);
  return {};
}

Result<Tokens::Made> Tokens::create(const Caller& caller, Seconds now_s, Seconds expires_s) {
  const auto id = runtime::fresh_nonce();
  const auto secret = runtime::fresh_nonce();
  if (!id.ok()) return id.error();
  if (!secret.ok()) return secret.error();
  Made made;
  made.token.id = hex_of(id->data(), kIdDigits / 2);
  made.secret = kBegins + made.token.id + "_" + hex_of(secret->data(), kSecretDigits / 2);
  made.token.caller = caller;
  made.token.caller.by_token = true;
  made.token.made_s = now_s;
  made.token.expires_s = expires_s;
  made.token.digest = digest_of(made.secret);
  const std::lock_guard lock(mutex_);
  std::vector<Token> all = tokens_;
  std::erase_if(all, [&](const Token& t) { return t.expires_s > 0 && t.expires_s <= now_s; });
  all.push_back(made.token);
  if (const Status kept = keep(all); !kept.ok()) return kept.error();
  tokens_ = std::move(all);
  return made;
}

Result<bool> Tokens::revoke(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::vector<Token> all = tokens_;
  if (std::erase_if(all, [&](const Token& t) { return t.id == id; }) == 0) return false;
  if (const Status kept = keep(all); !kept.ok()) return kept.error();
  tokens_ = std::move(all);
  return true;
}

std::vector<Token> Tokens::list() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

std::optional<Caller> Tokens::find(std::string_view secret, Seconds now_s) const {
  const std::string_view begins = kBegins;
  if (secret.size() != begins.size() + kIdDigits + 1 + kSecretDigits ||
      !secret.starts_with(begins)) {
    return std::nullopt;
  }
  const std::string_view id = secret.substr(begins.size(), kIdDigits);
  const std::string digest = digest_of(secret);
  const std::lock_guard lock(mutex_);
  for (const Token& token : tokens_) {
    if (token.id != id || (token.expires_s > 0 && token.expires_s <= now_s)) continue;
    if (CRYPTO_memcmp(token.digest.data(), digest.data(), digest.size()) != 0) continue;
    Caller caller = token.caller;
    caller.token = token.id;
    return caller;
  }
  return std::nullopt;
}

}  // namespace weft::live
