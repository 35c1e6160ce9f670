// The average through an opaque codec.
#include <fmt/core.h>

#include <algorithm>

#include "runtime/compress/exchange_job.h"
#include "runtime/compress/letter.h"
#include "sync/replica.h"

namespace weft::runtime {
namespace {

// Below this, letters are padded to the most they can take: cheaper than telling lengths first.
constexpr std::size_t kSmall = 16 << 10;

// Whether letters of `count` values need no length told before. Where a codec's expected size is
// also the most, every encoding has it.
bool padded(const codec::OpaqueCodec& codec, std::size_t count) {
  const std::size_t most = codec.most_bytes(count);
  return most <= kSmall || codec.wire_bytes(count) >= static_cast<double>(most);
}

sync::Range part(std::size_t size, int ranks, int rank) {
  return sync::part_of(size, static_cast<std::uint32_t>(ranks), static_cast<std::uint32_t>(rank));
}

}  // namespace

Status CompressedReduce::run_opaque(Job& job, BucketState& state, Buffers& buffers) {
  const codec::OpaqueCodec& codec = *codec_->opaque();
  const std::size_t size = job.data.size(), largest = part(size, job.ranks, 0).size;
  // The first part is the largest, so that all ranks decide alike.
  const bool pad = padded(codec, largest);
  state.sent.budget = &sent_budget_;
  state.back->budget = &back_budget_;
  const std::size_t room = letter_room(codec.most_bytes(largest));
  buffers.out.resize(room * static_cast<std::size_t>(job.ranks));
  std::vector<std::uint64_t> sends(static_cast<std::size_t>(job.ranks));
  std::size_t at = 0;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const auto own = part(size, job.ranks, rank);
    const std::span<std::byte> letter(buffers.out.data() + at, room);
    const std::size_t used = write_letter(letter, [&](std::span<std::byte> body) {
      return codec.encode(job.data.subspan(own.from, own.size), own.from, state.sent, body);
    });
    sends[static_cast<std::size_t>(rank)] = pad ? room : used;
    at += pad ? room : used;
  }
  std::vector<std::uint64_t> receives(sends.size(), room);
  if (!pad) {
    auto lengths = swap_lengths(job, sends, room);
    if (!lengths.ok()) return lengths.error();
    receives = std::move(*lengths);
  }
  std::size_t total = 0;
  for (const std::uint64_t length : receives) total += length;
  buffers.in.resize(total);
  if (const Status status = group_
                                ->all_to_all_v(buffers.out.data(), sends, buffers.in.data(),
                                               receives, DataType::kUint8, job.call)
                                ->wait();
      !status.ok()) {
    return status;
  }
  const Status summed = add_up(job, state, buffers, receives);
  return spread_mean(job, state, buffers, summed);
}

Result<std::vector<std::uint64_t>> CompressedReduce::swap_lengths(
    Job& job, const std::vector<std::uint64_t>& own, std::size_t most) {
  std::vector<std::uint64_t> others(own.size());
  if (const Status status =
          group_->all_to_all(own.data(), others.data(), 1, DataType::kInt64, job.call)->wait();
      !status.ok()) {
    return status.error();
  }
  for (std::size_t rank = 0; rank < others.size(); ++rank) {
    if (others[rank] <= most) continue;
    const std::string why = fmt::format("rank {} announces {} bytes of bucket {}; the most is {}",
                                        rank, others[rank], job.bucket, most);
    group_->abandon(why);  // the others would wait for what cannot be received
    return Error{ErrorKind::kInvalidInput, why, ""};
  }
  return others;
}

Status CompressedReduce::add_up(Job& job, const BucketState& state, Buffers& buffers,
                                const std::vector<std::uint64_t>& lengths) {
  buffers.sum.assign(state.back->size, 0.0F);
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    const auto letter = std::span<const std::byte>(buffers.in).subspan(at, lengths[rank]);
    at += lengths[rank];
    const auto bytes = read_letter(letter);
    const Status status =
        bytes.ok() ? codec_->opaque()->decode_add(*bytes, buffers.sum) : Status{bytes.error()};
    if (!status.ok()) {
      return Error{ErrorKind::kInvalidInput, fmt::format("rank {}: {}", rank, status.error().what),
                   ""};
    }
  }
  const float share = 1.0F / static_cast<float>(job.ranks);
  for (float& value : buffers.sum) value *= share;
  return {};
}

Status CompressedReduce::spread_mean(Job& job, BucketState& state, Buffers& buffers,
                                     const Status& summed) {
  const codec::OpaqueCodec& back = codec_->opaque()->back();
  const std::size_t size = job.data.size(), largest = part(size, job.ranks, 0).size;
  std::size_t room = letter_room(back.most_bytes(largest));
  buffers.mean.resize(room);
  const std::size_t used =
      write_letter(buffers.mean, [&](std::span<std::byte> body) -> Result<std::size_t> {
        if (!summed.ok()) return summed.error();
        return back.encode(buffers.sum, 0, *state.back, body);
      });
  ++state.back->step;
  if (!padded(back, largest)) {
    std::int64_t longest = static_cast<std::int64_t>(used);
    if (const Status status =
            group_->all_reduce(&longest, 1, DataType::kInt64, ReduceOp::kMax, job.call)->wait();
        !status.ok()) {
      return status;
    }
    room = std::min(room, static_cast<std::size_t>(longest));
  }
  buffers.means.resize(room * static_cast<std::size_t>(job.ranks));
  if (const Status status = group_
                                ->all_gather(buffers.mean.data(), buffers.means.data(), room,
                                             DataType::kUint8, job.call)
                                ->wait();
      !status.ok()) {
    return status;
  }
  for (int rank = 0; rank < job.ranks; ++rank) {
    const auto own = part(size, job.ranks, rank);
    const auto bytes = read_letter(std::span<const std::byte>(buffers.means)
                                       .subspan(room * static_cast<std::size_t>(rank), room));
    if (!bytes.ok()) return bytes.error();
    if (Status status = back.decode(*bytes, job.data.subspan(own.from, own.size)); !status.ok()) {
      return status;
    }
  }
  return {};
}

}  // namespace weft::runtime
