// One function per published scheduler, each in a file of its own name.
#pragma once

#include "policy/composition.h"

namespace weft::policies {

Composition fifo();
Composition backfill();
Composition sjf();
Composition srtf();
Composition las();
Composition two_d_las();
Composition priority();

}  // namespace weft::policies
