// A message in the hands of the engine: in the transport's memory, or copied out of it.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "runtime/transport.h"

namespace weft::runtime {

class Parcel {
 public:
  // Requires: `message` was polled from `transport`; it is released when the parcel goes. `pinned`
  // counts the parcels in transports.
  Parcel(const Message& message, Transport* transport, int* pinned)
      : message_(message), owner_(transport), pinned_(pinned) {
    ++*pinned_;
  }
  Parcel(Parcel&& other) noexcept
      : message_(other.message_),
        owner_(std::exchange(other.owner_, nullptr)),
        pinned_(other.pinned_),
        copy_(std::move(other.copy_)) {}
  Parcel& operator=(Parcel&& other) noexcept {
    std::swap(message_, other.message_);
    std::swap(owner_, other.owner_);
    std::swap(pinned_, other.pinned_);
    std::swap(copy_, other.copy_);
    return *this;
  }
  ~Parcel() { give_back(); }

  const Header& header() const { return message_.header; }
  MemberId from() const { return message_.from; }
  const std::byte* payload() const { return message_.payload; }
  bool in_transport() const { return owner_ != nullptr; }

  // Copies the payload, so that the transport has its memory back.
  void keep() {
    if (owner_ == nullptr) return;
    copy_ = std::make_unique<std::byte[]>(message_.header.bytes);
    if (message_.header.bytes > 0) {
      std::memcpy(copy_.get(), message_.payload, message_.header.bytes);
    }
    give_back();
    message_.payload = copy_.get();
  }

 private:
  void give_back() {
    if (owner_ == nullptr) return;
    owner_->release(message_);
    owner_ = nullptr;
    --*pinned_;
  }

  Message message_;
  Transport* owner_;
  int* pinned_;
  std::unique_ptr<std::byte[]> copy_;
};

}  // namespace weft::runtime
