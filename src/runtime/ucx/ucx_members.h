// The UCX transport itself. Only its own sources include this.
#pragma once

#ifdef WEFT_UCX
#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tcp/block_pool.h"
#include "runtime/ucx/ucx_transport.h"
#include "runtime/ucx/ucx_worker.h"

namespace weft::runtime {

// Whoever polls makes UCX go on. While somebody polls, nobody else does; from when it sleeps or
// turns to other things, the reactor waits for events in its place.
class UcxTransport : public WireTransport {
 public:
  static Result<std::unique_ptr<UcxTransport>> open(Reactor& reactor, Doorbell doorbell,
                                                    WireSettings settings);
  // Requires: polled messages were released; not on the reactor's thread.
  ~UcxTransport() override;

  std::string address() const override { return worker_->address(); }
  std::size_t max_message() const override { return kMaxMessage; }
  bool reaches(MemberId member) const override;
  Room reserve(std::span<const MemberId> to, std::size_t bytes, bool spare_caches) override;
  void post(std::byte* room, std::span<const MemberId> to, const Header& header) override;
  bool poll(Message& message) override;
  void release(const Message& message) override;
  void forget(MemberId member) override;
  bool idle() override;
  void part() override;
  void welcome(MemberId member) override;
  TransportCounts counts() const override;

 private:
  using Token = std::array<std::uint8_t, 16>;
  // What goes before every payload.
  struct Envelope {
    Header header;
    MemberId from = 0;
    std::uint32_t parting = 0;  // 1: no message but a goodbye
    Token proof = {};
  };
  static constexpr std::size_t kEnvelopeRoom = 128;  // so that payloads stay aligned
  static_assert(sizeof(Envelope) <= kEnvelopeRoom);

  struct Peer {
    Peer(UcxTransport& t, MemberId member) : transport(t), id(member) {}
    UcxTransport& transport;
    const MemberId id;
    Token proof = {};  // with which its messages must come
    ucp_ep_h end = nullptr;
    std::size_t queued = 0;  // bytes reserved and not yet sent
    bool wanted = false;     // somebody waits for room
    bool gone = false;       // lost or forgotten
    bool parting = false;    // it said goodbye, so its end is no loss
    std::string trouble;     // why its end failed; it is not lost yet
  };
  // A message on its way to or from a member, while UCX has its memory.
  struct Moving {
    Peer& peer;
    Block* block;
    Header header = {};
    std::list<Moving>::iterator place = {};  // in moving_
  };
  struct Arrived {
    MemberId from = 0;
    Header header = {};
    Block* block = nullptr;  // of ours
    void* data = nullptr;    // or of UCX's
  };

  UcxTransport(Reactor& reactor, Doorbell doorbell, WireSettings settings);
  Token proof_of(MemberId member) const;

  // Requires of all below: the lock is held.
  Peer& peer_of(MemberId member);
  bool connect(Peer& peer);
  void close_end(Peer& peer);
  void lose(Peer& peer, const std::string& reason);
  void send(Peer& peer, Block* block, const Header& header);
  Moving& start_moving(Peer& peer, Block* block, const Header& header);
  void sent(Moving& moving);
  void fetched(Moving& moving, bool whole);
  void drop(const Arrived& one);
  void progress();
  void settle();
  ucs_status_t arrived(const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                       const ucp_am_recv_param_t* how);
  ucs_status_t fetch(Peer& peer, const Header& header, void* data);
  void take(const Arrived& one);

  // On the reactor's thread.
  void watch();
  void on_event();
  void look_later();
  void look();

  Reactor& reactor_;
  Doorbell doorbell_;
  WireSettings settings_;
  BlockPool pool_;
  Token own_proof_ = {};

  mutable std::mutex mutex_;  // all below is under it
  std::unique_ptr<UcxWorker> worker_;
  std::map<MemberId, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> retired_;  // UCX may still refer to them
  std::deque<Arrived> inbox_;
  std::size_t inbox_bytes_ = 0;
  std::list<Moving> moving_;
  int closing_ = 0;         // ends that UCX has not closed yet
  void* flush_ = nullptr;   // a request under way
  bool unsettled_ = false;  // there is a peer without an end, or with one that failed
  std::uint64_t polls_ = 0, polls_seen_ = 0;
  bool watched_ = false;  // the reactor waits for events, or is about to
  std::optional<Reactor::Timer> look_;
  TransportCounts counts_;
};

}  // namespace weft::runtime
#endif
