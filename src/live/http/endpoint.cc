#include <fmt/core.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/files.h"
#include "live/http/client.h"

namespace weft::live {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<std::string> read_token(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: others may read it; a token is for its owner alone", path),
                 "chmod 600 " + path};
  }
  auto text = read_file(path, 4096);
  if (!text.ok()) return text.error();
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' ')) {
    text->pop_back();
  }
  return text;
}

}  // namespace

std::string Endpoint::text() const {
  if (!socket_path.empty()) return socket_path;
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", tls ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "",
                     port);
}

Result<Endpoint> parse_url(const std::string& url) {
  const Error wrong{ErrorKind::kInvalidInput, fmt::format("'{}' is no address of a daemon", url),
                    "write http://host:port, https://host:port or unix:/path"};
  Endpoint at;
  if (url.starts_with("unix:/")) {
    at.socket_path = url.substr(5);
    return at;
  }
  at.tls = url.starts_with("https://");
  if (!at.tls && !url.starts_with("http://")) return wrong;
  std::string rest = url.substr(at.tls ? 8 : 7);
  if (rest.ends_with('/')) rest.pop_back();
  const std::size_t colon = rest.rfind(':');
  const bool v6 = rest.starts_with('[');
  if (v6 && rest.find(']') == std::string::npos) return wrong;
  const bool has_port = colon != std::string::npos && (!v6 || colon > rest.find(']'));
  at.host = rest.substr(0, has_port ? colon : std::string::npos);
  at.port = has_port ? rest.substr(colon + 1) : at.tls ? "443" : "80";
  if (v6) at.host = at.host.substr(1, at.host.find(']') - 1);
  if (at.host.empty() || at.port.empty() || at.host.find_first_of("/@? ") != std::string::npos ||
      at.port.find_first_not_of("0123456789") != std::string::npos) {
    return wrong;
  }
  return at;
}

Result<Endpoint> endpoint_of(const std::string& store, const std::string& usual_store) {
  const std::string url = setting("WEFT_URL");
  if (!store.empty() || url.empty()) {
    Endpoint at;
    at.socket_path = path_in(store.empty() ? usual_store : store, "sock");
    return at;
  }
  auto at = parse_url(url);
  if (!at.ok()) return at.error();
  at->ca_file = setting("WEFT_CA_FILE");
  at->token = setting("WEFT_TOKEN");
  if (const std::string file = setting("WEFT_TOKEN_FILE"); !file.empty()) {
    const auto token = read_token(file);
    if (!token.ok()) return token.error();
    at->token = *token;
  }
  if (at->token.find_first_of("\r\n") != std::string::npos) {
    return Error{ErrorKind::kInvalidInput, "the token has more than one line", ""};
  }
  return at;
}

}  // namespace weft::live
