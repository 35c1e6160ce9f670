// Whatever the bytes are, reading them as records of a journal gives values that are written back
// the same, or nothing; and whoever reads journals takes them without harm.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "live/daemon/usage.h"
#include "live/store/records.h"

namespace {

using namespace weft;
using namespace weft::live;

template <typename T>
void check_kept(const std::string& bytes) {
  const auto value = from_bytes<T>(bytes);
  if (!value) return;
  const std::string again = to_bytes(*value);
  const auto back = from_bytes<T>(again);
  CHECK(back.has_value());
  CHECK(to_bytes(*back) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Cluster cluster = *parse_cluster_shorthand("2x2");
  if (size == 0) return 0;
  // The first byte says of which kind it is, as a column of the journal does.
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_kept<TermRecord>(bytes);
  check_kept<EventRecord>(bytes);
  check_kept<StepRecord>(bytes);
  UsageFold fold(cluster);
  Record record{1, static_cast<RecordKind>(data[0] % 4), 10, bytes};
  const Status first = fold.take(record);
  record.seq = 2;
  record.kind = static_cast<RecordKind>(data[0] / 4 % 4);
  const Status second = fold.take(record);
  CHECK(first.ok() || !first.error().what.empty());
  CHECK(second.ok() || !second.error().what.empty());
  for (const auto& [job, used] : fold.between(0, 100)) CHECK(used.device_s > 0);
  return 0;
}
