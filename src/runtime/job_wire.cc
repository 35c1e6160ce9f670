// The part of Job that opens the transport between hosts.
#include <fmt/core.h>

#include "runtime/job.h"
#include "runtime/tcp/tcp_transport.h"
#include "runtime/ucx/ucx_transport.h"

namespace weft::runtime {

Status Job::open_wire() {
  WireSettings settings;
  settings.self = options_.member;
  settings.secret = options_.secret;
  settings.job = options_.job;
  settings.address_of = [this](MemberId member) -> std::optional<std::string> {
    const std::lock_guard lock(mutex_);
    const MemberInfo* info = view_.find(member);
    if (info == nullptr) return std::nullopt;
    return info->data;
  };
  settings.on_peer_lost = [this](MemberId member, const std::string& reason, bool) {
    mesh_->suspect(member, reason);
  };
  const bool ucx = options_.network == "ucx";
  if (!ucx && options_.network != "tcp") {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the network is '{}'; it must be tcp or ucx", options_.network), ""};
  }
  if (ucx && options_.encrypt) {
    return Error{ErrorKind::kUnsupported, "what goes through UCX cannot be encrypted",
                 "use tcp, or a network that nobody else can read"};
  }
  auto wire =
      ucx ? open_ucx(*reactor_, bell_->bell(), std::move(settings)) : open_tcp(std::move(settings));
  if (!wire.ok()) return wire.error();
  wire_ = std::move(*wire);
  return {};
}

Result<std::unique_ptr<WireTransport>> Job::open_tcp(WireSettings settings) {
  TcpTransport::Settings tcp;
  static_cast<WireSettings&>(tcp) = std::move(settings);
  tcp.listen_address = address_ + ":0";
  tcp.options.congestion = options_.congestion;
  tcp.options.pacing_bytes_per_s = options_.pace_bytes_per_s;
  tcp.options.dscp = options_.dscp;
  tcp.options.encrypt = options_.encrypt;
  tcp.streams = options_.streams;
  auto opened = TcpTransport::open(*reactor_, bell_->bell(), std::move(tcp));
  if (!opened.ok()) return opened.error();
  return std::unique_ptr<WireTransport>(std::move(*opened));
}

}  // namespace weft::runtime
