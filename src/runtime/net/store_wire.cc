#include "runtime/net/store_wire.h"

namespace weft::runtime {

std::string encode(const StoreRequest& request) {
  CHECK(request.key.size() <= kMostKeyBytes && request.value.size() <= kMostValueBytes &&
        request.expected.size() <= kMostValueBytes);
  ByteWriter writer;
  writer.put(request.id);
  writer.put(static_cast<std::uint16_t>(request.key.size()));
  writer.put_bytes(request.key);
  if (request.kind == StoreRequestKind::kAdd) writer.put(request.amount);
  if (request.kind == StoreRequestKind::kSwap) {
    writer.put(static_cast<std::uint32_t>(request.expected.size()));
    writer.put_bytes(request.expected);
  }
  if (request.kind == StoreRequestKind::kSet || request.kind == StoreRequestKind::kSwap) {
    writer.put_bytes(request.value);
  }
  return writer.take();
}

std::string encode(const StoreAnswer& answer) {
  ByteWriter writer;
  writer.put(answer.id);
  writer.put(answer.outcome);
  writer.put_bytes(answer.text);
  return writer.take();
}

std::optional<StoreRequest> decode_store_request(std::uint16_t kind, ByteView body) {
  if (kind < static_cast<std::uint16_t>(StoreRequestKind::kSet) ||
      kind > static_cast<std::uint16_t>(StoreRequestKind::kRemove)) {
    return std::nullopt;
  }
  StoreRequest request;
  request.kind = static_cast<StoreRequestKind>(kind);
  ByteReader reader(body);
  request.id = reader.get<std::uint32_t>();
  request.key = reader.get_text(reader.get<std::uint16_t>());
  if (request.kind == StoreRequestKind::kAdd) request.amount = reader.get<std::int64_t>();
  if (request.kind == StoreRequestKind::kSwap) {
    request.expected = reader.get_text(reader.get<std::uint32_t>());
  }
  if (request.kind == StoreRequestKind::kSet || request.kind == StoreRequestKind::kSwap) {
    request.value = reader.get_text(reader.left());
  }
  const bool within = request.key.size() <= kMostKeyBytes && !request.key.empty() &&
                      request.value.size() <= kMostValueBytes &&
                      request.expected.size() <= kMostValueBytes;
  if (!reader.at_end() || !within) return std::nullopt;
  return request;
}

std::optional<StoreAnswer> decode_store_answer(ByteView body) {
  ByteReader reader(body);
  StoreAnswer answer;
  answer.id = reader.get<std::uint32_t>();
  const auto outcome = reader.get<std::uint8_t>();
  answer.text = reader.get_text(reader.left());
  if (!reader.ok() || outcome > static_cast<std::uint8_t>(StoreOutcome::kRefused)) {
    return std::nullopt;
  }
  answer.outcome = static_cast<StoreOutcome>(outcome);
  return answer;
}

}  // namespace weft::runtime
