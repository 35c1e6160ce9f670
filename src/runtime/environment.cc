// What `weft launch` and torchrun tell a rank.
#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/units.h"
#include "runtime/group.h"

namespace weft::runtime {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

// Reads numbers and remembers the first that is wrong.
class Reader {
 public:
  template <typename Number>
  void number(const char* name, Number least, Number most, Number& out) {
    const auto text = variable(name);
    if (!text) return;
    Number value{};
    const char* end = text->data() + text->size();
    const auto [last, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc{} || last != end || !(value >= least && value <= most)) {
      complain(
          fmt::format("{} is '{}'; it must be a number in {} .. {}", name, *text, least, most));
      return;
    }
    out = value;
  }
  void flag(const char* name, bool& out) {
    int value = out ? 1 : 0;
    number(name, 0, 1, value);
    out = value != 0;
  }
  void text(const char* name, std::string& out) {
    if (const auto value = variable(name)) out = *value;
  }
  void complain(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
  }
  std::string wrong;
};

// The number of a job from its name: FNV-1a.
std::uint64_t job_number(const std::string& name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

Result<GroupOptions> GroupOptions::from_environment() {
  GroupOptions options;
  Reader reader;
  constexpr int kMostRanks = 4096;
  for (const char* name : {"RANK", "WORLD_SIZE", "WEFT_STORE", "WEFT_SECRET_FILE"}) {
    if (!variable(name)) {
      reader.complain(fmt::format("the environment variable {} is not set", name));
    }
  }
  reader.number("WORLD_SIZE", 1, kMostRanks, options.ranks);
  reader.number("RANK", 0, kMostRanks - 1, options.rank);
  options.member = static_cast<std::uint32_t>(options.rank);
  reader.number<std::uint32_t>("WEFT_MEMBER", 0, 0x7fffffff, options.member);
  reader.number<std::uint32_t>("WEFT_JOB_EPOCH", 0, (1u << 12) - 1, options.job_epoch);
  reader.flag("WEFT_JOIN", options.join);
  options.take_member = options.join && !variable("WEFT_MEMBER");
  reader.text("WEFT_STORE", options.store);
  reader.text("WEFT_ADDRESS", options.interface_address);
  reader.text("WEFT_NETWORK", options.network);
  reader.text("WEFT_CONGESTION", options.congestion);
  reader.text("WEFT_ALGORITHM", options.algorithm);
  reader.text("WEFT_LINKS", options.links);
  reader.text("WEFT_RECORD", options.record);
  reader.text("WEFT_LOG_DIR", options.log_dir);
  reader.number("WEFT_HANG_S", 0.1, 30 * kDay, options.hang_s);
  reader.number("WEFT_START_DEADLINE_S", 0.1, kDay, options.start_deadline_s);
  reader.number("WEFT_DEADLINE_S", 0.01, 30 * kDay, options.deadline_s);
  reader.number("WEFT_SILENCE_S", 0.5, 3600.0, options.silence_s);
  reader.number("WEFT_STREAMS", 1, 64, options.streams);
  reader.number("WEFT_PACE_BYTES_PER_S", 0.0, 1e12, options.pace_bytes_per_s);
  reader.number("WEFT_DSCP", 0, 63, options.dscp);
  reader.number("WEFT_CREDIT_BYTES", 65536.0, 1e12, options.credit_bytes);
  reader.flag("WEFT_ENCRYPT", options.encrypt);
  reader.flag("WEFT_SHARED_MEMORY", options.shared_memory);
  if (const auto job = variable("WEFT_JOB")) options.job = job_number(*job);
  if (reader.wrong.empty() && !options.join && options.rank >= options.ranks) {
    reader.complain(fmt::format("RANK is {}; WORLD_SIZE {} allows 0 .. {}", options.rank,
                                options.ranks, options.ranks - 1));
  }
  if (!reader.wrong.empty()) {
    return Error{ErrorKind::kInvalidInput, reader.wrong, "start the ranks with weft launch"};
  }
  auto secret = Secret::from_file(*variable("WEFT_SECRET_FILE"));
  if (!secret.ok()) return secret.error();
  options.secret = *secret;
  return options;
}

}  // namespace weft::runtime
