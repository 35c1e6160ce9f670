// Which parts read JobState::estimate. A new part that does gets a row here; the test of truth and
// belief runs every policy with and without estimates and finds a missing one.
#include "policy/composition.h"

namespace weft {
namespace {

struct EstimateReader {
  Part Composition::*slot;
  const char* part;
  // Only with this setting; null: always.
  const char* setting = nullptr;
  const char* value = nullptr;
};

constexpr EstimateReader kEstimateReaders[] = {
    {&Composition::key, "remaining"},
    {&Composition::share, "pack"},
    {&Composition::allocate, "list", "backfill", "easy"},
    {&Composition::allocate, "share", "objective", "finish-time"},
    {&Composition::allocate, "share", "objective", "makespan"},
    {&Composition::allocate, "share", "deadlines", "true"},
    {&Composition::allocate, "share", "deadlines", "yes"},
    {&Composition::allocate, "choose", "value", "optimus"},
    {&Composition::allocate, "choose", "value", "afs"},
    {&Composition::allocate, "matching"},
    {&Composition::allocate, "reserve"},
    {&Composition::allocate, "min-share"},
    {&Composition::allocate, "auction"},
    {&Composition::allocate, "market"},
    {&Composition::allocate, "spot-mix"},
};

bool reads(const EstimateReader& reader, const Composition& composition) {
  const Part& part = composition.*reader.slot;
  if (part.name != reader.part) return false;
  if (reader.setting == nullptr) return true;
  const auto given = part.settings.find(reader.setting);
  return given != part.settings.end() && given->second == reader.value;
}

}  // namespace

bool uses_estimates(const Composition& composition) {
  for (const EstimateReader& reader : kEstimateReaders) {
    if (reads(reader, composition)) return true;
  }
  return false;
}

}  // namespace weft
