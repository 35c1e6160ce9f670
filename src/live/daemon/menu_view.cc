#include "live/daemon/menu_view.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "codec/codecs.h"
#include "codec/efficiency.h"
#include "sync/cost.h"
#include "sync/mode.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json or_null(double number) { return number > 0 ? Json(number) : Json(nullptr); }

// Who says how much a step is worth with this codec and mode.
std::string source_of(const Configuration& c, const JobSpec& job) {
  const auto codec = codec::make_codec(c.codec);
  const auto mode = sync::parse_mode(c.sync);
  if (!codec.ok() || !mode.ok()) return "";
  const std::optional<bool> adaptive = job.model.adaptive();
  const auto of_codec = codec::codec_efficiency(**codec, adaptive);
  const auto of_mode = sync::sync_efficiency(*mode, c.devices, adaptive);
  if (!of_codec || !of_mode) return "";
  if (mode->exchange == sync::Exchange::kGradients) return of_codec->source;
  return of_codec->source + "; " + of_mode->source;
}

}  // namespace

Json menu_view(const Menu& menu, const JobSpec& job, const Cluster& cluster) {
  const bool modelled = job.automatic_codec() && job.model.parameters > 0;
  Json rows = Json::array();
  for (const Configuration& c : menu.configurations) {
    Json row = {{"devices", c.devices},
                {"type", c.type == kAnyType ? Json(nullptr) : Json(cluster.types[c.type].name)},
                {"codec", or_null(c.codec)},
                {"sync", or_null(c.sync)},
                {"collective", or_null(c.collective)},
                {"rate", c.rate},
                {"efficiency", nullptr},
                {"efficiency_source", nullptr},
                {"bytes_per_step", or_null(static_cast<double>(c.traffic.bytes_per_step))},
                {"seconds_per_step", or_null(c.seconds_per_step)},
                {"coding_s", nullptr}};
    if (modelled) {
      row["efficiency"] = c.efficiency;
      row["efficiency_source"] = or_null(source_of(c, job));
      const Seconds coding = c.seconds_per_step - job.model.compute;
      row["coding_s"] = coding > 1e-9 ? coding : 0;  // less is rounding
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace weft::live
