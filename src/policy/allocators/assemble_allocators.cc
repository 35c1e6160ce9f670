#include "policy/allocators/allocators.h"

#include <fmt/core.h>

#include "policy/allocators/auction.h"
#include "policy/allocators/fill.h"
#include "policy/allocators/market.h"
#include "policy/allocators/min_share.h"
#include "policy/allocators/quota.h"
#include "policy/allocators/reserve.h"

namespace weft {
namespace {

using Assembled = Result<std::unique_ptr<Policy>>;

// What the allocators of this folder have in common: settings of their own, and a place.
template <typename Made, typename Options>
Assembled with_place(const Composition& c, Settings& settings, Options options) {
  if (const Status status = settings.done(); !status.ok()) return status.error();
  auto place = make_place(c.place);
  if (!place.ok()) return place.error();
  return std::unique_ptr<Policy>(
      std::make_unique<Made>(c.name, std::move(options), std::move(place).value()));
}

// A time or count that must be at least 1; a mistake is told in `mistake`.
double at_least_one(Settings& settings, const std::string& name, double fallback,
                    std::string& mistake) {
  const double value = settings.number(name, fallback);
  if (value < 1) mistake = fmt::format("setting '{}' is {}; it must be at least 1", name, value);
  return value;
}

Assembled unless(const std::string& mistake, Assembled made) {
  if (mistake.empty()) return made;
  return Error{ErrorKind::kInvalidInput, mistake, "docs/policies.md lists the settings"};
}

}  // namespace

Assembled assemble_fill(const Composition& c) {
  Settings settings(c.allocate);
  FillOptions options;
  options.weights = settings.numbers("weights", {});
  options.pass = settings.word("backfill", "none", {"none", "any"}) == "any";
  return with_place<FillPolicy>(c, settings, std::move(options));
}

Assembled assemble_quota(const Composition& c) {
  Settings settings(c.allocate);
  QuotaOptions options;
  options.shares = settings.numbers("shares", {});
  options.cohorts = settings.numbers("cohorts", {});
  return with_place<QuotaPolicy>(c, settings, std::move(options));
}

Assembled assemble_reserve(const Composition& c) {
  Settings settings(c.allocate);
  ReserveOptions options;
  std::string mistake;
  options.lease = at_least_one(settings, "lease", options.lease, mistake);
  options.reject = settings.word("refused", "best-effort", {"best-effort", "reject"}) == "reject";
  if (settings.word("power", "full", {"full", "saving"}) == "saving") {
    PowerOptions power;
    power.limit_w = 1e3 * settings.number("limit-kw", 0);
    power.energy_weight = settings.number("energy-weight", power.energy_weight);
    if (power.energy_weight > 1) {
      mistake =
          fmt::format("setting 'energy-weight' is {}; it must be at most 1", power.energy_weight);
    }
    options.power = power;
  }
  return unless(mistake, with_place<ReservePolicy>(c, settings, options));
}

Assembled assemble_min_share(const Composition& c) {
  Settings settings(c.allocate);
  MinShareOptions options;
  std::string mistake;
  options.restart = settings.number("restart", options.restart);
  options.lease = at_least_one(settings, "lease", options.lease, mistake);
  options.reject = settings.word("refused", "best-effort", {"best-effort", "reject"}) == "reject";
  return unless(mistake, with_place<MinSharePolicy>(c, settings, options));
}

Assembled assemble_auction(const Composition& c) {
  Settings settings(c.allocate);
  AuctionOptions options;
  std::string mistake;
  options.lease = at_least_one(settings, "lease", options.lease, mistake);
  options.fairness = settings.number("fairness", options.fairness);
  if (options.fairness > 1) {
    mistake = fmt::format("setting 'fairness' is {}; it must be at most 1", options.fairness);
  }
  return unless(mistake, with_place<AuctionPolicy>(c, settings, options));
}

Assembled assemble_market(const Composition& c) {
  Settings settings(c.allocate);
  MarketOptions options;
  std::string mistake;
  options.round = at_least_one(settings, "round", options.round, mistake);
  options.window = at_least_one(settings, "window", options.window, mistake);
  options.fairness = settings.number("fairness", options.fairness);
  options.efficiency = settings.number("efficiency", options.efficiency);
  return unless(mistake, with_place<MarketPolicy>(c, settings, options));
}

}  // namespace weft
