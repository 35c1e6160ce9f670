#include "runtime/net/secret.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/files.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kDigits = 64;
constexpr const char* kHint =
    "a secret is 64 hexadecimal digits, for example from `openssl rand -hex 32`";

template <typename Bytes>
Result<Bytes> random_bytes() {
  Bytes bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return Error{ErrorKind::kIo, "the system gave no random numbers", ""};
  }
  return bytes;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

// Only a broken installation of OpenSSL makes these fail.
void update(EVP_MAC_CTX* context, const std::uint8_t* data, std::size_t size) {
  CHECK(EVP_MAC_update(context, data, size) == 1);
}

void update_with_length(EVP_MAC_CTX* context, const std::uint8_t* data, std::size_t size) {
  std::array<std::uint8_t, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::uint8_t>(std::uint64_t{size} >> (8 * i));
  }
  update(context, length.data(), length.size());
  update(context, data, size);
}

}  // namespace

Result<Secret> Secret::fresh() {
  auto bytes = random_bytes<decltype(Secret::key)>();
  if (!bytes.ok()) return bytes.error();
  return Secret{*bytes};
}

Result<Secret> Secret::from_hex(std::string_view hex) {
  if (hex.size() != kDigits) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the secret has {} characters; it must have {}", hex.size(), kDigits),
                 kHint};
  }
  Secret secret;
  for (std::size_t i = 0; i < kDigits; ++i) {
    const int digit = digit_of(hex[i]);
    if (digit < 0) {
      // The character itself is not shown: messages end in logs.
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("character {} of the secret is not a hexadecimal digit", i + 1),
                   kHint};
    }
    secret.key[i / 2] = static_cast<std::uint8_t>(secret.key[i / 2] << 4 | digit);
  }
  return secret;
}

Result<Secret> Secret::from_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return Error{errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                 fmt::format("the secret {} cannot be read: {}", path, std::strerror(errno)), ""};
  }
  if ((status.st_mode & 077) != 0) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the secret {} has mode {:03o}; only its owner may read it", path,
                             status.st_mode & 0777),
                 fmt::format("chmod 600 {}", path)};
  }
  auto text = read_file(path, 4096);
  if (!text.ok()) return text.error();
  while (!text->empty() && std::strchr(" \t\r\n", text->back()) != nullptr) text->pop_back();
  auto secret = from_hex(*text);
  if (!secret.ok()) {
    return Error{secret.error().kind, path + ": " + secret.error().what, secret.error().hint};
  }
  return secret;
}

std::string Secret::hex() const {
  std::string text;
  for (const std::uint8_t byte : key) text += fmt::format("{:02x}", byte);
  return text;
}

Result<Nonce> fresh_nonce() { return random_bytes<Nonce>(); }

Proof prove(const Secret& secret, std::string_view label,
            std::span<const std::span<const std::uint8_t>> parts) {
  const std::unique_ptr<EVP_MAC, FreeMac> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  CHECK(mac != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, FreeMac> context(EVP_MAC_CTX_new(mac.get()));
  CHECK(context != nullptr);
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                               OSSL_PARAM_construct_end()};
  CHECK(EVP_MAC_init(context.get(), secret.key.data(), secret.key.size(), params) == 1);
  update_with_length(context.get(), reinterpret_cast<const std::uint8_t*>(label.data()),
                     label.size());
  for (const auto& part : parts) update_with_length(context.get(), part.data(), part.size());
  Proof proof{};
  std::size_t size = 0;
  CHECK(EVP_MAC_final(context.get(), proof.data(), &size, proof.size()) == 1);
  CHECK(size == proof.size());
  return proof;
}

std::uint64_t job_of(const Secret& secret) {
  const Proof proof = prove(secret, "job", {});
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | proof[i];
  return number;
}

bool same_proof(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft::runtime
