// Messages through UCX, for networks that it drives and TCP does not fill. Takes the place of TCP
// where a user asks for it; built with WEFT_UCX only.
//
// Every message carries a proof of its sender made from the job's secret, and what has none is
// dropped, so a stray process changes nothing. It is the same in every message: unlike our TCP,
// this does not stand up to somebody who reads the wire, and there is no encryption.
#pragma once

#include <memory>

#include "base/result.h"
#include "runtime/doorbell.h"
#include "runtime/net/reactor.h"
#include "runtime/wire_transport.h"

namespace weft::runtime {

bool ucx_built();

// Requires: as for TcpTransport::open(). The error says when this build has no UCX.
Result<std::unique_ptr<WireTransport>> open_ucx(Reactor& reactor, Doorbell doorbell,
                                                WireSettings settings);

}  // namespace weft::runtime
