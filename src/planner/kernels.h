// How long one kernel runs on a device.
#pragma once

#include "planner/hardware.h"

namespace weft::planner {

// `batch` matrix products of rows x depth by depth x columns, in one launch.
struct Product {
  double rows = 0, columns = 0, depth = 0;
  double batch = 1;
};

// Tiles are dealt to processors in waves; the last wave costs as much as a full one. Of the tile
// shapes the fastest is taken, as libraries do; a product that moves more than it computes takes
// what memory takes.
double product_seconds(const Device& device, const Product& product);

// A kernel that reads and writes `bytes` and computes next to nothing.
double traffic_seconds(const Device& device, double bytes);

}  // namespace weft::planner
