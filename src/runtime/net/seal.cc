#include "runtime/net/seal.h"

#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <array>

namespace weft::runtime {
namespace {

using SealKey = std::array<std::uint8_t, 32>;

SealKey derive(const Secret& secret, const Nonce& connector, const Nonce& listener,
               Direction direction) {
  std::array<std::uint8_t, 64> salt{};
  std::copy(connector.begin(), connector.end(), salt.begin());
  std::copy(listener.begin(), listener.end(), salt.begin() + 32);
  std::string info = direction == Direction::kFromConnector ? "weft frames from connector"
                                                            : "weft frames from listener";
  char digest[] = "SHA256";
  Secret copy = secret;
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string("digest", digest, 0),
      OSSL_PARAM_construct_octet_string("key", copy.key.data(), copy.key.size()),
      OSSL_PARAM_construct_octet_string("salt", salt.data(), salt.size()),
      OSSL_PARAM_construct_octet_string("info", info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  CHECK(kdf != nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
  CHECK(context != nullptr);
  SealKey key{};
  CHECK(EVP_KDF_derive(context, key.data(), key.size(), params) == 1);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return key;
}

const unsigned char* in_of(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

unsigned char* out_of(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

struct Seal::Cipher {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  SealKey key{};
  std::array<std::uint8_t, 12> nonce{};

  ~Cipher() { EVP_CIPHER_CTX_free(context); }
};

Seal::Seal(const Secret& secret, const Nonce& connector, const Nonce& listener, Direction direction)
    : cipher_(std::make_unique<Cipher>()) {
  CHECK(cipher_->context != nullptr);
  cipher_->key = derive(secret, connector, listener, direction);
}

Seal::~Seal() = default;

// A counter never repeats under one key, which is all that GCM asks of a nonce.
void Seal::next_nonce() {
  std::memcpy(cipher_->nonce.data() + 4, &count_, sizeof count_);
  ++count_;
}

void Seal::seal(ByteView header, std::span<const ByteView> pieces, std::byte* out) {
  EVP_CIPHER_CTX* context = cipher_->context;
  next_nonce();
  CHECK(EVP_EncryptInit_ex(context, count_ == 1 ? EVP_aes_256_gcm() : nullptr, nullptr,
                           count_ == 1 ? cipher_->key.data() : nullptr,
                           cipher_->nonce.data()) == 1);
  int size = 0;
  CHECK(EVP_EncryptUpdate(context, nullptr, &size, in_of(header.data()),
                          static_cast<int>(header.size())) == 1);
  for (const ByteView piece : pieces) {
    if (piece.empty()) continue;
    CHECK(EVP_EncryptUpdate(context, out_of(out), &size, in_of(piece.data()),
                            static_cast<int>(piece.size())) == 1);
    out += size;
  }
  CHECK(EVP_EncryptFinal_ex(context, out_of(out), &size) == 1 && size == 0);
  CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, kSealBytes, out) == 1);
}

bool Seal::open(ByteView header, std::span<std::byte> body) {
  CHECK(body.size() >= kSealBytes);
  EVP_CIPHER_CTX* context = cipher_->context;
  const std::size_t plain = body.size() - kSealBytes;
  next_nonce();
  CHECK(EVP_DecryptInit_ex(context, count_ == 1 ? EVP_aes_256_gcm() : nullptr, nullptr,
                           count_ == 1 ? cipher_->key.data() : nullptr,
                           cipher_->nonce.data()) == 1);
  int size = 0;
  CHECK(EVP_DecryptUpdate(context, nullptr, &size, in_of(header.data()),
                          static_cast<int>(header.size())) == 1);
  if (plain > 0) {
    CHECK(EVP_DecryptUpdate(context, out_of(body.data()), &size, in_of(body.data()),
                            static_cast<int>(plain)) == 1);
  }
  CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, kSealBytes, body.data() + plain) == 1);
  return EVP_DecryptFinal_ex(context, out_of(body.data()) + plain, &size) == 1;
}

}  // namespace weft::runtime
