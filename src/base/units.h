// Units and ids. Time is seconds since the start of a trace or daemon, never a calendar date.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

using Seconds = double;
using Bytes = std::int64_t;

inline constexpr Seconds kNever = std::numeric_limits<double>::infinity();
inline constexpr double kHour = 3600.0;
inline constexpr double kDay = 24 * kHour;
inline constexpr Bytes kGiB = Bytes{1} << 30;

// Dense indices, given in order of appearance.
using JobId = std::uint32_t;
using NodeId = std::uint32_t;
using DeviceId = std::uint32_t;
using TypeId = std::uint16_t;
using TenantId = std::uint16_t;
using ModelId = std::uint16_t;

inline constexpr JobId kNoJob = std::numeric_limits<JobId>::max();
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();
inline constexpr DeviceId kNoDevice = std::numeric_limits<DeviceId>::max();
inline constexpr TypeId kAnyType = std::numeric_limits<TypeId>::max();
inline constexpr ModelId kNoModel = std::numeric_limits<ModelId>::max();

// Shares of one device are counted in thousandths.
inline constexpr std::uint32_t kWhole = 1000;

}  // namespace weft
