// The daemon over TCP: tokens, TLS, and verbs that ask from elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Settings of the verbs that are run while it lives.
class VerbSettings {
 public:
  explicit VerbSettings(std::vector<std::pair<const char*, std::string>> all) {
    for (const auto& [name, value] : all) {
      names_.push_back(name);
      setenv(name, value.c_str(), 1);
    }
  }
  ~VerbSettings() {
    for (const char* name : names_) unsetenv(name);
  }
  VerbSettings(const VerbSettings&) = delete;
  VerbSettings& operator=(const VerbSettings&) = delete;

 private:
  std::vector<const char*> names_;
};

// Files of a certificate that vouches for itself as 127.0.0.1.
void make_certificate(const std::string& certificate, const std::string& key) {
  EVP_PKEY* pair = EVP_EC_gen("P-256");
  X509* made = X509_new();
  X509_set_version(made, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made), 3600);
  X509_set_pubkey(made, pair);
  X509_NAME* name = X509_get_subject_name(made);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("weft test"), -1, -1, 0);
  X509_set_issuer_name(made, name);
  X509_EXTENSION* address =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(made, address, -1);
  X509_EXTENSION_free(address);
  X509_sign(made, pair, EVP_sha256());
  FILE* file = std::fopen(certificate.c_str(), "w");
  PEM_write_X509(file, made);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(made);
  EVP_PKEY_free(pair);
}

TEST(Network, VerbsAskWithATokenFromElsewhere) {
  Up up({"--listen", "127.0.0.1:0"});
  const std::string user = up.token("user", "");
  const std::string gone = up.token("gone", "");
  ASSERT_THAT(up.url(), HasSubstr("http://127.0.0.1:"));
  const Json tokens = Json::parse(up.weft("token list --json").out).at("tokens");
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(up.weft("token revoke " + tokens[1].at("id").get<std::string>()).code, 0);
  EXPECT_EQ(up.weft("token revoke " + tokens[1].at("id").get<std::string>()).code, 1);

  const VerbSettings there({{"WEFT_URL", up.url()}, {"WEFT_TOKEN_FILE", user}});
  const std::string file = up.scratch.write(
      "far.yaml", "name: far\nworkdir: " + up.scratch.path("") + "\nrun: \"echo hello\"\n");
  const CommandResult submitted = run_weft(up.scratch, "submit --wait " + file);
  EXPECT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_EQ(run_weft(up.scratch, "logs far").out, "hello\n");
  const CommandResult refused = run_weft(up.scratch, "nodes drain node-0");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("only an operator"));
  EXPECT_THAT(run_weft(up.scratch, "down").err, HasSubstr("only an administrator"));
  setenv("WEFT_TOKEN_FILE", gone.c_str(), 1);
  EXPECT_THAT(run_weft(up.scratch, "jobs").err, HasSubstr("a token is needed"));
  ::chmod(user.c_str(), 0644);
  setenv("WEFT_TOKEN_FILE", user.c_str(), 1);
  EXPECT_THAT(run_weft(up.scratch, "jobs").err, HasSubstr("others may read it"));
  unsetenv("WEFT_TOKEN_FILE");
  std::string text = slurp(user);
  text.pop_back();
  const VerbSettings direct({{"WEFT_TOKEN", text}});
  EXPECT_EQ(run_weft(up.scratch, "jobs").code, 0);
  EXPECT_THAT(slurp(up.store() + "/tokens"), Not(HasSubstr(text)));
  EXPECT_THAT(slurp(up.scratch.path("up.out")) + slurp(up.scratch.path("up.err")),
              Not(HasSubstr(text)));
}

TEST(Network, TlsIsBelievedOnlyWithTheRightCertificate) {
  Scratch keys;
  make_certificate(keys.path("cert.pem"), keys.path("key.pem"));
  make_certificate(keys.path("other.pem"), keys.path("other-key.pem"));
  Up up({"--listen", "127.0.0.1:0", "--tls-cert", keys.path("cert.pem"), "--tls-key",
         keys.path("key.pem")});
  const std::string operator_ = up.token("operator", "--role operator --expires 1");
  ASSERT_THAT(up.url(), HasSubstr("https://127.0.0.1:"));
  const VerbSettings there({{"WEFT_URL", up.url()},
                            {"WEFT_TOKEN_FILE", operator_},
                            {"WEFT_CA_FILE", keys.path("cert.pem")}});
  const CommandResult drained = run_weft(up.scratch, "nodes drain node-1");
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_TRUE(
      wait_until([&] { return up.ask("GET", "/v1/nodes")["nodes"][1]["drained"] == true; }));
  EXPECT_THAT(run_weft(up.scratch, "events").out, HasSubstr("drained by"));
  setenv("WEFT_CA_FILE", keys.path("other.pem").c_str(), 1);
  EXPECT_THAT(run_weft(up.scratch, "nodes").err, HasSubstr("certificate verify failed"));
  // Plain text where TLS is spoken is no request.
  auto plain = live::parse_url("http" + up.url().substr(5));
  ASSERT_TRUE(plain.ok());
  live::HttpClient client(*plain);
  EXPECT_FALSE(client.ask("GET", "/v1/status", "", 5).ok());
}

TEST(Network, TokensDoNotCrossANetworkInTheClear) {
  Scratch scratch;
  const auto refused = [&](const std::string& options) {
    const CommandResult result =
        run_weft(scratch, "up --cluster 1x1 --store " + scratch.path("s") + " " + options);
    EXPECT_EQ(result.code, 2) << options;
    return result.err;
  };
  EXPECT_THAT(refused("--listen 0.0.0.0:0"), HasSubstr("in the clear"));
  EXPECT_THAT(refused("--listen 127.0.0.1:0 --tls-cert x"), HasSubstr("belong together"));
  EXPECT_THAT(refused("--insecure"), HasSubstr("not where"));
  EXPECT_THAT(refused("--insecure --listen 127.0.0.1:99999"), HasSubstr("no address"));
  EXPECT_THAT(refused("--listen 127.0.0.1:0 --tls-cert x --tls-key y"),
              HasSubstr("no certificate"));
}

TEST(Network, EventsGoOnBehindTheLastOneSeen) {
  Up up;
  live::HttpClient client(live::socket_of(up.store()));
  ASSERT_TRUE(up.comes_to(up.submit("one", "true"), "finished"));
  std::string first, rest;
  const auto until = [](std::string& into, const char* enough) {
    return [&into, enough](std::string_view piece) {
      into += piece;
      return into.find(enough) == std::string::npos;
    };
  };
  ASSERT_TRUE(client.follow("GET", "/v1/events/stream", "", until(first, "one finished")).ok());
  EXPECT_THAT(first, HasSubstr("id: 1\ndata: {"));
  const std::string last = first.substr(first.rfind("id: ") + 4);
  ASSERT_TRUE(up.comes_to(up.submit("two", "true"), "finished"));
  ASSERT_TRUE(client
                  .follow("GET", "/v1/events/stream", "", until(rest, "two finished"),
                          last.substr(0, last.find('\n')))
                  .ok());
  EXPECT_THAT(rest, Not(HasSubstr("one ")));
  EXPECT_THAT(rest, HasSubstr("two submitted"));
}

}  // namespace
}  // namespace weft
