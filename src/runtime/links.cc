#include "runtime/links.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/quantity.h"

namespace weft::runtime {
namespace {

double nearest_power(double number) { return std::exp2(2 * std::round(std::log2(number) / 2)); }

// Without a space, three digits.
std::string tight(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

std::array<double, kLinkNumbers> numbers_of(const LinkSpeeds& links) {
  return {links.same_host.message_s, links.same_host.bytes_per_s, links.other_host.message_s,
          links.other_host.bytes_per_s, links.add_bytes_per_s};
}

Result<LinkSpeeds> links_of(const std::array<double, kLinkNumbers>& numbers) {
  for (const double number : numbers) {
    if (std::isfinite(number) && number > 0) continue;
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("a speed of links is {}; it must be above 0", number), ""};
  }
  return LinkSpeeds{{numbers[0], numbers[1]}, {numbers[2], numbers[3]}, numbers[4]};
}

std::string to_text(const LinkSpeeds& links) {
  return fmt::format("{},{},{},{},{}", tight(seconds_text(links.same_host.message_s)),
                     tight(bytes_per_s_text(links.same_host.bytes_per_s)),
                     tight(seconds_text(links.other_host.message_s)),
                     tight(bytes_per_s_text(links.other_host.bytes_per_s)),
                     tight(bytes_per_s_text(links.add_bytes_per_s)));
}

Result<LinkSpeeds> parse_links(std::string_view text) {
  std::array<double, kLinkNumbers> numbers = {};
  std::size_t found = 0;
  for (std::size_t at = 0; at <= text.size(); ++found) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    const bool time = found == 0 || found == 2;
    const auto number = time ? parse_seconds(part) : parse_bytes_per_s(part);
    if (found >= kLinkNumbers || !number) {
      found = 0;
      break;
    }
    numbers[found] = *number;
    at = comma + 1;
  }
  auto links = links_of(numbers);
  if (found == kLinkNumbers && links.ok()) return links;
  return Error{
      ErrorKind::kInvalidInput,
      fmt::format("the speeds of links are '{}', not like '{}'", text, to_text(LinkSpeeds{})),
      "a message and a bandwidth inside a host, the same between hosts, and adding"};
}

LinkSpeeds rounded(const LinkSpeeds& links) {
  auto numbers = numbers_of(links);
  for (double& number : numbers) number = nearest_power(number);
  return *links_of(numbers);
}

}  // namespace weft::runtime
