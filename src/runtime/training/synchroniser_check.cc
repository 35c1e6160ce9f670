// Which codecs and modes go together on live ranks.
#include <fmt/core.h>

#include "codec/codecs.h"
#include "runtime/training/synchroniser.h"

namespace weft::runtime {
namespace {

Error unsupported(const std::string& what, const std::string& hint) {
  return Error{ErrorKind::kUnsupported, what, hint};
}

// Signs alone, whose sums are votes: by themselves, or for the values that a sparse codec chose.
bool has_no_scale(const std::string& codec) {
  const std::string name = codec.substr(codec.rfind('+') + 1);
  return name == "sign" || name.starts_with("sign:");
}

}  // namespace

Status Synchroniser::check(const sync::Mode& mode, const codec::Codec& codec) {
  using sync::Exchange;
  const std::string& text = codec.text();
  const bool coded = text != "none";
  if (!mode.codec.empty()) {
    const auto own = codec::make_codec(mode.codec);
    if (!own.ok()) return own.error();
    if ((*own)->text() != text) {
      return unsupported(fmt::format("codec is '{}', but sync mode '{}' names another", text,
                                     sync::mode_text(mode)),
                         "name one of them only");
    }
  }
  if (coded && mode.exchange == Exchange::kNeighbours) {
    return unsupported(fmt::format("sync mode '{}' mixes parameters, which codec '{}' would spoil",
                                   mode.name, text),
                       "use codec none");
  }
  if (coded && mode.control) {
    return unsupported(fmt::format("sync mode '{}' adds up control variates exactly", mode.name),
                       "use codec none");
  }
  if (mode.exchange != Exchange::kGradients && !codec.movable()) {
    return unsupported(
        fmt::format("codec '{}' contains an optimizer and takes gradients, but sync mode '{}' "
                    "exchanges the ways that the ranks' own optimizers went",
                    text, sync::mode_text(mode)),
        "use it with sync bsp, or another codec such as topk or int8");
  }
  if (mode.exchange != Exchange::kGradients && has_no_scale(text)) {
    return unsupported(
        fmt::format("codec '{}' sends signs without a size, but sync mode '{}' exchanges ways, "
                    "whose size counts",
                    text, sync::mode_text(mode)),
        "use it with sync bsp, or efsign, which sends a size with the signs");
  }
  if (mode.exchange == Exchange::kServers && codec.opaque() == nullptr) {
    return unsupported(
        fmt::format("codec '{}' needs a sum over all ranks, which sync mode '{}' never has", text,
                    mode.name),
        "use one that is not linear, such as int8");
  }
  return {};
}

}  // namespace weft::runtime
